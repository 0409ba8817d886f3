package laplace

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// visitor is given each array that a structure is made of: to save it, or to fill it.
type visitor func(name string, v *[]float64, shape ...int) error

// fields: H is symmetric, so its lower triangle is enough.
func (g *gram) fields(visit visitor) error {
	var packed []float64
	if g.a != nil {
		packed = dense.PackLower(g.n, g.a)
	}
	if err := visit("h", &packed, g.n*(g.n+1)/2); err != nil || g.a != nil {
		return err
	}
	g.a = dense.UnpackLower(g.n, packed)
	kernel.CopyLower(g.n, g.a, g.n)
	return nil
}

func (g *gram) rebuild(context.Context) error { return nil }

func (g *gram) describe(s *header) { s.Space = spaceWeights }

func (f *functionSpace) fields(visit visitor) error {
	return visit("x", &f.x, append([]int{f.n / f.outputs}, f.scanner.x.Shape()[1:]...)...)
}

func (f *functionSpace) describe(s *header) { s.Space = spaceFunctions }

func (l *lowRank) fields(visit visitor) error { return visit("r", &l.j, l.n, l.params) }

func (l *lowRank) rebuild(ctx context.Context) error {
	l.a = make([]float64, l.n*l.n)
	return l.square(ctx)
}

func (l *lowRank) describe(s *header) { s.Structure, s.Rank = kindLowRank, l.n }

func (h *diagonal[T]) fields(visit visitor) error {
	if h.h == nil {
		h.h = make([][]float64, len(h.blocks))
	}
	for i, k := range h.blocks {
		if err := visit(k.param.Name+".h", &h.h[i], k.shape()...); err != nil {
			return err
		}
	}
	return nil
}

func (h *diagonal[T]) rebuild(context.Context) error {
	for i, k := range h.blocks {
		if v := slices.Min(h.h[i]); v < 0 {
			return fmt.Errorf("laplace: the diagonal of H in %q has the element %g", k.param.Name, v)
		}
	}
	return nil
}

func (h *diagonal[T]) describe(s *header) { s.Structure = kindDiagonal }

func (h *kfac[T]) describe(s *header) { s.Structure = kindKFAC }

// factorName names a factor of a block.
func factorName(k block, n *graph.Node) string {
	if n == k.d {
		return k.param.Name + ".cotangent"
	}
	return k.param.Name + ".input"
}

// fields: a factor has the name of the first parameter that it belongs to. Only a posterior without factors, which is
// being restored, takes what visit gives it, because predictions may read the factors of any other at the same time.
func (h *kfac[T]) fields(visit visitor) (err error) {
	empty := len(h.values) == 0
	for _, p := range h.parts {
		name := factorName(p.k, p.n)
		values, vectors := h.values[p.n], h.basis[p.n]
		if p.squares {
			err = visit(name+".squares", &values, p.size())
		} else if err = visit(name+".values", &values, p.width); err == nil {
			err = visit(name+".vectors", &vectors, p.width, p.width)
		}
		if err != nil {
			return err
		}
		if empty {
			h.values[p.n], h.basis[p.n] = values, vectors
		}
	}
	return nil
}
