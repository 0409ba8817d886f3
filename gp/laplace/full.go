package laplace

import (
	"context"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// weightSpace holds H itself.
type weightSpace struct {
	gram                        // H
	*scanner                    // computes the rows of the Jacobian
	chunk    int                // rows that are added to H at a time
	rows     []float64          // [chunk, P], Jacobian rows that are not yet in H
	filled   int                // number of rows in rows
	roots    weighting[float64] // rows of Λ^½ J
}

// minChunk is so large that reading and writing H takes little of the time.
const minChunk = 1024

func (w *weightSpace) elements() int { return w.n * w.outputs }

func (w *weightSpace) bytes() int64 {
	n := int64(w.n)
	return 8 * (3*n*n + int64(w.chunk)*n) // H, its factor and the factor before; rows
}

func (w *weightSpace) allocate() {
	w.a, w.rows = make([]float64, w.n*w.n), make([]float64, w.chunk*w.n)
}

func (w *weightSpace) add(b batch) error {
	if w.filled+b.size() > w.chunk {
		if err := w.flush(b.ctx); err != nil {
			return err
		}
	}
	rows := w.rows[w.filled*w.n:]
	err := b.jacobian(rows, w.n)
	w.roots.weighted(b, rows, rows, w.n)
	w.filled += b.size()
	return err
}

func (w *weightSpace) flush(ctx context.Context) error {
	err := addSquare(ctx, true, w.n, w.filled, w.rows, w.a)
	w.filled = 0
	return err
}

func (w *weightSpace) finish(ctx context.Context) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	w.rows = nil
	kernel.CopyLower(w.n, w.a, w.n)
	return nil
}

func (w *weightSpace) factor(ctx context.Context, c scales) (factor, error) {
	t := w.perWeight(c)
	l, err := w.cholesky(ctx, c.s, t)
	return weightFactor{l, w.blocks, t}, err
}

// perWeight returns the diagonal of T, [P], or nil for ones.
func (s *scanner) perWeight(c scales) []float64 {
	if c.t == nil {
		return nil
	}
	t := make([]float64, s.params)
	for i, k := range s.blocks {
		kernel.AddScalar(t[k.offset:k.offset+k.size()], c.t[i], t[k.offset:k.offset+k.size()])
	}
	return t
}

type weightFactor struct {
	cholesky           // the factor of THT + sI
	blocks   []block   // the blocks of the weights
	t        []float64 // [P] or nil
}

// shares: H̃ (H̃ + sI)⁻¹ = I − s (H̃ + sI)⁻¹.
func (f weightFactor) shares(ctx context.Context) (out []float64) {
	diagonal := f.inverseDiagonal(ctx)
	for _, k := range f.blocks {
		out = append(out, float64(k.size())-f.s*kernel.Sum(diagonal[k.offset:k.offset+k.size()]))
	}
	return out
}

func (f weightFactor) predictor() predictor { return f }

func (f weightFactor) width() int { return f.n }

// marginals writes the covariances F Fᵀ of b's examples to cov, with the rows F of root.
func (f weightFactor) marginals(b batch, cov []float64) error {
	c := b.outputs
	rows := b.take(b.size() * f.n)
	if err := f.root(b, rows); err != nil {
		return err
	}
	for i := range b.count {
		kernel.Syrk(false, c, f.n, 1, rows[i*c*f.n:], f.n, 0, cov[i*c*c:], c)
	}
	return nil
}

// root: Σ = σ₀² s T L⁻ᵀ L⁻¹ T, so F = √s J T L⁻ᵀ.
func (f weightFactor) root(b batch, rows []float64) error {
	if err := b.jacobian(rows, f.n); err != nil {
		return err
	}
	m := b.size()
	scaleColumns(rows, m, f.n, f.t)
	if err := f.solve(b.ctx, true, m, rows, f.n); err != nil {
		return err
	}
	kernel.Scale(rows[:m*f.n], math.Sqrt(f.s), rows[:m*f.n])
	return nil
}

// scaleColumns multiplies the first columns of m rows by t, unless that is nil.
func scaleColumns(rows []float64, m, ld int, t []float64) {
	if t == nil {
		return
	}
	for i := range m {
		row := rows[i*ld : i*ld+len(t)]
		kernel.Mul(row, row, t)
	}
}
