package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// panels copies a matrix op(B) [k,n] into the order in which products read it. Compile makes it of
// a matrix that stays as it is from run to run.
type panels struct {
	transB bool // B is transposed
	k, n   int  // rows and columns of op(B)
}

func (r panels) Key() string { return fmt.Sprintf("panels of %d×%d, %t", r.k, r.n, r.transB) }

func (r panels) Shape([]tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{kernel.PanelsLen(r.k, r.n)}, nil
}

func (r panels) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: panelsLoop[float32](r, in[0][1]), F64: panelsLoop[float64](r, in[0][1])}
}

func panelsLoop[T kernel.Float](r panels, ld int) func(y []T, x [][]T) error {
	return func(y []T, x [][]T) error {
		kernel.Panels(r.transB, r.k, r.n, x[0], ld, y)
		return nil
	}
}

// panelled is the product of a matrix, or of each matrix in a stack, with a matrix in panels.
type panelled struct {
	transA bool         // A is transposed
	m      int          // rows of op(A)
	of     panels       // of the second operand
	to     tensor.Shape // of the result
}

func (r panelled) Key() string {
	return fmt.Sprintf("product %t to %v with %s", r.transA, r.to, r.of.Key())
}

func (r panelled) Shape([]tensor.Shape) (tensor.Shape, error) { return r.to, nil }

func (r panelled) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	ld := in[0][len(in[0])-1]
	return Loops{F32: panelledLoop[float32](r, ld), F64: panelledLoop[float64](r, ld)}
}

func panelledLoop[T kernel.Float](r panelled, ld int) func(y []T, x [][]T) error {
	return func(y []T, x [][]T) error {
		kernel.GemmPanels(r.transA, r.m, r.of.n, r.of.k, x[0], ld, x[1], y, r.of.n)
		return nil
	}
}

// mostTurned is the number of elements of a matrix above which a second copy of it, not transposed, takes more memory than
// it saves time.
const mostTurned = 1 << 22

// product returns the product of two matrices; steady says that the second one, and not the
// first, stays as it is from run to run. It is then put in order once: as panels, or, if these do not pay,
// not transposed.
func (w *rewriter) product(op matMul, a, b *expr, steady bool) *expr {
	stack, m, n, k, _ := op.dims(shapesOf([]*expr{a, b}))
	switch {
	case !steady || stack > 1 || len(b.shape) > 2:
		return w.plain(op, a, b)
	case !kernel.PanelsPay(op.transB, m, n) && op.transB && n > 1 && k*n <= mostTurned:
		return w.plain(matMul{op.transA, false}, a, w.plain(transpose{[]int{1, 0}}, b))
	case !kernel.PanelsPay(op.transB, m, n):
		return w.plain(op, a, b)
	}
	to, err := op.Shape(shapesOf([]*expr{a, b}))
	if err != nil {
		panic("graph: rewriting: " + err.Error())
	}
	of := panels{op.transB, k, n}
	return w.plain(panelled{op.transA, m, of, to}, a, w.plain(of, b))
}
