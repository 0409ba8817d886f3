package graph

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// matMul is op(A)·op(B) of matrices, of each pair in two stacks of matrices, or of each matrix
// in a stack with one matrix B.
type matMul struct {
	transA, transB bool // the operand is transposed
}

func (r matMul) Key() string { return fmt.Sprintf("matmul %t %t", r.transA, r.transB) }

// shared reports whether a stack of matrices is multiplied by one matrix.
func (matMul) shared(in []tensor.Shape) bool { return len(in[0]) > 2 && len(in[1]) == 2 }

// dims returns stack, m, n, k and k as the second operand has it.
func (r matMul) dims(in []tensor.Shape) (stack, m, n, k, kb int) {
	la, lb := len(in[0])-2, len(in[1])-2
	stack, m, k, kb, n = size(in[0][:la]), in[0][la], in[0][la+1], in[1][lb], in[1][lb+1]
	if r.shared(in) {
		stack, m = 1, stack*m
	}
	if r.transA {
		m, k = k, m
	}
	if r.transB {
		kb, n = n, kb
	}
	return stack, m, n, k, kb
}

func (r matMul) Shape(in []tensor.Shape) (tensor.Shape, error) {
	shared := len(in[0]) > 2 && len(in[1]) == 2 && !r.transA
	if len(in[0]) < 2 || len(in[0]) != len(in[1]) && !shared {
		return nil, fmt.Errorf("shapes %v and %v are not two matrices, two stacks of matrices, or a stack and a matrix", in[0], in[1])
	}
	_, _, n, k, kb := r.dims(in)
	last := len(in[0]) - 1
	if k != kb || !shared && !slices.Equal(in[0][:last-1], in[1][:last-1]) {
		return nil, fmt.Errorf("shapes %v and %v do not match", in[0], in[1])
	}
	out := in[0].Clone()
	out[last] = n
	if r.transA {
		out[last-1] = in[0][last]
	}
	return out, nil
}

func (r matMul) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	a := in[0]
	if i == 1 && r.shared(shapes(in)) {
		a, ct = b.matrix(a), b.matrix(ct)
	}
	switch {
	case i == 0 && !r.transA:
		return b.MatMul(ct, in[1], false, !r.transB)
	case i == 0:
		return b.MatMul(in[1], ct, r.transB, true)
	case !r.transB:
		return b.MatMul(a, ct, !r.transA, false)
	default:
		return b.MatMul(ct, a, true, r.transA)
	}
}

// matrix joins all axes but the last.
func (b *Builder) matrix(x *Node) *Node {
	n := x.Shape()[x.Dims()-1]
	return b.Reshape(x, size(x.Shape())/n, n)
}

func (r matMul) RowWise(batched []bool, in []tensor.Shape) bool {
	if len(in[1]) > 2 {
		return batched[0] && batched[1]
	}
	return batched[0] && !batched[1] && !r.transA
}

// RowPullback: h = a·W has, per example, the Jacobian row a⊗δ in W's own layout, or the sum
// over the rows of a.
func (r matMul) RowPullback(b *Builder, i int, in []*Node, _, ct *Node) (Outer, bool) {
	switch {
	case i != 1 || r.transA || in[1].Dims() > 2:
		return Outer{}, false
	case in[0].Dims() > 2:
		return Outer{Right: r.sums(b, in[0], ct)}, true
	case r.transB:
		return Outer{Left: ct, Right: in[0]}, true
	}
	return Outer{Left: in[0], Right: ct}, true
}

// sums returns for each row r of the cotangent ct [examples·per,…,n] the sum of a⊗δ over the
// rows of the example's matrices a [examples,…,k]. The rows of an example share its matrices,
// which are not repeated.
func (r matMul) sums(b *Builder, a, ct *Node) *Node {
	inSteps := func(x *Node) *Node {
		rows, last := x.Shape()[0], x.Shape()[x.Dims()-1]
		return b.Reshape(x, rows, size(x.Shape())/(rows*last), last)
	}
	if r.transB {
		a, ct = ct, a
	}
	return b.Apply(stepSums{r.transB}, inSteps(a), inSteps(ct))
}

func (r matMul) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: gemmLoop[float32](r, in), F64: gemmLoop[float64](r, in)}
}

// ONNX implements ONNXForm.
func (r matMul) ONNX(w *ONNX, in []ONNXValue, _ []Extent) string {
	return w.matMul(in[0], in[1], r.transA, r.transB).Name
}

func gemmLoop[T kernel.Float](r matMul, in []tensor.Shape) func(y []T, x [][]T) error {
	stack, m, n, k, _ := r.dims(in)
	lda, ldb := in[0][len(in[0])-1], in[1][len(in[1])-1]
	return stacked(stack, m*n*k, func(y []T, x [][]T, i int) {
		kernel.Gemm(r.transA, r.transB, m, n, k, 1, x[0][i*m*k:], lda, x[1][i*k*n:], ldb, 0, y[i*m*n:], n)
	})
}

// MatMul returns op(x)·op(y), where op transposes the last two axes if its flag is set. x and y
// are matrices, stacks [...,·,·] of as many matrices each, or a stack x, not transposed, and one
// matrix y by which all are multiplied.
func (b *Builder) MatMul(x, y *Node, transX, transY bool) *Node {
	return b.Apply(matMul{transX, transY}, x, y)
}

// gram is A·Aᵀ of a matrix or of each matrix in a stack, at half the work of a product.
type gram struct{}

func (gram) Key() string { return "gram" }

func (gram) Shape(in []tensor.Shape) (tensor.Shape, error) {
	out := in[0].Clone()
	if len(out) < 2 || len(out) > 3 {
		return nil, fmt.Errorf("shape %v is neither a matrix nor a stack of matrices", in[0])
	}
	out[len(out)-1] = out[len(out)-2]
	return out, nil
}

func (gram) Pullback(b *Builder, _ int, in []*Node, _, ct *Node) *Node {
	return b.MatMul(b.Add(ct, b.Transpose(ct)), in[0], false, false)
}

func (gram) RowWise(batched []bool, in []tensor.Shape) bool { return len(in[0]) == 3 }

func (gram) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: gramLoop[float32](in[0]), F64: gramLoop[float64](in[0])}
}

// ONNX implements ONNXForm.
func (gram) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	x, d := in[0], len(out)-2
	if x.Shape[d].one() { // sums of squares
		if from, flat := w.reshaped[x.Name], slices.Delete(slices.Clone(x.Shape), d, d+1); slices.Equal(from.Shape, flat) {
			x, d = from, d-1
		}
		squares := ONNXValue{w.Node("Mul", nil, x.Name, x.Name), x.Shape}
		return w.Reshape(w.sum(squares, d+1), out...).Name
	}
	return w.matMul(in[0], in[0], false, true).Name
}

func gramLoop[T kernel.Float](in tensor.Shape) func(y []T, x [][]T) error {
	n, k := in[len(in)-2], in[len(in)-1]
	return stacked(size(in)/(n*k), n*n*k, func(y []T, x [][]T, i int) {
		kernel.Syrk(false, n, k, 1, x[0][i*n*k:], k, 0, y[i*n*n:], n)
	})
}

// Gram returns x·xᵀ for a matrix x, or for each matrix of a stack [S,·,·].
func (b *Builder) Gram(x *Node) *Node { return b.Apply(gram{}, x) }
