package onnx

import (
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
)

func init() { add(map[string]operator{"Attention": attention, "RotaryEmbedding": rotaryEmbedding}) }

// attention is softmax(s·QKᵀ + mask)·V, of opset 23. Operands are [B,heads,T,D], or [B,T,heads·D].
func attention(c *call) []value {
	if c.has(4) || c.has(5) || c.has(6) || len(c.Outputs) > 1 {
		c.failf("keys and values of the past, and more outputs than one, are not supported")
	}
	q, nq := c.headed(0, "q_num_heads")
	k, nk := c.headed(1, "kv_num_heads")
	v, _ := c.headed(2, "kv_num_heads")
	if nk < 1 || nq%nk != 0 {
		c.failf("%d heads of queries for %d heads of keys", nq, nk)
	}
	k, v = c.repeated(k, nq/nk), c.repeated(v, nq/nk)
	s := c.b.MatMul(c.b.Scale(q, c.float("scale", 1/math.Sqrt(float64(q.Shape()[3])))), k, false, true)
	if cap := c.float("softcap", 0); cap > 0 {
		s = c.b.Scale(c.b.Tanh(c.b.Scale(s, 1/cap)), cap)
	}
	c.made(s)
	if c.has(3) {
		s = c.masked(s, c.value(3))
	}
	if c.int("is_causal", 0) != 0 {
		s = c.b.Add(s, c.asNode(value{host: c.table(s.Shape()[2:], func(i, j int) float64 { return -c.largest() * truth(j > i) })}))
	}
	y := c.made(c.b.MatMul(c.b.Softmax(s), v, false, false))
	if flat := c.value(0).shape(); len(flat) == 3 {
		y = c.b.Reshape(c.b.Transpose(y, 0, 2, 1, 3), flat[0], flat[1], nq*y.Shape()[3])
	}
	return nodes(c.made(y))
}

// headed returns input i with an axis of heads [B,heads,T,D], and the number of heads.
func (c *call) headed(i int, name string) (*graph.Node, int) {
	x := c.node(i)
	s := x.Shape()
	if len(s) == 4 {
		return x, s[1]
	}
	n := c.int(name, 0)
	if len(s) != 3 || n < 1 || s[2]%n != 0 {
		c.failf("shape %v in %d heads", s, n)
	}
	return c.made(c.b.Transpose(c.b.Reshape(x, s[0], s[1], n, s[2]/n), 0, 2, 1, 3)), n
}

// repeated repeats each head n times.
func (c *call) repeated(x *graph.Node, n int) *graph.Node {
	if n == 1 {
		return x
	}
	s := x.Shape()
	wide := c.b.BroadcastTo(c.b.Reshape(x, s[0], s[1], 1, s[2], s[3]), s[0], s[1], n, s[2], s[3])
	return c.made(c.b.Reshape(wide, s[0], s[1]*n, s[2], s[3]))
}

// masked adds a mask, or hides the scores where a mask of truths is 0.
func (c *call) masked(s *graph.Node, mask value) *graph.Node {
	switch mask.known() {
	case numeric:
		return c.made(c.b.Add(s, c.asNode(mask)))
	case integral:
		c.failf("a mask of integers, expected truths or numbers")
	}
	return c.made(c.b.Add(s, c.b.Scale(not(c.b, c.asNode(mask)), -c.largest())))
}

// rotaryEmbedding turns pairs of elements of [B,heads,T,D] or [B,T,heads·D] by angles, of opset 23.
func rotaryEmbedding(c *call) []value {
	x, own := c.node(0), c.value(0).shape()
	if len(own) == 3 {
		x, _ = c.headed(0, "num_heads")
	}
	if x.Dims() != 4 {
		c.failf("shape %v, expected [B,heads,T,D]", own)
	}
	size := c.int("rotary_embedding_dim", 0)
	if size == 0 {
		size = x.Shape()[3]
	}
	if size < 2 || size%2 != 0 || size > x.Shape()[3] {
		c.failf("%d elements to turn of %d", size, x.Shape()[3])
	}
	y := c.turned(x, size)
	if size < x.Shape()[3] {
		y = c.b.Concat(3, y, c.b.Slice(x, 3, size, x.Shape()[3]))
	}
	if c.made(y); len(own) == 3 {
		y = c.b.Reshape(c.b.Transpose(y, 0, 2, 1, 3), own...)
	}
	return nodes(c.made(y))
}

// turned turns the pairs of the first elements of x.
func (c *call) turned(x *graph.Node, size int) *graph.Node {
	cos, sin := c.angles(1, size), c.angles(2, size)
	pairs := make([][]int, 2)
	for i := range size / 2 {
		if c.int("interleaved", 0) != 0 {
			pairs[0], pairs[1] = append(pairs[0], 2*i), append(pairs[1], 2*i+1)
		} else {
			pairs[0], pairs[1] = append(pairs[0], i), append(pairs[1], size/2+i)
		}
	}
	p, q := c.b.Gather(x, 3, pairs[0]...), c.b.Gather(x, 3, pairs[1]...)
	turned := c.b.Concat(3, c.b.Sub(c.b.Mul(p, cos), c.b.Mul(q, sin)), c.b.Add(c.b.Mul(p, sin), c.b.Mul(q, cos)))
	order := make([]int, size) // of the turned elements in the result
	for half, places := range pairs {
		for i, k := range places {
			order[k] = half*size/2 + i
		}
	}
	return c.made(c.b.Gather(turned, 3, order...))
}

// angles returns the cosines or the sines of the places as [1 or B,1,T,D/2].
func (c *call) angles(i, size int) *graph.Node {
	v := c.value(i)
	if c.has(3) {
		at := c.value(3)
		if at.host == nil {
			c.failf("places that depend on the input are not supported")
		}
		if len(v.shape()) != 2 {
			c.failf("angles of shape %v, expected [places,%d]", v.shape(), size/2)
		}
		v = c.reshaped(c.taken(v, 0, at.host.ints()), slices.Concat(at.host.shape, v.shape()[1:]))[0]
	}
	s := v.shape()
	if len(s) != 3 || s[2] != size/2 {
		c.failf("angles of shape %v, expected [B,T,%d]", s, size/2)
	}
	return c.asNode(c.reshaped(v, []int{s[0], 1, s[1], s[2]})[0])
}
