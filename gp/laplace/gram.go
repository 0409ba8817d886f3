package laplace

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

// gram is the symmetric positive semi-definite G = JᵀJ or JJᵀ, which have the same
// eigenvalues apart from zeros. So the smaller of the two gives logDet and effective.
type gram struct {
	n int       // order of the matrix
	a []float64 // [n,n]
}

// order and matrix are what a structure of all of H tells without its kind.
func (g *gram) order() int        { return g.n }
func (g *gram) matrix() []float64 { return g.a }

// cholesky returns L with L·Lᵀ = TGT + sI, for the diagonal t [n] of T; nil stands for
// ones.
func (g *gram) cholesky(ctx context.Context, s float64, t []float64) (cholesky, error) {
	c := cholesky{n: g.n, s: s, l: make([]float64, len(g.a))}
	largest := 0.0
	for i := range g.n {
		row := c.l[i*g.n : i*g.n+i+1]
		copy(row, g.a[i*g.n:])
		if t != nil {
			kernel.Mul(row, row, t[:i+1])
			kernel.Scale(row, t[i], row)
		}
		largest = max(largest, row[i])
		row[i] += s
	}
	pivot, err := factorise(ctx, g.n, c.l)
	if err != nil {
		return c, err
	}
	if pivot >= 0 {
		return c, g.indefinite(s, largest, pivot)
	}
	return c, nil
}

func (g *gram) indefinite(s, largest float64, pivot int) error {
	return fmt.Errorf("laplace: J Jᵀ + s I with s = σ²/σ₀² = %g, largest diagonal element of J Jᵀ %g: %w",
		s, largest, &graph.NotPositiveDefiniteError{Order: g.n, Pivot: pivot})
}

// spectrum prepares G for many s, in the time of a few factors.
func (g *gram) spectrum(ctx context.Context) (spectrum, error) {
	b, err := eigen.NewBlocks(ctx, g.n, slices.Clone(g.a))
	if err != nil {
		return nil, err
	}
	return func(s float64) (logDet, effective float64, err error) {
		logDet, trace, pivot := b.Shifted(s)
		if pivot >= 0 {
			return 0, 0, g.indefinite(s, g.largest(), pivot)
		}
		n := float64(g.n)
		return logDet - n*math.Log(s), n - s*trace, nil
	}, nil
}

// largest is the largest diagonal element.
func (g *gram) largest() (v float64) {
	for i := range g.n {
		v = max(v, g.a[i*g.n+i])
	}
	return v
}

// cholesky is the factor L [n,n] of G + sI.
type cholesky struct {
	n int       // order of the matrix
	s float64   // what was added to the diagonal
	l []float64 // the factor [n,n], lower
}

// solvedTogether is the number of products between two looks at the context, some hundredths of a second. Fewer than
// leastSolved rows would spend most of the time on reading L.
const solvedTogether, leastSolved = 1 << 28, 64

// solve multiplies the first n columns of m rows from the right by L⁻ᵀ, or by L⁻¹ if transposed is false. ld is from row to
// row. It returns ctx's error if ctx ends first.
func (c cholesky) solve(ctx context.Context, transposed bool, m int, rows []float64, ld int) error {
	block := max(leastSolved, solvedTogether/(c.n*c.n)) &^ 7 // of whole tiles
	for first := 0; first < m; first += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		kernel.Trsm(true, transposed, min(block, m-first), c.n, c.l, c.n, rows[first*ld:], ld)
	}
	return nil
}

func (c cholesky) logDet() float64 {
	sum := 0.0
	for i := range c.n {
		sum += math.Log(c.l[i*c.n+i])
	}
	return 2*sum - float64(c.n)*math.Log(c.s)
}

// inverseWidth is the width of a block of columns of an inverse, and of the rows of function space.
const inverseWidth = 128

// inverseDiagonal returns the diagonal of (G + sI)⁻¹ = L⁻ᵀL⁻¹, the squared lengths of
// the columns of L⁻¹. If ctx ends they are not complete.
func (c cholesky) inverseDiagonal(ctx context.Context) []float64 {
	block, out := make([]float64, c.n*inverseWidth), make([]float64, c.n)
	for j := 0; j < c.n && ctx.Err() == nil; j += inverseWidth {
		// L⁻¹ is lower triangular: its columns from j on start in row j.
		rows, cols := c.n-j, min(inverseWidth, c.n-j)
		b := block[:rows*cols]
		clear(b)
		for i := range cols {
			b[i*cols+i] = 1
		}
		kernel.Trsm(false, false, rows, cols, c.l[j*c.n+j:], c.n, b, cols)
		for r := range rows {
			row := b[r*cols : (r+1)*cols]
			kernel.MulAdd(out[j:j+cols], row, row, out[j:j+cols])
		}
	}
	return out
}

// effective is tr G (G + sI)⁻¹ = n − s tr (G + sI)⁻¹.
func (c cholesky) effective(ctx context.Context) float64 {
	return float64(c.n) - c.s*kernel.Sum(c.inverseDiagonal(ctx))
}

// inverse returns (G + sI)⁻¹ [n,n].
func (c cholesky) inverse() []float64 {
	out, block := make([]float64, c.n*c.n), make([]float64, c.n*inverseWidth)
	for j := 0; j < c.n; j += inverseWidth {
		cols := min(inverseWidth, c.n-j)
		b := block[:c.n*cols]
		clear(b)
		for i := range cols {
			b[(j+i)*cols+i] = 1
		}
		kernel.Trsm(false, false, c.n-j, cols, c.l[j*c.n+j:], c.n, b[j*cols:], cols)
		kernel.Trsm(false, true, c.n, cols, c.l, c.n, b, cols)
		for i := range c.n {
			copy(out[i*c.n+j:], b[i*cols:(i+1)*cols])
		}
	}
	return out
}
