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

// convolved makes k the block of a convolution's filters, if these rows are.
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

// places is T, 1 of a block that is no convolution's.
func (k block) places() int {
	if k.d.Dims() == 3 {
		return k.d.Shape()[1]
	}
	return 1
}

// multiplied is the kernel.Job of multiplying rotated factors out: row r of the result
// [count·C, p·q] is Σ_t a_t ⊗ d_rt, each element times scale.
type multiplied struct {
	block
	b     batch
	a, d  []float64
	scale []float64
	out   []float64
	ld    int
}

// multiply writes the rows for block i, times the standard deviations of its weights, to
// out.
func (p spectralPredictor) multiply(b batch, i int, out []float64, ld int) {
	k := p.blocks[i]
	std := make([]float64, k.size())
	kernel.Sqrt(std, p.v[i])
	kernel.Parallel(b.size(), &multiplied{k, b, p.rotated(b, k.a), p.rotated(b, k.d), std, out, ld})
}

// Run implements kernel.Job: one row.
func (m *multiplied) Run(r, _ int) {
	t, p, q := m.places(), m.p(), m.q()
	row := m.out[r*m.ld : r*m.ld+p*q]
	kernel.Gemm(true, false, p, q, t, 1, m.a[r/m.b.outputs*t*p:], p, m.d[r*t*q:], q, 0, row, q)
	kernel.Mul(row, row, m.scale)
}

// addConvolved adds the covariance from block i.
func (p spectralPredictor) addConvolved(b batch, i int, cov []float64) {
	c, size := b.outputs, p.blocks[i].size()
	rows := make([]float64, b.size()*size)
	p.multiply(b, i, rows, size)
	for e := range b.count {
		kernel.Syrk(false, c, size, 1, rows[e*c*size:], size, 1, cov[e*c*c:], c)
	}
}
