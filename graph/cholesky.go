package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// NotPositiveDefiniteError reports a matrix that has no Cholesky factor.
type NotPositiveDefiniteError struct {
	Order int // the matrix is Order×Order
	Pivot int // row of the first pivot that is not positive
}

// Error names the order of the matrix and the pivot.
func (e *NotPositiveDefiniteError) Error() string {
	return fmt.Sprintf("the %d×%d matrix is not positive definite (pivot %d)", e.Order, e.Order, e.Pivot)
}

// square checks that the input is one square matrix.
func square(s tensor.Shape) error {
	if len(s) != 2 || s[0] != s[1] {
		return fmt.Errorf("shape %v is not a square matrix", s)
	}
	return nil
}

// cholesky is the lower triangular R with A = R·Rᵀ. It reads the lower triangle of A.
type cholesky struct{}

func (cholesky) Key() string { return "cholesky" }

func (cholesky) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0], square(in[0]) }

// Pullback: Ā = R⁻ᵀ Φ(Rᵀ R̄) R⁻¹, symmetrised; Φ keeps the lower triangle and halves
// the diagonal (Murray 2016, arXiv:1602.07527, eq. 10).
func (cholesky) Pullback(b *Builder, _ int, in []*Node, out, ct *Node) *Node {
	n := in[0].Shape()[0]
	phi := b.Mul(b.MatMul(out, ct, true, false), b.LowerMask(n, 0.5))
	left := b.SolveLower(out, phi, true)                         // R⁻ᵀ Φ
	s := b.Transpose(b.SolveLower(out, b.Transpose(left), true)) // (R⁻ᵀ Φ) R⁻¹
	return b.Scale(b.Add(s, b.Transpose(s)), 0.5)
}

func (cholesky) RowWise([]bool, []tensor.Shape) bool { return false }

func (cholesky) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: choleskyLoop[float32](in[0][0]), F64: choleskyLoop[float64](in[0][0])}
}

func choleskyLoop[T kernel.Float](n int) func(y []T, x [][]T) error {
	return func(y []T, x [][]T) error {
		copy(y, x[0])
		if pivot := kernel.Cholesky(n, y, n); pivot >= 0 {
			return &NotPositiveDefiniteError{Order: n, Pivot: pivot}
		}
		return nil
	}
}

// LowerMask is a constant [n,n]: 1 below the diagonal, the given number on it, 0 above.
func (b *Builder) LowerMask(n int, diagonal float64) *Node {
	return b.constant(fmt.Sprintf("lower %d %g", n, diagonal), []int{n, n}, func(to []float64) {
		for i := range n {
			for j := range i {
				to[i*n+j] = 1
			}
			to[i*n+i] = diagonal
		}
	})
}

// solveLower is X with R·X = B, or Rᵀ·X = B, R lower triangular.
type solveLower struct {
	trans bool // Rᵀ in place of R
}

func (r solveLower) Key() string { return fmt.Sprintf("solve lower %t", r.trans) }

func (r solveLower) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if err := square(in[0]); err != nil {
		return nil, err
	}
	if len(in[1]) != 2 || in[1][0] != in[0][0] {
		return nil, fmt.Errorf("shapes %v and %v do not match", in[0], in[1])
	}
	return in[1], nil
}

// Pullback: B̄ = R⁻ᵀ X̄ and R̄ = −tril(B̄ Xᵀ); with Rᵀ, B̄ = R⁻¹ X̄ and R̄ = −tril(X B̄ᵀ)
// (Giles 2008, "Collected matrix derivative results", section 2.3).
func (r solveLower) Pullback(b *Builder, i int, in []*Node, out, ct *Node) *Node {
	bBar := b.SolveLower(in[0], ct, !r.trans)
	if i == 1 {
		return bBar
	}
	outer := b.MatMul(bBar, out, false, true)
	if r.trans {
		outer = b.MatMul(out, bBar, false, true)
	}
	return b.Neg(b.Mul(outer, b.LowerMask(in[0].Shape()[0], 1)))
}

func (r solveLower) RowWise([]bool, []tensor.Shape) bool { return false }

func (r solveLower) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	return Loops{F32: solveLoop[float32](r, in[1]), F64: solveLoop[float64](r, in[1])}
}

func solveLoop[T kernel.Float](r solveLower, rhs tensor.Shape) func(y []T, x [][]T) error {
	m, n := rhs[0], rhs[1]
	return func(y []T, x [][]T) error {
		copy(y, x[1])
		kernel.Trsm(false, r.trans, m, n, x[0], m, y, n)
		return nil
	}
}

// Cholesky returns the lower triangular R with x = R·Rᵀ for a symmetric positive
// definite x [n,n]. Running it on any other matrix is a *NotPositiveDefiniteError.
func (b *Builder) Cholesky(x *Node) *Node { return b.Apply(cholesky{}, x) }

// SolveLower returns R⁻¹·x, or R⁻ᵀ·x if trans, for a lower triangular r [n,n] and x [n,m].
func (b *Builder) SolveLower(r, x *Node, trans bool) *Node {
	return b.Apply(solveLower{trans}, r, x)
}

// LogDet returns log|R·Rᵀ| = 2 Σ log R_ii as a scalar, for a Cholesky factor r [n,n].
func (b *Builder) LogDet(r *Node) *Node { return b.Scale(b.Sum(b.Log(b.Diag(r))), 2) }
