package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// matMul is op(A)·op(B) of matrices, or of each pair in two stacks of matrices.
type matMul struct{ transA, transB bool }

func (r matMul) Key() string { return fmt.Sprintf("matmul %t %t", r.transA, r.transB) }

// dims returns stack, m, n, k and k as the second operand has it.
func (r matMul) dims(in []tensor.Shape) (stack, m, n, k, kb int) {
	stack, a, c := 1, in[0], in[1]
	if len(a) == 3 {
		stack, a, c = a[0], a[1:], c[1:]
	}
	m, k, kb, n = a[0], a[1], c[0], c[1]
	if r.transA {
		m, k = k, m
	}
	if r.transB {
		kb, n = n, kb
	}
	return stack, m, n, k, kb
}

func (r matMul) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in[0]) != len(in[1]) || len(in[0]) < 2 || len(in[0]) > 3 {
		return nil, fmt.Errorf("shapes %v and %v are not two matrices or two stacks of matrices", in[0], in[1])
	}
	stack, m, n, k, kb := r.dims(in)
	if k != kb || len(in[0]) == 3 && in[0][0] != in[1][0] {
		return nil, fmt.Errorf("shapes %v and %v do not match", in[0], in[1])
	}
	if len(in[0]) == 3 {
		return tensor.Shape{stack, m, n}, nil
	}
	return tensor.Shape{m, n}, nil
}

func (r matMul) Pullback(b *Builder, i int, in []*Node, _, ct *Node) *Node {
	switch {
	case i == 0 && !r.transA:
		return b.MatMul(ct, in[1], false, !r.transB)
	case i == 0:
		return b.MatMul(in[1], ct, r.transB, true)
	case !r.transB:
		return b.MatMul(in[0], ct, !r.transA, false)
	default:
		return b.MatMul(ct, in[0], true, r.transA)
	}
}

func (r matMul) RowWise(batched []bool, in []tensor.Shape) bool {
	if len(in[0]) == 3 {
		return batched[0] && batched[1]
	}
	return batched[0] && !batched[1] && !r.transA
}

// RowPullback: h = a·W has, per example, the Jacobian row a⊗δ in W's own layout.
func (r matMul) RowPullback(_ *Builder, i int, in []*Node, _, ct *Node) (Outer, bool) {
	if i != 1 || r.transA || len(in[0].Shape()) != 2 {
		return Outer{}, false
	}
	if r.transB {
		return Outer{Left: ct, Right: in[0]}, true
	}
	return Outer{Left: in[0], Right: ct}, true
}

func (r matMul) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: gemmLoop[float32](r, in), F64: gemmLoop[float64](r, in)}
}

func gemmLoop[T kernel.Float](r matMul, in []tensor.Shape) func(y []T, x [][]T) error {
	stack, m, n, k, _ := r.dims(in)
	lda, ldb := in[0][len(in[0])-1], in[1][len(in[1])-1]
	return stacked(stack, m*n*k, func(y []T, x [][]T, i int) {
		kernel.Gemm(r.transA, r.transB, m, n, k, 1, x[0][i*m*k:], lda, x[1][i*k*n:], ldb, 0, y[i*m*n:], n)
	})
}

// MatMul returns op(x)·op(y), where op transposes if its flag is set. x and y are
// matrices, or stacks [S,·,·] of S matrices each.
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

func gramLoop[T kernel.Float](in tensor.Shape) func(y []T, x [][]T) error {
	n, k := in[len(in)-2], in[len(in)-1]
	return stacked(size(in)/(n*k), n*n*k, func(y []T, x [][]T, i int) {
		kernel.Syrk(false, n, k, 1, x[0][i*n*k:], k, 0, y[i*n*n:], n)
	})
}

// Gram returns x·xᵀ for a matrix x, or for each matrix of a stack [S,·,·].
func (b *Builder) Gram(x *Node) *Node { return b.Apply(gram{}, x) }
