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
// The same holds for dense weights that all steps of a sequence share, with the layer's inputs for patches.
// Such a block has a [B,T,K], d [B·C,T,Out] and T places; the other structures take its
// rows as they are. Predictions with KFAC multiply the rotated factors out.

// convolved reports whether uses are the rows of a convolution's filters, or of dense weights that steps share, and
// fills in k where they are.
func (k *block) convolved(b *graph.Builder, uses []graph.Outer) bool {
	if len(uses) != 1 || uses[0].Left != nil {
		return false
	}
	if use, ok := graph.StepRows(uses[0].Right); ok {
		k.a, k.d, k.swapped = use.Inputs, use.Results, use.Swapped
		return true
	}
	filters := k.param.Value.Shape()
	if len(filters) != 4 || filters[2] != filters[3] {
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
	if sizeKept(use, filters[2]) {
		k.images = use.Images
	}
	return b.Err() == nil
}

// multiplied holds the rotated factors of a block, to be multiplied out: row r of the
// result [count·C, p·q] is Σ_t a_t ⊗ d_rt, each element times scale.
type multiplied struct {
	block           // the filters of a convolution
	b     batch     // the batch at hand
	a, d  []float64 // patches of the inputs and cotangents at all places
	scale []float64 // standard deviations of the weights [p·q]
}

// multiplied returns the rows of block i, times the standard deviations of its weights.
func (p spectralPredictor) multiplied(b batch, i int) multiplied {
	k := p.blocks[i]
	std := b.take(k.size())
	kernel.Sqrt(std, p.v[i])
	return multiplied{k, b, p.rotated(b, k.a), p.rotated(b, k.d), std}
}

// row writes row r.
func (m multiplied) row(r int, out []float64) { m.channels(r, 0, m.q, out) }

// channels writes the part of row r that belongs to n channels of the output, [p,n].
func (m multiplied) channels(r, from, n int, out []float64) {
	t, p, q := m.places, m.p, m.q
	kernel.Gemm(true, false, p, n, t, 1, m.a[r/m.b.outputs*t*p:], p, m.d[r*t*q+from:], q, 0, out[:p*n], n)
	if n == q {
		kernel.Mul(out[:p*q], out[:p*q], m.scale)
		return
	}
	for i := range p {
		kernel.Mul(out[i*n:(i+1)*n], out[i*n:(i+1)*n], m.scale[i*q+from:i*q+from+n])
	}
}

// rowsJob is the kernel.Job that writes all rows to out, ld apart.
type rowsJob struct {
	multiplied
	out []float64 // rows [count·C,ld], written by the job
	ld  int       // numbers from one row of out to the next
}

// Run implements kernel.Job: one row.
func (j *rowsJob) Run(r, _ int) { j.row(r, j.out[r*j.ld:]) }

// covarianceJob is the kernel.Job that adds the products of each example's rows to cov.
type covarianceJob struct {
	multiplied
	cov     []float64 // [count,C,C]
	scratch []float64 // [threads, own]
	own     int       // numbers of scratch for a thread
	atOnce  int       // channels whose rows are formed at a time; 0: none, see inPlaces
}

// maxRows bounds the rows that are formed at a time, in numbers.
const maxRows = 1 << 22

// inPlaces says whether the covariance of outputs is computed with less work without the rows.
func (k block) inPlaces(outputs int) bool {
	t, p, c := float64(k.places), float64(k.p), float64(outputs)
	return t*t*p+c*t*t+c*c*t < c*t*p+c*c*p/2
}

// Run implements kernel.Job: the examples part, part+parts, ….
func (j *covarianceJob) Run(part, parts int) {
	c := j.b.outputs
	scratch := j.scratch[part*j.own : (part+1)*j.own]
	for e := part; e < j.b.count; e += parts {
		cov := j.cov[e*c*c:]
		if j.atOnce == 0 {
			j.addInPlaces(e, scratch, cov)
			continue
		}
		for from := 0; from < j.q; from += j.atOnce {
			n := min(j.atOnce, j.q-from)
			for r := range c {
				j.channels(e*c+r, from, n, scratch[r*j.p*n:])
			}
			kernel.Syrk(false, c, j.p*n, 1, scratch, j.p*n, 1, cov, c)
		}
	}
}

// addInPlaces adds the covariance of the outputs at example e, one channel j after the other:
//
//	Σ_j D_j B_j D_jᵀ,   B_j = A diag(v_j) Aᵀ [T,T],
//
// where A [T,p] are the patches, v_j the variances of the channel's weights and D_j [C,T] its
// cotangents.
func (j *covarianceJob) addInPlaces(e int, scratch, cov []float64) {
	c, t, p, q := j.b.outputs, j.places, j.p, j.q
	take := func(n int) []float64 {
		out := scratch[:n]
		scratch = scratch[n:]
		return out
	}
	std, patches, gram, d, carried := take(p), take(t*p), take(t*t), take(c*t), take(c*t)
	for channel := range q {
		for i := range std {
			std[i] = j.scale[i*q+channel]
		}
		for i := range t {
			kernel.Mul(patches[i*p:(i+1)*p], j.a[(e*t+i)*p:(e*t+i+1)*p], std)
		}
		kernel.Syrk(false, t, p, 1, patches, p, 0, gram, t)
		for i := range d {
			d[i] = j.d[(e*c*t+i)*q+channel]
		}
		kernel.Gemm(false, false, c, t, t, 1, d, t, gram, t, 0, carried, t)
		kernel.Gemm(false, true, c, c, t, 1, carried, t, d, t, 1, cov, c)
	}
}

// addConvolved adds to cov the covariance that comes from block i.
func (p spectralPredictor) addConvolved(b batch, i int, cov []float64) {
	k, c := p.blocks[i], b.outputs
	if k.inPlaces(c) {
		p.addCovariance(b, i, cov, 0)
	} else {
		p.addCovariance(b, i, cov, min(k.q, max(1, maxRows/(c*k.p))))
	}
}

// addCovariance is addConvolved with the rows of so many channels at once, or of none.
func (p spectralPredictor) addCovariance(b batch, i int, cov []float64, atOnce int) {
	k, c := p.blocks[i], b.outputs
	own := c * k.p * atOnce
	if atOnce == 0 {
		own = k.p + k.places*(k.p+k.places+2*c)
	}
	threads := min(kernel.Threads(), b.count) // the products of one example are shared out themselves
	b.covs = covarianceJob{multiplied: p.multiplied(b, i), cov: cov, scratch: b.take(threads * own), own: own, atOnce: atOnce}
	kernel.Parallel(threads, &b.covs)
}
