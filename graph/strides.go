package graph

import (
	"fmt"

	"gorgonia.org/tensor"
)

// loop walks arrays that broadcast against one another. After merging, each
// dimension has one extent and one stride per array; the last one is the inner
// loop, along which strides are 0 or 1.
type loop struct {
	n       []int   // extents, outermost first
	strides [][]int // strides[k][d]: array k, dimension d; 0 where it is repeated
}

// broadcast returns the NumPy broadcast of two shapes.
func broadcast(a, b tensor.Shape) (tensor.Shape, error) {
	n := max(len(a), len(b))
	out := make(tensor.Shape, n)
	for i := range out {
		p, q := extent(a, i-n+len(a)), extent(b, i-n+len(b))
		if p != q && p != 1 && q != 1 {
			return nil, fmt.Errorf("shapes %v and %v do not broadcast", a, b)
		}
		out[i] = max(p, q)
	}
	return out, nil
}

// extent is s[i], or 1 for the dimensions that broadcasting puts in front.
func extent(s tensor.Shape, i int) int {
	if i < 0 {
		return 1
	}
	return s[i]
}

// canReduce reports whether to broadcasts to from, so that from can be summed to it.
func canReduce(from, to tensor.Shape) bool {
	s, err := broadcast(from, to)
	return err == nil && len(s) == len(from) && s.Eq(from)
}

// newLoop walks arrays of the given shapes over the shape full, to which each of
// them broadcasts. Neighbouring dimensions are merged where all arrays allow it.
func newLoop(full tensor.Shape, arrays ...tensor.Shape) loop {
	l := loop{strides: make([][]int, len(arrays))}
	dense := make([][]int, len(arrays))
	for k, s := range arrays {
		dense[k] = broadcastStrides(full, s)
	}
	for d, n := range full {
		if n == 1 {
			continue
		}
		if last := len(l.n) - 1; last >= 0 && l.mergeable(dense, d, n) {
			l.n[last] *= n
			for k := range l.strides {
				l.strides[k][last] = dense[k][d]
			}
			continue
		}
		l.n = append(l.n, n)
		for k := range l.strides {
			l.strides[k] = append(l.strides[k], dense[k][d])
		}
	}
	if len(l.n) == 0 {
		l.n = []int{1}
		for k := range l.strides {
			l.strides[k] = []int{1}
		}
	}
	return l
}

// add puts a dimension of extent n inside the others, with a stride for each array.
func (l *loop) add(n int, strides ...int) {
	l.n = append(l.n, n)
	for k, s := range strides {
		l.strides[k] = append(l.strides[k], s)
	}
}

// mergeable reports whether dimension d continues the last one in every array.
func (l *loop) mergeable(dense [][]int, d, n int) bool {
	last := len(l.n) - 1
	for k := range l.strides {
		if l.strides[k][last] != dense[k][d]*n {
			return false
		}
	}
	return true
}

// broadcastStrides returns, for each dimension of full, the stride of an array of
// shape s; 0 where s is repeated.
func broadcastStrides(full, s tensor.Shape) []int {
	out := make([]int, len(full))
	stride := 1
	for i := len(full) - 1; i >= 0; i-- {
		j := i - len(full) + len(s)
		if e := extent(s, j); e != 1 {
			out[i] = stride
			stride *= e
		}
	}
	return out
}

// inner returns the extent of the inner loop.
func (l *loop) inner() int { return l.n[len(l.n)-1] }

// step returns array k's stride along the inner loop, 0 or 1.
func (l *loop) step(k int) int { return l.strides[k][len(l.n)-1] }

// outer is the number of times the inner loop runs.
func (l *loop) outer() int { return size(l.n[:len(l.n)-1]) }

// rows is the number of times the inner loop runs along the innermost outer dimension.
func (l *loop) rows() int {
	if len(l.n) == 1 {
		return 1
	}
	return l.n[len(l.n)-2]
}

// rowStep returns by how many elements the arrays move on from one such time to the next.
func (l *loop) rowStep() []int {
	step := make([]int, len(l.strides))
	if len(l.n) > 1 {
		for k, s := range l.strides {
			step[k] = s[len(l.n)-2]
		}
	}
	return step
}

// offset returns where array k stands at an outer iteration.
func (l *loop) offset(k, iteration int) int {
	off, strides := 0, l.strides[k]
	for d := len(l.n) - 2; d > 0; d-- {
		off += iteration % l.n[d] * strides[d]
		iteration /= l.n[d]
	}
	if len(l.n) > 1 {
		off += iteration * strides[0]
	}
	return off
}

// cursor says where the arrays of a loop stand at an outer iteration. After the
// last one it is back at the first.
type cursor struct {
	loop       // the extents and strides
	at   []int // position along each outer dimension
	off  []int // offset of each array
}

func (l loop) cursor() *cursor {
	return &cursor{l, make([]int, len(l.n)-1), make([]int, len(l.strides))}
}

// next goes on to the next outer iteration.
func (c *cursor) next() { c.advance(len(c.at) - 1) }

// advance goes on along a dimension, and along those outside of it where it ends.
func (c *cursor) advance(dimension int) {
	for d := dimension; d >= 0; d-- {
		c.at[d]++
		carry := c.at[d] == c.n[d]
		if carry {
			c.at[d] = 0
		}
		for k, s := range c.strides {
			c.off[k] += s[d]
			if carry {
				c.off[k] -= s[d] * c.n[d]
			}
		}
		if !carry {
			return
		}
	}
}
