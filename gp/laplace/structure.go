package laplace

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// structure is a representation of the Gauss-Newton matrix H = Σ_n J_nᵀ Λ_n J_n [P,P],
// where Λ is the identity with Gaussian noise, whose variance is in s.
type structure interface {
	elements() int   // numbers kept of one example in a batch
	bytes() int64    // memory for itself and for finding the hyper-parameters
	allocate()       // before the first add
	add(batch) error // takes a batch in
	finish() error   // after the last add
	factor(s float64) (factor, error)
}

// factor is the solved system H + sI for one ratio s = σ²/σ₀².
type factor interface {
	// logDet is log det(I + H/s), the posterior's precision over the prior's.
	logDet() float64
	// effective is γ = tr H (H + sI)⁻¹, the number of weights that the data
	// determine (MacKay 1992, "Bayesian interpolation", eq. 4.9).
	effective() float64
	// predictor prepares for predictions.
	predictor() predictor
}

// predictor gives posterior covariances in units of σ₀².
type predictor interface {
	// marginals writes the covariance of each example's outputs to the front of
	// cov, [count,C,C].
	marginals(b batch, cov []float64) error
	// width is the number of columns of root's F, at least P.
	width() int
	// root writes F to the front of f, [count·C, width], such that F Fᵀ is the
	// covariance of all outputs of all examples, also those of other batches.
	root(b batch, f []float64) error
}

// marginalsOf are the marginals by way of the root.
func marginalsOf(p predictor, b batch, cov []float64) error {
	c, width := b.outputs, p.width()
	f := make([]float64, b.size()*width)
	if err := p.root(b, f); err != nil {
		return err
	}
	for i := range b.count {
		kernel.Syrk(false, c, width, 1, f[i*c*width:], width, 0, cov[i*c*c:], c)
	}
	return nil
}

// newFull returns the representation of all of H with so many weights (P) and
// Jacobian rows (N·C); those of a batch, B·C, come at a time.
func newFull(s Space, params, rows, batch, outputs int) structure {
	if s == WeightSpace || s == Smaller && params <= rows {
		return &weightSpace{gram: gram{n: params}, outputs: outputs, chunk: max(minChunk, batch*outputs)}
	}
	return &functionSpace{gram: gram{n: rows}, params: params, outputs: outputs}
}

// gram is the symmetric positive semi-definite G = JᵀJ or JJᵀ, which have the same
// spectrum but for zeros: the smaller of the two suffices for logDet and effective.
type gram struct {
	n int
	a []float64 // [n,n]
}

// cholesky returns L with L·Lᵀ = G + sI.
func (g *gram) cholesky(s float64) (cholesky, error) {
	c := cholesky{n: g.n, s: s, l: make([]float64, len(g.a))}
	largest := 0.0
	for i := range g.n {
		copy(c.l[i*g.n:], g.a[i*g.n:i*g.n+i+1])
		c.l[i*g.n+i] += s
		largest = max(largest, g.a[i*g.n+i])
	}
	if pivot := kernel.Cholesky(g.n, c.l, g.n); pivot >= 0 {
		return c, fmt.Errorf("laplace: J Jᵀ + s I with s = σ²/σ₀² = %g, largest diagonal element of J Jᵀ %g: %w",
			s, largest, &graph.NotPositiveDefiniteError{Order: g.n, Pivot: pivot})
	}
	return c, nil
}

// cholesky is the factor L [n,n] of G + sI.
type cholesky struct {
	n int
	s float64
	l []float64
}

func (c cholesky) logDet() float64 {
	sum := 0.0
	for i := range c.n {
		sum += math.Log(c.l[i*c.n+i])
	}
	return 2*sum - float64(c.n)*math.Log(c.s)
}

// effective is tr G (G + sI)⁻¹ = n − s ‖L⁻¹‖².
func (c cholesky) effective() float64 {
	const width = 128 // of a block of columns of L⁻¹
	block := make([]float64, c.n*width)
	trace := 0.0
	for j := 0; j < c.n; j += width {
		// L⁻¹ is lower triangular: its columns from j on start in row j.
		rows, cols := c.n-j, min(width, c.n-j)
		b := block[:rows*cols]
		clear(b)
		for i := range cols {
			b[i*cols+i] = 1
		}
		kernel.Trsm(false, false, rows, cols, c.l[j*c.n+j:], c.n, b, cols)
		trace += kernel.Dot(b, b)
	}
	return float64(c.n) - c.s*trace
}

// inverse returns (G + sI)⁻¹ [n,n].
func (c cholesky) inverse() []float64 {
	const width = 128 // of a block of columns
	out, block := make([]float64, c.n*c.n), make([]float64, c.n*width)
	for j := 0; j < c.n; j += width {
		cols := min(width, c.n-j)
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
