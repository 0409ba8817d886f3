package graph

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// pick gathers elements of each matrix in a stack into the last axis, or spreads
// them back into zeros. The elements are a matrix's diagonal or its lower triangle.
// Both are linear, and each is the other's transpose.
type pick struct {
	triangle bool // the lower triangle, row by row, instead of the diagonal
	spread   bool // the transpose: elements are put into zeros
}

func (r pick) Key() string { return fmt.Sprintf("pick triangle %t spread %t", r.triangle, r.spread) }

// count is the number of elements that are picked from an n×n matrix.
func (r pick) count(n int) int {
	if r.triangle {
		return n * (n + 1) / 2
	}
	return n
}

// order is the n for which count(n) = k, or -1.
func (r pick) order(k int) int {
	for n := 1; r.count(n) <= k; n++ {
		if r.count(n) == k {
			return n
		}
	}
	return -1
}

func (r pick) Shape(in []tensor.Shape) (tensor.Shape, error) {
	s := in[0]
	last := len(s) - 1
	if r.spread {
		if last < 0 || r.order(s[last]) < 0 {
			return nil, fmt.Errorf("shape %v: the last axis is no n·(n+1)/2", s)
		}
		n := r.order(s[last])
		return append(s[:last].Clone(), n, n), nil
	}
	if last < 1 || s[last] != s[last-1] {
		return nil, fmt.Errorf("shape %v does not end in a square matrix", s)
	}
	return append(s[:last-1].Clone(), r.count(s[last])), nil
}

func (r pick) Pullback(b *Builder, _ int, _ []*Node, _, ct *Node) *Node {
	return b.Apply(pick{r.triangle, !r.spread}, ct)
}

func (r pick) RowWise(_ []bool, in []tensor.Shape) bool {
	if r.spread {
		return len(in[0]) > 1
	}
	return len(in[0]) > 2
}

// index lists the picked positions in one n×n matrix.
func (r pick) index(n int) []int {
	idx := make([]int, 0, r.count(n))
	for i := range n {
		j := i
		if r.triangle {
			j = 0
		}
		for ; j <= i; j++ {
			idx = append(idx, i*n+j)
		}
	}
	return idx
}

func (r pick) Forward(in []tensor.Shape, out tensor.Shape) Loops {
	n := max(in[0][len(in[0])-1], 1)
	if r.spread {
		n = out[len(out)-1]
	}
	return Loops{F32: pickLoop[float32](r, n), F64: pickLoop[float64](r, n)}
}

// ONNX implements ONNXForm.
func (r pick) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	x, last := in[0], len(in[0].Shape)-1
	if !r.spread {
		n := w.fixed(x.Shape[last])[0]
		if n == 1 {
			return w.Reshape(x, out...).Name
		}
		x = w.Reshape(x, append(slices.Clone(x.Shape[:last-1]), Extent{Fixed: n * n})...)
		return w.Node("Gather", attr("axis", last-1), x.Name, w.Ints(r.index(n)...))
	}
	n := w.fixed(out[last])[0]
	flat := append(slices.Clone(x.Shape[:last]), Extent{Fixed: n * n})
	y := w.Node("Gather", attr("axis", last), w.padded(x, last, 0, 1), r.spreadIndex(w, n))
	return w.Reshape(ONNXValue{y, flat}, out...).Name
}

// spreadIndex returns the number of the picked element at each place of an n×n matrix [n·n], and the number of elements, behind which
// there is a zero, where nothing is picked. It is computed from the numbers of rows and columns, to take no room in a file.
func (r pick) spreadIndex(w *ONNX, n int) string {
	numbers := w.Node("Range", nil, w.places([]int{0}), w.places([]int{n}), w.places([]int{1}))
	row := w.Node("Reshape", nil, numbers, w.Ints(n, 1))
	column := w.Node("Reshape", nil, numbers, w.Ints(1, n))
	number, has := row, w.Node("Equal", nil, row, column)
	if r.triangle {
		before := w.Node("Div", nil, w.Node("Mul", nil, row, w.Node("Add", nil, row, w.Ints(1))), w.Ints(2))
		number, has = w.Node("Add", nil, before, column), w.Node("LessOrEqual", nil, column, row)
	}
	return w.Node("Reshape", nil, w.Node("Where", nil, has, number, w.Ints(r.count(n))), w.Ints(n*n))
}

func pickLoop[T kernel.Float](r pick, n int) func(y []T, x [][]T) error {
	idx := r.index(n)
	return func(y []T, x [][]T) error {
		matrices, picked := x[0], y
		if r.spread {
			matrices, picked = y, x[0]
			clear(y)
		}
		for ; len(picked) > 0; matrices, picked = matrices[n*n:], picked[len(idx):] {
			if r.spread {
				for k, at := range idx {
					matrices[at] = picked[k]
				}
				continue
			}
			for k, at := range idx {
				picked[k] = matrices[at]
			}
		}
		return nil
	}
}

// Diag returns the diagonal of each matrix: [..., n, n] to [..., n].
func (b *Builder) Diag(x *Node) *Node { return b.Apply(pick{}, x) }

// Diagonal puts the last axis on the diagonal of zeros: [..., n] to [..., n, n].
func (b *Builder) Diagonal(x *Node) *Node { return b.Apply(pick{spread: true}, x) }

// Lower unpacks lower triangles: [..., n(n+1)/2] in the order (0,0), (1,0), (1,1),
// (2,0), … to [..., n, n] with zeros above the diagonal.
func (b *Builder) Lower(x *Node) *Node { return b.Apply(pick{triangle: true, spread: true}, x) }
