package laplace

import (
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// weightSpace holds H itself.
type weightSpace struct {
	gram
	outputs int
	chunk   int       // rows that are added to H at a time
	rows    []float64 // [chunk, P], Jacobian rows that are not yet in H
	filled  int
}

// minChunk is large enough for reading and writing H not to matter.
const minChunk = 1024

func (w *weightSpace) elements() int { return w.n * w.outputs }

func (w *weightSpace) bytes() int64 {
	n := int64(w.n)
	return 8 * (3*n*n + int64(w.chunk)*n) // H, its factor and the one before; rows
}

func (w *weightSpace) allocate() {
	w.a, w.rows = make([]float64, w.n*w.n), make([]float64, w.chunk*w.n)
}

func (w *weightSpace) add(b batch) error {
	if w.filled+b.size() > w.chunk {
		w.flush()
	}
	rows := w.rows[w.filled*w.n:]
	err := b.jacobian(rows, w.n)
	weighted(b, rows, rows, w.n)
	w.filled += b.size()
	return err
}

func (w *weightSpace) flush() {
	kernel.Syrk(true, w.n, w.filled, 1, w.rows, w.n, 1, w.a, w.n)
	w.filled = 0
}

func (w *weightSpace) finish() error {
	w.flush()
	w.rows = nil
	return nil
}

func (w *weightSpace) factor(s float64) (factor, error) {
	c, err := w.cholesky(s)
	return weightFactor{c}, err
}

type weightFactor struct{ cholesky }

func (f weightFactor) predictor() predictor { return f }

func (f weightFactor) width() int { return f.n }

func (f weightFactor) marginals(b batch, cov []float64) error { return marginalsOf(f, b, cov) }

// root: Σ = σ² (H + sI)⁻¹ = σ₀² s L⁻ᵀ L⁻¹, so F = √s J L⁻ᵀ.
func (f weightFactor) root(b batch, rows []float64) error {
	if err := b.jacobian(rows, f.n); err != nil {
		return err
	}
	m := b.size()
	kernel.Trsm(true, true, m, f.n, f.l, f.n, rows, f.n)
	kernel.Scale(rows[:m*f.n], math.Sqrt(f.s), rows[:m*f.n])
	return nil
}

// functionSpace holds all Jacobian rows Λ^½ J [N·C, P] and their products G.
type functionSpace struct {
	gram
	params, outputs int
	j               []float64
}

func (f *functionSpace) elements() int { return f.params * f.outputs }

func (f *functionSpace) bytes() int64 {
	n, p := int64(f.n), int64(f.params)
	return 8 * (3*n*n + n*p) // G, its factor and the one before; J
}

func (f *functionSpace) allocate() {
	f.j, f.a = make([]float64, f.n*f.params), make([]float64, f.n*f.n)
}

func (f *functionSpace) add(b batch) error {
	rows := f.j[b.first*b.outputs*f.params:]
	err := b.jacobian(rows, f.params)
	weighted(b, rows, rows, f.params)
	return err
}

func (f *functionSpace) finish() error {
	kernel.Syrk(false, f.n, f.params, 1, f.j, f.params, 0, f.a, f.n)
	return nil
}

func (f *functionSpace) factor(s float64) (factor, error) {
	c, err := f.cholesky(s)
	return functionFactor{cholesky: c, data: f}, err
}

type functionFactor struct {
	cholesky
	data *functionSpace
}

func (f functionFactor) predictor() predictor { return f }

func (f functionFactor) width() int { return f.data.params + f.n }

func (f functionFactor) marginals(b batch, cov []float64) error { return marginalsOf(f, b, cov) }

// root: with Λ^½ J called J, the covariance of rows J* is, over σ₀², the minimum over A of a ridge
// regression of J* on the data's rows,
//
//	J*J*ᵀ − J*Jᵀ (G + sI)⁻¹ JJ*ᵀ = RRᵀ + s AAᵀ,   A = J*Jᵀ (G + sI)⁻¹,   R = J* − AJ,
//
// so F = [R, √s A]. In this form nothing cancels, nothing becomes negative, and an
// error in A has an effect of second order only.
func (f functionFactor) root(b batch, rows []float64) error {
	p, ld, m, d := f.data.params, f.width(), b.size(), f.data
	if err := b.jacobian(rows, ld); err != nil {
		return err
	}
	a := rows[p:]
	kernel.Gemm(false, true, m, f.n, p, 1, rows, ld, d.j, p, 0, a, ld)
	kernel.Trsm(true, true, m, f.n, f.l, f.n, a, ld)
	kernel.Trsm(true, false, m, f.n, f.l, f.n, a, ld)
	kernel.Gemm(false, false, m, p, f.n, -1, a, ld, d.j, p, 1, rows, ld)
	for i := range m {
		row := a[i*ld : i*ld+f.n]
		kernel.Scale(row, math.Sqrt(f.s), row)
	}
	return nil
}
