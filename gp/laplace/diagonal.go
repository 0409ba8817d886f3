package laplace

import (
	"context"

	"github.com/go-valla/valla/internal/kernel"
)

// diagonal sums up the squares of Jacobian entries. The square of an outer product is
// the outer product of the squares, so no Jacobian is formed.
type diagonal[T kernel.Float] struct {
	spectral
	totals []*total[T] // by block
	sum    []T         // [B,q] of the widest group, Σ_c d²
	square []T         // [B,p] of the widest factor, a²
	roots  squaring[T] // sums of squares of rows of Λ^½ J
}

func newDiagonal[T kernel.Float](s *scanner) structure {
	return &diagonal[T]{spectral: spectral{scanner: s}}
}

// widest returns the size of the largest cotangents of one output.
func (s *scanner) widest() (size int) {
	for _, k := range s.blocks {
		size = max(size, k.places*k.q)
	}
	return size
}

func (h *diagonal[T]) bytes() int64 {
	return 8 * (3*int64(h.params) + int64(h.batch)*int64(h.widest())) // h, its recent part or v
}

func (h *diagonal[T]) allocate() {
	h.sum = make([]T, h.batch*h.widest())
	for _, k := range h.blocks {
		h.totals = append(h.totals, newTotal[T](k.size()))
	}
}

func (h *diagonal[T]) apart() bool { return false }

func (h *diagonal[T]) addInputs(batch) error { return nil }

func (h *diagonal[T]) addRows(b batch) error { return h.add(b) }

func (h *diagonal[T]) add(b batch) error {
	for _, g := range h.groups {
		q := g.q
		if b.isUnit(g.d) {
			unitSquares(b, h.sum)
		} else {
			h.roots.sum(b, h.sum, rows[T](b, g.d), q)
		}
		for _, i := range g.blocks {
			h.addBlock(b, i)
			h.totals[i].next()
		}
	}
	return nil
}

// addBlock adds Σ_n a_n² ⊗ sum_n to the total of block i.
func (h *diagonal[T]) addBlock(b batch, i int) {
	k := h.blocks[i]
	if k.tokens != nil {
		eachToken(b, k, h.sum[:b.count*k.q], func(at int, part []T) {
			to := h.totals[i].recent[at : at+len(part)]
			kernel.Add(to, to, part)
		})
		return
	}
	p, q := k.p, k.q
	if len(h.square) < b.count*p {
		h.square = make([]T, b.batch*p)
	}
	a := h.square[:b.count*p]
	if k.a == nil {
		for r := range a {
			a[r] = 1
		}
	} else {
		kernel.Square(a, rows[T](b, k.a))
	}
	kernel.Gemm(true, false, p, q, b.count, 1, a, p, h.sum, q, 1, h.totals[i].recent, q)
}

func (h *diagonal[T]) finish(context.Context) error {
	for i, k := range h.blocks {
		h.h = append(h.h, h.totals[i].all())
		if err := checkFinite(h.h[i], k); err != nil {
			return err
		}
	}
	h.totals, h.sum = nil, nil
	return nil
}
