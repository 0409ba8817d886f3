package laplace

import (
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// A convolution's filters [Out,In,H,W] have Jacobian rows that are sums of outer products
// over the places p of its output, Σ_p δ_p ⊗ patch_p. KFAC keeps the moments of both
// factors (Grosse and Martens 2016, "A Kronecker-factored approximate Fisher matrix for
// convolution layers", with their assumption that places are uncorrelated):
//
//	A = (1/N) Σ_n Σ_p patch patchᵀ,   G = (1/T) Σ_n Σ_p δᵀ Λ δ.
//
// Such a block has a [B,T,K], d [B·C,T,Out] and T places; the other structures take its
// rows as they are. Predictions with KFAC multiply the rotated factors out.

// convolved fills in k where these rows are those of a convolution's filters, and reports
// whether they are.
func (k *block) convolved(b *graph.Builder, uses []graph.Outer) bool {
	filters := k.param.Value.Shape()
	if len(uses) != 1 || uses[0].Left != nil || len(filters) != 4 || filters[2] != filters[3] {
		return false
	}
	use, ok := graph.FilterRows(uses[0].Right)
	if !ok {
		return false
	}
	s := use.Results.Shape()
	places := s[2] * s[3]
	k.a = b.Transpose(b.Unfold(use.Images, filters[2], use.Stride, use.Padding), 0, 2, 1)
	k.d = b.Transpose(b.Reshape(use.Results, s[0], s[1], places), 0, 2, 1)
	k.swapped = true
	return b.Err() == nil
}

// multiplied holds the rotated factors of a block, to be multiplied out: row r of the
// result [count·C, p·q] is Σ_t a_t ⊗ d_rt, each element times scale.
type multiplied struct {
	block
	b     batch
	a, d  []float64
	scale []float64
}

// multiplied returns the rows of block i, times the standard deviations of its weights.
func (p spectralPredictor) multiplied(b batch, i int) multiplied {
	k := p.blocks[i]
	std := b.take(k.size())
	kernel.Sqrt(std, p.v[i])
	return multiplied{k, b, p.rotated(b, k.a), p.rotated(b, k.d), std}
}

// row writes row r.
func (m multiplied) row(r int, out []float64) {
	t, p, q := m.places, m.p, m.q
	kernel.Gemm(true, false, p, q, t, 1, m.a[r/m.b.outputs*t*p:], p, m.d[r*t*q:], q, 0, out[:p*q], q)
	kernel.Mul(out[:p*q], out[:p*q], m.scale)
}

// rowsJob is the kernel.Job that writes all rows to out, ld apart.
type rowsJob struct {
	multiplied
	out []float64
	ld  int
}

// Run implements kernel.Job: one row.
func (j *rowsJob) Run(r, _ int) { j.row(r, j.out[r*j.ld:]) }

// covarianceJob is the kernel.Job that adds the products of each example's rows to cov.
type covarianceJob struct {
	multiplied
	cov  []float64 // [count,C,C]
	rows []float64 // [threads, C, p·q]
}

// Run implements kernel.Job: the examples part, part+parts, ….
func (j *covarianceJob) Run(part, parts int) {
	c, size := j.b.outputs, j.size()
	rows := j.rows[part*c*size : (part+1)*c*size]
	for e := part; e < j.b.count; e += parts {
		for r := range c {
			j.row(e*c+r, rows[r*size:])
		}
		kernel.Syrk(false, c, size, 1, rows, size, 1, j.cov[e*c*c:], c)
	}
}

// addConvolved adds to cov the covariance that comes from block i.
func (p spectralPredictor) addConvolved(b batch, i int, cov []float64) {
	threads := kernel.Threads()
	b.covs = covarianceJob{p.multiplied(b, i), cov, b.take(threads * b.outputs * p.blocks[i].size())}
	kernel.Parallel(threads, &b.covs)
}
