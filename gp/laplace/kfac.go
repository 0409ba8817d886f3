package laplace

import (
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// kfac sums up the second moments of each factor of the Jacobian.
type kfac[T kernel.Float] struct {
	spectral
	examples int
	moments  map[*graph.Node][]float64 // A or G by factor
	product  []T                       // of a batch, for the widest factor
	d        []T                       // [B·C, q] of the widest group
}

func newKFAC[T kernel.Float](s *scanner, examples int) structure {
	return &kfac[T]{spectral: spectral{scanner: s}, examples: examples, moments: map[*graph.Node][]float64{}}
}

// factors calls f once for each factor of the Jacobian.
func (h *kfac[T]) factors(f func(n *graph.Node, width int, cotangent bool)) {
	seen := map[*graph.Node]bool{}
	for _, k := range h.blocks {
		for _, n := range k.nodes() {
			if !seen[n] {
				seen[n] = true
				f(n, n.Shape()[1], n == k.d)
			}
		}
	}
}

// bytes: of each factor the moments, the basis, and what finding it takes.
func (h *kfac[T]) bytes() int64 {
	var sum, widest int64
	h.factors(func(_ *graph.Node, width int, _ bool) {
		w := int64(width)
		sum, widest = sum+2*w*w, max(widest, w)
	})
	_, q := h.largest()
	return 8 * (sum + 3*widest*widest + 2*int64(h.params) + int64(h.batch*h.outputs)*int64(q))
}

func (h *kfac[T]) allocate() {
	widest := 0
	h.factors(func(n *graph.Node, width int, _ bool) {
		h.moments[n] = make([]float64, width*width)
		widest = max(widest, width)
	})
	_, q := h.largest()
	h.product, h.d = make([]T, widest*widest), make([]T, h.batch*h.outputs*q)
}

func (h *kfac[T]) add(b batch) error {
	h.factors(func(n *graph.Node, width int, cotangent bool) {
		v := rows[T](b, n)
		if cotangent {
			v = weighted(b, h.d, v, width)
		}
		kernel.Syrk(true, width, len(v)/width, 1, v, width, 0, h.product, width)
		addTo(h.moments[n], h.product)
	})
	return nil
}

// finish finds the eigenvectors of the factors; the eigenvalues of A⊗G are the
// products of theirs.
func (h *kfac[T]) finish() error {
	for _, k := range h.blocks {
		for _, n := range k.nodes() {
			if err := checkFinite(h.moments[n], k); err != nil {
				return err
			}
		}
	}
	values := map[*graph.Node][]float64{}
	h.basis = map[*graph.Node][]float64{}
	var err error
	h.factors(func(n *graph.Node, width int, cotangent bool) {
		if !cotangent {
			kernel.Scale(h.moments[n], 1/float64(h.examples), h.moments[n])
		}
		var failed error
		if values[n], h.basis[n], failed = eigen(width, h.moments[n]); failed != nil {
			err = failed
		}
	})
	for _, k := range h.blocks {
		h.h = append(h.h, products(values[k.a], values[k.d]))
	}
	h.moments, h.product, h.d = nil, nil, nil
	return err
}

// products returns the eigenvalues of A⊗G, those that rounding made negative as 0; no
// A stands for the number 1.
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
