package laplace

import (
	"context"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

// kfac sums up the second moments of each factor of the Jacobian.
type kfac[T kernel.Float] struct {
	spectral                           // H, once it is complete
	examples int                       // number of examples that A is the mean over
	parts    []factorOf                // the factors whose moments are summed up
	moments  map[*graph.Node]*total[T] // N A or G by factor
	values   map[*graph.Node][]float64 // their eigenvalues
	d        []T                       // [B·C, q] of the widest group
	job      momentsJob[T]             // of a batch, kept because a job lives on the heap
	roots    weighting[T]              // rows of Λ^½ J
}

// factorOf is a factor n of the Jacobian with the first block that has it.
type factorOf struct {
	k     block       // the first block with the factor
	n     *graph.Node // the inputs or cotangents whose moments make the factor
	width int         // order of the factor
	work  int         // the number of multiplications that the moments of a batch take
}

func newKFAC[T kernel.Float](s *scanner, examples int) structure {
	h := &kfac[T]{
		spectral: spectral{scanner: s, basis: map[*graph.Node][]float64{}}, examples: examples,
		moments: map[*graph.Node]*total[T]{}, values: map[*graph.Node][]float64{},
	}
	seen := map[*graph.Node]bool{}
	for _, k := range s.blocks {
		for _, n := range k.nodes() {
			if !seen[n] {
				seen[n] = true
				h.parts = append(h.parts, factorOf{k, n, width(n), n.Shape().TotalSize() * width(n)})
			}
		}
	}
	return h
}

// factors calls f once for each factor of the Jacobian, with the first block that has it.
func (h *kfac[T]) factors(f func(k block, n *graph.Node, width int)) {
	for _, p := range h.parts {
		f(p.k, p.n, p.width)
	}
}

// bytes: each factor has moments, their recent part and a basis; finding a basis takes four
// matrices more.
func (h *kfac[T]) bytes() int64 {
	var sum, widest int64
	h.factors(func(_ block, _ *graph.Node, width int) {
		w := int64(width)
		sum, widest = sum+3*w*w, max(widest, w)
	})
	return 8 * (sum + 4*widest*widest + 2*int64(h.params) + int64(h.batch*h.outputs)*int64(h.widest()))
}

func (h *kfac[T]) allocate() {
	h.factors(func(k block, n *graph.Node, width int) { h.moments[n] = newMoments[T](k, n, width) })
}

// newMoments returns a sum of the moments of a factor of block k.
func newMoments[T kernel.Float](k block, n *graph.Node, width int) *total[T] {
	t := newTotal[T](width * width)
	if n == k.a {
		t.patches = newPatches[T](k)
	}
	if p := t.patches; p != nil {
		t.recent = make([]T, patchSums*p.c*p.c)
	}
	return t
}

func (h *kfac[T]) add(b batch) error {
	h.sum(b, true)
	return h.addRows(b)
}

func (h *kfac[T]) apart() bool { return true }

// addInputs adds the moments of the inputs of the layers.
func (h *kfac[T]) addInputs(b batch) error {
	h.sum(b, true)
	return nil
}

// addRows adds the moments of b's cotangents.
func (h *kfac[T]) addRows(b batch) error {
	if b.lambda == nil {
		h.sum(b, false)
		return nil
	}
	if h.d == nil {
		h.d = make([]T, h.batch*h.outputs*h.widest())
	}
	for _, p := range h.parts {
		if p.n == p.k.d {
			v := h.roots.weighted(b, h.d, rows[T](b, p.n), p.k.places*p.width)
			addGram(h.moments[p.n].recent, v, p.width)
			h.moments[p.n].next()
		}
	}
	return nil
}

// sum adds the moments of the inputs, or of the cotangents, each on a thread of its own but for
// those that take long.
func (h *kfac[T]) sum(b batch, inputs bool) {
	j := &h.job
	*j = momentsJob[T]{kfac: h, b: b, parts: j.parts[:0]}
	work := 0
	for _, p := range h.parts {
		if (p.n == p.k.a) == inputs {
			work += p.work
		}
	}
	for i, p := range h.parts {
		switch {
		case (p.n == p.k.a) != inputs:
		case p.work > work/kernel.Threads():
			j.one(p)
		default:
			j.parts = append(j.parts, i)
		}
	}
	kernel.Parallel(len(j.parts), j)
}

// momentsJob is the kernel.Job that adds the moments of some factors, one in each part.
type momentsJob[T kernel.Float] struct {
	*kfac[T]
	b     batch // the batch at hand
	parts []int // numbers of the factors to which the batch is added
}

// Run implements kernel.Job.
func (j *momentsJob[T]) Run(part, _ int) { j.one(j.kfac.parts[j.parts[part]]) }

// one adds the moments of a factor.
func (j *momentsJob[T]) one(p factorOf) {
	m := j.moments[p.n]
	switch {
	case m.patches != nil:
		m.patches.add(rows[T](j.b, p.k.images), m.recent)
	default:
		addGram(m.recent, rows[T](j.b, p.n), p.width)
	}
	m.next()
}

// finish finds the eigenvectors of the factors.
func (h *kfac[T]) finish(context.Context) (err error) {
	h.factors(func(k block, n *graph.Node, width int) {
		m := h.moments[n].all()
		mirror(m, width)
		kernel.Scale(m, 1/float64(h.over(k, n)), m)
		if err == nil {
			err = checkFinite(m, k)
		}
		if err == nil {
			h.values[n], h.basis[n], err = eigen.Semidefinite(width, m)
		}
	})
	h.moments, h.d = nil, nil
	if err != nil {
		return err
	}
	return h.rebuild(context.Background())
}

// over is the number by which the sum of a factor's moments is divided.
func (h *kfac[T]) over(k block, n *graph.Node) int {
	if n == k.d {
		return k.places
	}
	return h.examples
}

// rebuild: the eigenvalues of A⊗G are the products of an eigenvalue of A and an eigenvalue of G.
func (h *kfac[T]) rebuild(context.Context) error {
	for _, k := range h.blocks {
		h.h = append(h.h, products(h.values[k.a], h.values[k.d]))
	}
	return nil
}

// products returns the eigenvalues of A⊗G, from the eigenvalues a of A and g of G. Negative
// eigenvalues, which come from rounding, count as 0. nil instead of a stands for the number 1.
func products(a, g []float64) []float64 {
	if a == nil {
		a = []float64{1}
	}
	var out []float64
	for _, v := range a {
		for _, w := range g {
			out = append(out, max(0, v)*max(0, w))
		}
	}
	return out
}
