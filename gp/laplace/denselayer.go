package laplace

import (
	"context"

	"github.com/go-valla/valla/internal/kernel"
)

// denseLayer is all of H where the weights are the weights of one dense layer of q outputs,
// so that J_n = a_n ⊗ d_n with the layer's inputs a, and a 1 for the bias. Then
//
//	H = Σ_n (a_n a_nᵀ) ⊗ (d_nᵀ Λ_n d_n)
//
// takes q² products aᵀa for each batch, which is C times less work than a sum over the
// outputs. A covariance takes q² quadratic forms.
type denseLayer struct {
	gram                        // H, once it is complete
	*scanner                    // gives the inputs and cotangents of the layer
	width    int                // of a, with the 1
	outer    []float64          // H with the output the slower index: [q, width, q, width]
	roots    weighting[float64] // rows of Λ^½ J
	job      outerJob           // of a batch, kept because a job lives on the heap
}

// isDense reports whether the weights of s are the weights of one dense layer.
func (s *scanner) isDense() bool {
	if len(s.groups) != 1 || len(s.blocks) > 2 {
		return false
	}
	if len(s.blocks) == 1 {
		return s.blocks[0].a != nil
	}
	return (s.blocks[0].a == nil) != (s.blocks[1].a == nil)
}

func newDenseLayer(s *scanner) structure {
	h := &denseLayer{gram: gram{n: s.params}, scanner: s}
	for _, k := range s.blocks {
		h.width += k.p
	}
	return h
}

// q is the number of the layer's outputs.
func (h *denseLayer) q() int { return h.groups[0].q }

func (h *denseLayer) elements() int {
	return 2*h.width + 2*h.outputs*h.q() + h.q()*h.q()
}

func (h *denseLayer) bytes() int64 {
	n := int64(h.n)
	// H, its factor and the factor before, the covariance and its forms.
	return 8 * (5*n*n + int64(h.batch)*int64(h.elements()))
}

func (h *denseLayer) allocate() { h.outer = make([]float64, h.n*h.n) }

func (h *denseLayer) add(b batch) error {
	q := h.q()
	d := h.roots.weighted(b, b.take(b.size()*q), rows[float64](b, h.groups[0].d), q)
	job, parts := &h.job, kernel.Threads()
	*job = outerJob{denseLayer: h, examples: b.count, a: h.inputs(b), s: b.take(b.count * q * q)}
	job.scaled = b.take(parts * len(job.a))
	for i := range b.count {
		kernel.Syrk(true, q, b.outputs, 1, d[i*b.outputs*q:], q, 0, job.s[i*q*q:], q)
	}
	kernel.Parallel(parts, job)
	return nil
}

// outerJob is the kernel.Job that adds the lower triangle of Σ_n a_n a_nᵀ s_njk to the blocks
// j ≥ k of H, for a [examples,width] and s [examples,q,q].
type outerJob struct {
	*denseLayer
	examples int       // number of examples of the batch
	a, s     []float64 // inputs a_n of the layer, and d_nᵀ Λ_n d_n
	scaled   []float64 // [parts,examples,width]
}

// Run implements kernel.Job: every block whose number is part, modulo parts.
func (o *outerJob) Run(part, parts int) {
	q, w, number := o.q(), o.width, 0
	scaled := o.scaled[part*len(o.a) : (part+1)*len(o.a)]
	for j := range q {
		for k := range j + 1 {
			if number++; number%parts != part {
				continue
			}
			for i := range o.examples {
				kernel.Scale(scaled[i*w:(i+1)*w], o.s[(i*q+j)*q+k], o.a[i*w:(i+1)*w])
			}
			addLower(o.outer[j*w*o.n+k*w:], o.n, o.a, scaled, w)
		}
	}
}

// inputs returns the layer's inputs, [count·width], in the order of at.
func (h *denseLayer) inputs(b batch) []float64 {
	w, out := h.width, b.take(b.count*h.width)
	col := 0
	for _, k := range h.blocks {
		p, a := 1, []float64(nil)
		if k.a == nil {
			a = b.take(b.count)
			for r := range a {
				a[r] = 1
			}
		} else {
			p, a = k.p, rows[float64](b, k.a)
		}
		for r := range b.count {
			copy(out[r*w+col:], a[r*p:(r+1)*p])
		}
		col += p
	}
	return out
}

// at returns the index of each weight in h.outer: output, then input.
func (h *denseLayer) at() []int {
	at, col := make([]int, h.n), 0
	for _, k := range h.blocks {
		for i := range k.p {
			for j := range k.q {
				at[k.at(i, j)] = j*h.width + col + i
			}
		}
		col += k.p
	}
	return at
}

// index is where h.outer has the product of the weights with the indices u and v.
func (h *denseLayer) index(u, v int) int {
	j, k := max(u/h.width, v/h.width), min(u/h.width, v/h.width)
	return (j*h.width+max(u%h.width, v%h.width))*h.n + k*h.width + min(u%h.width, v%h.width)
}

// finish puts the weights in their order. h.outer has only the blocks on and below its
// diagonal, and of each of these, which are symmetric, only the lower triangle.
func (h *denseLayer) finish(context.Context) error {
	h.a = make([]float64, h.n*h.n)
	at := h.at()
	for r, u := range at {
		for c, v := range at[:r+1] {
			e := h.outer[h.index(u, v)]
			h.a[r*h.n+c], h.a[c*h.n+r] = e, e
		}
	}
	h.outer = nil
	return h.checkMatrix(h.a)
}

func (h *denseLayer) factor(ctx context.Context, c scales) (factor, error) {
	t := h.perWeight(c)
	l, err := h.cholesky(ctx, c.s, t)
	return denseFactor{weightFactor{l, h.blocks, t}, h}, err
}

// denseFactor is the factor of weight space with a faster way to the marginals.
type denseFactor struct {
	weightFactor             // the factor of all of H
	layer        *denseLayer // gives the inputs of the layer
}

// predictor reads the quadratic forms from the covariance of the weights.
func (f denseFactor) predictor() predictor {
	w, q := f.layer.width, f.layer.q()
	p := densePredictor{denseFactor: f, forms: make([][]form, q)}
	sigma, order := f.inverse(), make([]int, f.n) // the weight of each output and input
	for i, to := range f.layer.at() {
		order[to] = i
	}
	kernel.Scale(sigma, f.s, sigma)
	scaleColumns(sigma, f.n, f.n, f.t)
	for i, v := range f.t {
		kernel.Scale(sigma[i*f.n:(i+1)*f.n], v, sigma[i*f.n:(i+1)*f.n])
	}
	for j := range q {
		for lo := 0; lo < w; lo += formsBlock {
			m := form{lo: lo, cols: min(formsBlock, w-lo)}
			m.v = make([]float64, 0, (w-lo)*(j+1)*m.cols)
			for r := lo; r < w; r++ {
				for k := range j + 1 {
					for c := lo; c < lo+m.cols; c++ {
						m.v = append(m.v, lower(sigma, f.n, order[j*w:], order[k*w:], r, c))
					}
				}
			}
			p.forms[j] = append(p.forms[j], m)
		}
	}
	return p
}

// lower is the element of a lower triangle M with aᵀMa = aᵀSa, where S is the block of
// sigma in these rows and columns.
func lower(sigma []float64, n int, rows, cols []int, r, c int) float64 {
	switch {
	case c > r:
		return 0
	case c == r:
		return sigma[rows[r]*n+cols[c]]
	}
	return sigma[rows[r]*n+cols[c]] + sigma[rows[c]*n+cols[r]]
}

// densePredictor holds, for each two outputs j ≥ k of the layer, the covariance of their
// weights over σ₀², as a quadratic form aᵀ M a with M lower triangular.
type densePredictor struct {
	denseFactor
	forms [][]form // by j
}

// form is a block of columns lo, …, lo+cols−1 of M_j0, …, M_jj side by side. It starts in row
// lo, above which the columns are 0.
type form struct {
	lo, cols int       // the first column and the number of columns
	v        []float64 // [width−lo, (j+1)·cols]
}

func (p densePredictor) marginals(b batch, cov []float64) error {
	c, q := b.outputs, p.layer.q()
	job := &b.forms
	*job = formsJob{densePredictor: p, examples: b.count, a: p.layer.inputs(b), u: b.take(b.count * q * q)}
	clear(job.u)
	job.product = b.take(q * job.most())
	kernel.Parallel(q, job)
	d, du := rows[float64](b, p.layer.groups[0].d), b.take(c*q)
	for i := range b.count {
		di, at := d[i*c*q:], cov[i*c*c:]
		kernel.Gemm(false, false, c, q, q, 1, di, q, job.u[i*q*q:], q, 0, du, q)
		kernel.Gemm(false, true, c, c, q, 1, du, q, di, q, 0, at, c)
		kernel.CopyLower(c, at, c)
	}
	return b.checkCovariance(cov)
}

// formsJob is the kernel.Job that evaluates the quadratic forms at a [examples,width] into
// u [examples,q,q].
type formsJob struct {
	densePredictor
	examples int       // number of examples of the batch
	a, u     []float64 // inputs of the layer, and the values of the forms
	product  []float64 // a part's own is most() long
}

// most is the number of products of a part.
func (f *formsJob) most() int {
	return min(formsChunk, f.examples) * f.layer.q() * min(formsBlock, f.layer.width)
}

const (
	formsChunk = 128 // examples at a time
	formsBlock = 64  // columns of a form
)

// Run implements kernel.Job: output j with those before it. The longest job comes first.
func (f *formsJob) Run(part, _ int) {
	w, q := f.layer.width, f.layer.q()
	j, product := q-1-part, f.product[part*f.most():(part+1)*f.most()]
	for first := 0; first < f.examples; first += formsChunk {
		m, a := min(formsChunk, f.examples-first), f.a[first*w:]
		for _, b := range f.forms[j] {
			n := (j + 1) * b.cols
			kernel.Gemm(false, false, m, n, w-b.lo, 1, a[b.lo:], w, b.v, n, 0, product, n)
			for i := range m {
				row, u := product[i*n:(i+1)*n], f.u[(first+i)*q*q:]
				for k := range j + 1 {
					u[j*q+k] += kernel.Dot(row[k*b.cols:(k+1)*b.cols], a[i*w+b.lo:i*w+b.lo+b.cols])
				}
			}
		}
	}
	for i := range f.examples {
		u := f.u[i*q*q : (i+1)*q*q]
		for k := range j {
			u[k*q+j] = u[j*q+k]
		}
	}
}
