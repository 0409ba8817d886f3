package laplace

import (
	"context"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// functionSpace holds R with H = RᵀR [n,P] and the products G = RRᵀ [n,n] of its rows:
// all rows Λ^½ J of the data, or the few of a lowRank H.
type functionSpace struct {
	gram
	*scanner
	x []float64 // the inputs [N,…] that the rows belong to
	j []float64 // R

	roots weighting[float64]
	start int // the number of examples that are already there when data come
}

func (f *functionSpace) elements() int { return f.params * f.outputs }

func (f *functionSpace) bytes() int64 {
	n, p, x := int64(f.n), int64(f.params), int64(f.scanner.in.Shape()[1:].TotalSize())
	return 8 * (3*n*n + n*p + n/int64(f.outputs)*x) // G, its factor and the one before; R; x
}

func (f *functionSpace) allocate() {
	f.j, f.a = make([]float64, f.n*f.params), make([]float64, f.n*f.n)
}

func (f *functionSpace) add(b batch) error {
	first := f.start + b.first
	f.x = append(f.x[:first*b.inputSize()], b.inputs()...)
	rows := f.j[first*b.outputs*f.params:]
	err := b.jacobian(rows, f.params)
	f.roots.weighted(b, rows, rows, f.params)
	return err
}

func (f *functionSpace) finish(ctx context.Context) error {
	clear(f.a)
	return addSquare(ctx, false, f.n, f.params, f.j, f.a)
}

// scaled returns RT²Rᵀ.
func (f *functionSpace) scaled(c scales) gram {
	if c.t == nil {
		return f.gram
	}
	g, beta := gram{f.n, make([]float64, f.n*f.n)}, 0.0
	for i, k := range f.blocks {
		kernel.Syrk(false, f.n, k.size(), c.t[i]*c.t[i], f.j[k.offset:], f.params, beta, g.a, f.n)
		beta = 1
	}
	return g
}

func (f *functionSpace) factor(ctx context.Context, c scales) (factor, error) {
	g := f.scaled(c)
	l, err := g.cholesky(ctx, c.s, nil)
	return functionFactor{l, f, c, f.perWeight(c)}, err
}

type functionFactor struct {
	cholesky
	data   *functionSpace
	scales scales
	t      []float64 // [P] or nil
}

// shares: H̃ (H̃ + sI)⁻¹ = R̃ᵀ (G̃ + sI)⁻¹ R̃ with R̃ = RT, so a block's share is
// ‖L⁻¹ R̃‖² over its columns.
func (f functionFactor) shares(ctx context.Context) (out []float64) {
	d := f.data
	part := make([]float64, f.n*inverseWidth)
	for i, k := range d.blocks {
		sum := 0.0
		for lo := k.offset; lo < k.offset+k.size() && ctx.Err() == nil; lo += inverseWidth {
			cols := min(inverseWidth, k.offset+k.size()-lo)
			for r := range f.n {
				copy(part[r*cols:(r+1)*cols], d.j[r*d.params+lo:])
			}
			b := part[:f.n*cols]
			kernel.Trsm(false, false, f.n, cols, f.l, f.n, b, cols)
			sum += kernel.Dot(b, b)
		}
		t := f.scales.of(i)
		out = append(out, t*t*sum)
	}
	return out
}

func (f functionFactor) predictor() predictor { return f }

func (f functionFactor) width() int { return f.data.params + f.n }

// A variance is the difference of the prior's and of what the data take away. Where less than kept
// is left, given the outputs before, rounding may show in the twelfth digit.
const kept = 1e-4

// marginals: the covariance over σ₀² of an example's rows J̃* = J*T is J̃*J̃*ᵀ − BBᵀ. This takes half
// the products of the root, which is finished for a batch where too little is left of an example.
func (f functionFactor) marginals(b batch, cov []float64) error {
	c, width := b.outputs, f.width()
	work := b.take(b.size()*width + c*c)
	rows, low := work[:b.size()*width], work[b.size()*width:]
	if err := f.half(b, rows); err != nil {
		return err
	}
	b.short = b.short[:0]
	for i := range b.count {
		if !f.difference(rows[i*c*width:], cov[i*c*c:(i+1)*c*c], low) {
			b.short = append(b.short, i)
		}
	}
	if len(b.short) == 0 {
		return nil
	}
	f.residuals(b, rows)
	for _, i := range b.short {
		kernel.Syrk(false, c, width, 1, rows[i*c*width:], width, 0, cov[i*c*c:], c)
	}
	return nil
}

// difference writes J̃*J̃*ᵀ − BBᵀ of an example's rows [J*, B] to cov [C,C], and its factor to low. It
// returns false where less than kept is left.
func (f functionFactor) difference(rows, cov, low []float64) bool {
	c, width, beta := f.data.outputs, f.width(), 0.0
	for i, k := range f.data.blocks {
		t := f.scales.of(i)
		kernel.Syrk(false, c, k.size(), t*t, rows[k.offset:], width, beta, cov, c)
		beta = 1
	}
	taken := rows[f.data.params:]
	kernel.Syrk(false, c, f.n, -1, taken, width, 1, cov, c)
	copy(low, cov)
	if kernel.Cholesky(c, low, c) >= 0 {
		return false
	}
	for i := range c {
		row, pivot := taken[i*width:i*width+f.n], low[i*c+i]
		if pivot*pivot < kept*(cov[i*c+i]+kernel.Dot(row, row)) {
			return false
		}
	}
	return true
}

// root: the covariance of rows J* is, over σ₀² and with J̃* = J*T, the minimum over A of
// a ridge regression of J̃* on the rows R̃ = RT,
//
//	J̃*J̃*ᵀ − BBᵀ = EEᵀ + s AAᵀ,   B = J̃*R̃ᵀ L⁻ᵀ,   A = BL⁻¹ = J̃*R̃ᵀ (G + sI)⁻¹,   E = J̃* − AR̃,
//
// so F = [E, √s A]. In this form nothing cancels, nothing becomes negative, and an
// error in A has an effect of second order only.
func (f functionFactor) root(b batch, rows []float64) error {
	if err := f.half(b, rows); err != nil {
		return err
	}
	f.residuals(b, rows)
	return nil
}

// half writes [J*, B] to the rows.
func (f functionFactor) half(b batch, rows []float64) error {
	p, ld, m, d := f.data.params, f.width(), b.size(), f.data
	if err := b.jacobian(rows, ld); err != nil {
		return err
	}
	kernel.Gemm(false, true, m, f.n, p, 1, f.twice(b, rows, m, ld), ld, d.j, p, 0, rows[p:], ld)
	kernel.Trsm(true, true, m, f.n, f.l, f.n, rows[p:], ld)
	return nil
}

// residuals makes F of [J*, B].
func (f functionFactor) residuals(b batch, rows []float64) {
	p, ld, m, d := f.data.params, f.width(), b.size(), f.data
	a := rows[p:]
	kernel.Trsm(true, false, m, f.n, f.l, f.n, a, ld)
	kernel.Gemm(false, false, m, p, f.n, -1, a, ld, d.j, p, 1, rows, ld)
	scaleColumns(rows, m, ld, f.t)
	for i := range m {
		row := a[i*ld : i*ld+f.n]
		kernel.Scale(row, math.Sqrt(f.s), row)
	}
}

// twice returns J*T² for m rows J*, which it does not change.
func (f functionFactor) twice(b batch, rows []float64, m, ld int) []float64 {
	if f.t == nil {
		return rows
	}
	out := b.take((m-1)*ld + len(f.t))
	copy(out, rows)
	scaleColumns(out, m, ld, f.t)
	scaleColumns(out, m, ld, f.t)
	return out
}
