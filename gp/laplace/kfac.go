package laplace

import (
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

// kfac sums up the second moments of each factor of the Jacobian.
type kfac[T kernel.Float] struct {
	spectral
	examples int
	moments  map[*graph.Node]*total[T] // N A or G by factor
	values   map[*graph.Node][]float64 // their eigenvalues
	d        []T                       // [B·C, q] of the widest group
}

func newKFAC[T kernel.Float](s *scanner, examples int) structure {
	return &kfac[T]{
		spectral: spectral{scanner: s, basis: map[*graph.Node][]float64{}}, examples: examples,
		moments: map[*graph.Node]*total[T]{}, values: map[*graph.Node][]float64{},
	}
}

// factors calls f once for each factor of the Jacobian, with the first block that has it.
func (h *kfac[T]) factors(f func(k block, n *graph.Node, width int)) {
	seen := map[*graph.Node]bool{}
	for _, k := range h.blocks {
		for _, n := range k.nodes() {
			if !seen[n] {
				seen[n] = true
				f(k, n, width(n))
			}
		}
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
	h.factors(func(_ block, n *graph.Node, width int) { h.moments[n] = newTotal[T](width * width) })
	h.d = make([]T, h.batch*h.outputs*h.widest())
}

func (h *kfac[T]) add(b batch) error {
	h.factors(func(k block, n *graph.Node, width int) {
		v := rows[T](b, n)
		if n == k.d {
			v = weighted(b, h.d, v, k.places*width)
		}
		addGram(h.moments[n].recent, v, width)
		h.moments[n].next()
	})
	return nil
}

// finish finds the eigenvectors of the factors.
func (h *kfac[T]) finish() (err error) {
	h.factors(func(k block, n *graph.Node, width int) {
		m := h.moments[n].all()
		mirror(m, width)
		over := h.examples
		if n == k.d {
			over = k.places
		}
		kernel.Scale(m, 1/float64(over), m)
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
	return h.rebuild()
}

// rebuild: the eigenvalues of A⊗G are the products of those of A and of G.
func (h *kfac[T]) rebuild() error {
	for _, k := range h.blocks {
		h.h = append(h.h, products(h.values[k.a], h.values[k.d]))
	}
	return nil
}

// products returns the eigenvalues of A⊗G, from those of A and G. Negative eigenvalues, which
// come from rounding, count as 0. nil instead of a stands for the number 1.
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
