package laplace

import "github.com/go-valla/valla/internal/kernel"

// A way is how to compute, with KFAC, the covariance of the outputs that comes from a block with places. All ways give the
// same numbers but for rounding.
type way int

const (
	placesFirst way = iota // the factors of each place go to the basis, and are multiplied out there
	rowsFirst              // the factors are multiplied out, and the rows go to the basis
	inPlaces               // the factors of each place go to the basis, and no rows are formed
)

// wayOf returns the way with the fewest multiplications for an example with the given number of outputs, and the numbers of
// multiplications before and after the variances of the weights come in.
func (k block) wayOf(outputs int) (best way, before, after float64) {
	t, p, q, c := float64(k.places), float64(k.p), float64(k.q), float64(outputs)
	turned, rows := t*p*p+c*t*q*q, c*t*p*q
	best, before, after = placesFirst, turned+rows, c*c*p*q/2
	if first := rows + c*p*q*(p+q); first < before && outputs*k.size() <= maxRows {
		best, before = rowsFirst, first
	}
	if without := q * (t*t*p + c*t*t + c*c*t); turned+without < before+after {
		return inPlaces, turned, without
	}
	return best, before, after
}

// maxRows bounds the rows that are formed at a time, in numbers.
const maxRows = 1 << 22

// multiplied holds the factors of a block with places, to be multiplied out: row r [p,q] is Σ_t a_t ⊗ d_rt.
type multiplied struct {
	block           // the filters of a convolution, or the weights that steps share
	b     batch     // the batch at hand
	a, d  []float64 // patches of the inputs and cotangents at all places, in the basis but for rowsFirst
	u, v  []float64 // with rowsFirst the bases [p,p] and [q,q] to which the rows go; nil otherwise
}

// multiplied returns the rows of block i in the basis.
func (p spectralPredictor) multiplied(b batch, i int, w way) multiplied {
	k := p.blocks[i]
	if w == rowsFirst {
		return multiplied{k, b, rows[float64](b, k.a), rows[float64](b, k.d), p.basis[k.a], p.basis[k.d]}
	}
	return multiplied{block: k, b: b, a: p.rotated(b, k.a, k.p), d: p.rotated(b, k.d, k.q)}
}

// stds returns the standard deviations of the weights of block i, over σ₀, in the basis [p,q].
func (p spectralPredictor) stds(b batch, i int) []float64 {
	std := b.take(len(p.v[i]))
	kernel.Sqrt(std, p.v[i])
	return std
}

// row writes row r to out; work holds a row, too.
func (m multiplied) row(r int, out, work []float64) {
	if m.u == nil {
		m.channels(r, 0, m.q, out)
		return
	}
	p, q := m.p, m.q
	m.channels(r, 0, q, out)
	kernel.Gemm(true, false, p, q, p, 1, m.u, p, out, q, 0, work, q)
	kernel.Gemm(false, false, p, q, q, 1, work, q, m.v, q, 0, out, q)
}

// channels writes the part of row r that belongs to n channels of the output, [p,n].
func (m multiplied) channels(r, from, n int, out []float64) {
	t, p, q := m.places, m.p, m.q
	kernel.Gemm(true, false, p, n, t, 1, m.a[r/m.b.outputs*t*p:], p, m.d[r*t*q+from:], q, 0, out[:p*n], n)
}

// rowsJob is the kernel.Job that writes all rows to out, ld apart, times scale where it is not nil.
type rowsJob struct {
	multiplied
	scale []float64 // [p,q]
	out   []float64 // rows [count·C,ld], written by the job
	ld    int       // numbers from one row of out to the next
	work  []float64 // [threads,p·q]
}

// Run implements kernel.Job: the rows part, part+parts, ….
func (j *rowsJob) Run(part, parts int) {
	n := j.size()
	for r := part; r < j.b.size(); r += parts {
		out := j.out[r*j.ld:][:n]
		j.row(r, out, j.work[part*n:(part+1)*n])
		if j.scale != nil {
			kernel.Mul(out, out, j.scale)
		}
	}
}

// formRows writes the rows of block i to out, ld apart, times scale where it is not nil.
func (p spectralPredictor) formRows(b batch, i int, scale, out []float64, ld int) {
	k, threads := p.blocks[i], min(kernel.Threads(), b.size())
	w, _, _ := k.wayOf(b.outputs)
	kernel.Parallel(threads, &rowsJob{p.multiplied(b, i, w), scale, out, ld, b.take(threads * k.size())})
}

// rowStore holds rows of a batch for several predictors with the same basis: rows do not depend on the variances.
type rowStore struct {
	rows map[int][]float64 // by block, [count·C,p·q] of the batch
	all  map[int][]float64 // memory of rows, of any batch
	most int               // how many numbers may be kept
	left int               // how many numbers more may be kept
}

// newRowStore returns memory for at most so many numbers.
func newRowStore(most int) *rowStore {
	return &rowStore{rows: map[int][]float64{}, all: map[int][]float64{}, most: most}
}

// next drops the rows, because another batch comes.
func (k *rowStore) next() {
	clear(k.rows)
	k.left = k.most
}

// kept returns the rows of block i that the batch keeps, and nil if it keeps none.
func (p spectralPredictor) kept(b batch, i int) []float64 {
	keep := b.kept
	if keep == nil {
		return nil
	}
	n := b.size() * p.blocks[i].size()
	if keep.rows[i] == nil && n <= keep.left {
		if len(keep.all[i]) < n {
			keep.all[i] = make([]float64, n)
		}
		keep.rows[i] = keep.all[i][:n]
		keep.left -= n
		p.formRows(b, i, nil, keep.rows[i], p.blocks[i].size())
	}
	return keep.rows[i]
}

// covarianceJob is the kernel.Job that adds the products of each example's rows to cov.
type covarianceJob struct {
	multiplied
	way     way       // of the block
	rows    []float64 // the rows of all examples where the batch keeps them
	scale   []float64 // standard deviations of the weights [p,q]
	cov     []float64 // [count,C,C]
	scratch []float64 // [threads, own]
	own     int       // numbers of scratch for a thread
	atOnce  int       // channels whose rows are formed at a time, with placesFirst
}

// Run implements kernel.Job: the examples part, part+parts, ….
func (j *covarianceJob) Run(part, parts int) {
	c := j.b.outputs
	scratch := j.scratch[part*j.own : (part+1)*j.own]
	for e := part; e < j.b.count; e += parts {
		cov := j.cov[e*c*c:]
		switch {
		case j.rows != nil || j.way == rowsFirst:
			j.addRows(e, scratch, cov)
		case j.way == inPlaces:
			j.addInPlaces(e, scratch, cov)
		default:
			j.addChannels(e, scratch, cov)
		}
	}
}

// addRows adds the covariance of the outputs at example e from its whole rows.
func (j *covarianceJob) addRows(e int, scratch, cov []float64) {
	c, n := j.b.outputs, j.size()
	for r := range c {
		row := scratch[r*n : (r+1)*n]
		from := row
		if j.rows != nil {
			from = j.rows[(e*c+r)*n:][:n]
		} else {
			j.row(e*c+r, row, scratch[c*n:])
		}
		kernel.Mul(row, from, j.scale)
	}
	kernel.Syrk(false, c, n, 1, scratch, n, 1, cov, c)
}

// addChannels adds the covariance of the outputs at example e from the rows of some channels at a time.
func (j *covarianceJob) addChannels(e int, scratch, cov []float64) {
	c, p, q := j.b.outputs, j.p, j.q
	for from := 0; from < q; from += j.atOnce {
		n := min(j.atOnce, q-from)
		for r := range c {
			row := scratch[r*p*n : (r+1)*p*n]
			j.channels(e*c+r, from, n, row)
			for i := range p {
				kernel.Mul(row[i*n:(i+1)*n], row[i*n:(i+1)*n], j.scale[i*q+from:i*q+from+n])
			}
		}
		kernel.Syrk(false, c, p*n, 1, scratch, p*n, 1, cov, c)
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
	w, _, _ := p.blocks[i].wayOf(b.outputs)
	p.addCovariance(b, i, cov, w, p.blocks[i].atOnce(b.outputs))
}

// atOnce is of how many channels the rows are formed at a time, with placesFirst.
func (k block) atOnce(outputs int) int { return min(k.q, max(1, maxRows/(outputs*k.p))) }

// scratch is how many numbers a thread takes for the covariance of c outputs at an example.
func (k block) scratch(w way, c, atOnce int) int {
	switch w {
	case rowsFirst:
		return (c + 1) * k.size()
	case inPlaces:
		return k.p + k.places*(k.p+k.places+2*c)
	}
	return c * k.p * atOnce
}

// addCovariance is addConvolved in one way; placesFirst forms the rows of so many channels at once.
func (p spectralPredictor) addCovariance(b batch, i int, cov []float64, w way, atOnce int) {
	k, c := p.blocks[i], b.outputs
	job := covarianceJob{way: w, scale: p.stds(b, i), cov: cov, atOnce: atOnce, multiplied: multiplied{block: k, b: b}}
	if w != inPlaces {
		job.rows = p.kept(b, i)
	}
	if job.own = k.scratch(w, c, atOnce); job.rows == nil {
		job.multiplied = p.multiplied(b, i, w)
	} else {
		job.own = k.scratch(rowsFirst, c, atOnce)
	}
	threads := min(kernel.Threads(), b.count) // the products of one example are shared out themselves
	job.scratch = b.take(threads * job.own)
	b.covs = job
	kernel.Parallel(threads, &b.covs)
}
