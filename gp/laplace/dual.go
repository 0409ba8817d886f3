package laplace

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// functionSpace holds the rows R with H = RᵀR [n,P] and their products G = RRᵀ [n,n]:
// all rows Λ^½ J of the data, or the few of a lowRank H.
type functionSpace struct {
	gram               // G
	*scanner           // computes the rows of the Jacobian
	x        []float64 // the inputs [N,…] that the rows belong to

	rows  dataRows           // R
	roots weighting[float64] // rows of Λ^½ J
	start int                // the number of examples that are already there when data come

	progress func(done, total int) // of the products, or nil
}

// dataRows are R.
type dataRows interface {
	// cross writes J*T²Rᵀ to the first n columns of out, for the Jacobian of a batch; ld is from row to row. Products of
	// rows that are single are in float64 where precise is set.
	cross(b batch, c scales, precise bool, out []float64, ld int) error
	// single reports whether the rows are in float32.
	single() bool
	// square writes the lower triangle of RT²Rᵀ to g [n,n]. It calls progress, if not nil, with the number of rows that its
	// products so far are as many as, and with n. It returns ctx's error if ctx ends first.
	square(ctx context.Context, c scales, g []float64, progress func(done, total int)) error
	// columns writes the columns lo to lo+cols of R, which are of block i, to dst [n,cols].
	columns(i, lo, cols int, dst []float64)
}

// elements: rows in float32 take half a number.
func (f *functionSpace) elements() int { return int(f.factorsBytes(f.outputs)+7) / 8 }

func (f *functionSpace) bytes() int64 {
	n, x := int64(f.n), int64(f.scanner.in.Shape()[1:].TotalSize())
	// G, its factor and the factor before, which take more than the work of finding G; R; x.
	return 8*(3*n*n+n/int64(f.outputs)*x) + f.factorsBytes(f.n)
}

func (f *functionSpace) allocate() {
	f.rows, f.a = f.newRows(f.n), make([]float64, f.n*f.n)
}

func (f *functionSpace) add(b batch) error {
	first := f.start + b.first
	f.x = append(f.x[:first*b.inputSize()], b.inputs()...)
	return f.rows.(heldRows).add(b, first, &f.roots)
}

func (f *functionSpace) finish(ctx context.Context) error {
	return f.rows.square(ctx, scales{}, f.a, f.progress)
}

// scaled returns RT²Rᵀ, of which the lower triangle counts.
func (f *functionSpace) scaled(ctx context.Context, c scales) (gram, error) {
	if c.t == nil {
		return f.gram, nil
	}
	g := gram{f.n, make([]float64, f.n*f.n)}
	return g, f.rows.square(ctx, c, g.a, f.progress)
}

func (f *functionSpace) factor(ctx context.Context, c scales) (factor, error) {
	g, err := f.scaled(ctx, c)
	if err != nil {
		return nil, err
	}
	l, err := g.cholesky(ctx, c.s, nil)
	return functionFactor{cholesky: l, data: f, scales: c, t: f.perWeight(c), rounding: f.roundingOf(g, c.s)}, err
}

// eachTile calls do for all columns of R, which tile [n,cols] holds, in memory of tileSize.
func (f *functionSpace) eachTile(ctx context.Context, memory []float64, do func(i, lo, cols int, tile []float64)) {
	for i, k := range f.blocks {
		for lo := k.offset; lo < k.offset+k.size() && ctx.Err() == nil; lo += inverseWidth {
			cols := min(inverseWidth, k.offset+k.size()-lo)
			tile := memory[:f.n*cols]
			f.rows.columns(i, lo, cols, tile)
			do(i, lo, cols, tile)
		}
	}
}

func (f *functionSpace) tileSize() int { return f.n * inverseWidth }

type functionFactor struct {
	cholesky                // the factor of the matrix over rows
	data     *functionSpace // has the rows of the Jacobian
	scales   scales         // of the hyper-parameters
	t        []float64      // [P] or nil
	rounding rounding       // of products with the rows
}

// shares: H̃ (H̃ + sI)⁻¹ = R̃ᵀ (G̃ + sI)⁻¹ R̃ with R̃ = RT, so a block's share is
// ‖L⁻¹ R̃‖² over its columns.
func (f functionFactor) shares(ctx context.Context) []float64 {
	out := make([]float64, len(f.data.blocks))
	f.data.eachTile(ctx, make([]float64, f.data.tileSize()), func(i, _, cols int, tile []float64) {
		kernel.Trsm(false, false, f.n, cols, f.l, f.n, tile, cols)
		t := f.scales.of(i)
		out[i] += t * t * kernel.Dot(tile, tile)
	})
	return out
}

func (f functionFactor) predictor() predictor { return f }

func (f functionFactor) width() int { return f.data.params + f.n }

// marginals: the covariance over σ₀² of an example's rows J̃* = J*T is J̃*J̃*ᵀ − BBᵀ with B of the
// root below. Where too little is left of an example's variance its root is taken.
func (f functionFactor) marginals(b batch, cov []float64) error {
	u, err := b.factors()
	if err != nil {
		return err
	}
	c, m := b.outputs, b.size()
	taken, low, prior, share := b.take(m*f.n), b.take(c*c), b.take(m), b.take(b.count)
	if err := f.taken(b, taken, f.n); err != nil {
		return err
	}
	u.own(f.scales, cov)
	b.short = b.short[:0]
	for i := range b.count {
		share[i] = difference(c, f.n, cov[i*c*c:(i+1)*c*c], taken[i*c*f.n:], low, prior[i*c:(i+1)*c])
		if share[i] < max(kept, f.rounding.share) {
			b.short = append(b.short, i)
		}
	}
	if len(b.short) == 0 {
		return nil
	}
	if err := f.solve(b.ctx, false, m, taken, f.n); err != nil {
		return err
	}
	b.short = slices.DeleteFunc(b.short, func(i int) bool {
		rows := func(v []float64, width int) []float64 { return v[i*c*width : (i+1)*c*width] }
		return share[i] >= max(kept, f.rounding.shareOf(rows(taken, f.n), rows(prior, 1)))
	})
	if len(b.short) == 0 {
		return nil
	}
	return f.squares(b, u, taken, cov)
}

// difference takes BBᵀ from a covariance [C,C] for an example's rows B [C,n], and writes what is
// left's factor to low and the variances before to prior [C]. It returns the smallest share of a variance that is left,
// given the outputs before.
func difference(c, n int, cov, taken, low, prior []float64) float64 {
	kernel.Syrk(false, c, n, -1, taken, n, 1, cov, c)
	copy(low, cov)
	if kernel.Cholesky(c, low, c) >= 0 {
		return 0
	}
	share := 1.0
	for i := range c {
		row, pivot := taken[i*n:(i+1)*n], low[i*c+i]
		prior[i] = cov[i*c+i] + kernel.Dot(row, row)
		share = min(share, pivot*pivot/prior[i])
	}
	return share
}

// squares writes the covariances of those examples that have little variance left: EEᵀ + s AAᵀ of
// the root for the rows A, some columns at a time.
func (f functionFactor) squares(b batch, u exampleRows, a, cov []float64) error {
	c, m := b.outputs, b.size()
	for _, i := range b.short {
		kernel.Syrk(false, c, f.n, f.s, a[i*c*f.n:], f.n, 0, cov[i*c*c:], c)
	}
	own := b.take(m * inverseWidth)
	f.data.eachTile(b.ctx, b.take(f.data.tileSize()), func(block, lo, cols int, tile []float64) {
		u.columns(block, lo, cols, own)
		kernel.Gemm(false, false, m, cols, f.n, -1, a, f.n, tile, cols, 1, own, cols)
		t := f.scales.of(block)
		for _, i := range b.short {
			kernel.Syrk(false, c, cols, t*t, own[i*c*cols:], cols, 1, cov[i*c*c:], c)
		}
	})
	if err := b.ctx.Err(); err != nil {
		return err
	}
	return b.checkCovariance(cov)
}

// taken writes B to the first columns of out.
func (f functionFactor) taken(b batch, out []float64, ld int) error {
	if err := f.data.rows.cross(b, f.scales, f.rounding.precise, out, ld); err != nil {
		return err
	}
	return f.solve(b.ctx, true, b.size(), out, ld)
}

// root: the covariance of rows J* is, over σ₀² and with J̃* = J*T, the minimum over A of
// a ridge regression of J̃* on the rows R̃ = RT,
//
//	J̃*J̃*ᵀ − BBᵀ = EEᵀ + s AAᵀ,   B = J̃*R̃ᵀ L⁻ᵀ,   A = BL⁻¹ = J̃*R̃ᵀ (G + sI)⁻¹,   E = J̃* − AR̃,
//
// so F = [E, √s A]. In this form nothing cancels, nothing becomes negative, and an
// error in A has an effect of second order only.
func (f functionFactor) root(b batch, rows []float64) error {
	if err := b.jacobian(rows, f.width()); err != nil {
		return err
	}
	ld, m, a := f.width(), b.size(), rows[f.data.params:]
	if err := f.taken(b, a, ld); err != nil {
		return err
	}
	if err := f.solve(b.ctx, false, m, a, ld); err != nil {
		return err
	}
	f.data.eachTile(b.ctx, b.take(f.data.tileSize()), func(_, lo, cols int, tile []float64) {
		kernel.Gemm(false, false, m, cols, f.n, -1, a, ld, tile, cols, 1, rows[lo:], ld)
	})
	scaleColumns(rows, m, ld, f.t)
	for i := range m {
		row := a[i*ld : i*ld+f.n]
		kernel.Scale(row, math.Sqrt(f.s), row)
	}
	return b.ctx.Err()
}
