package valla

import (
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

// Complete fills in the defaults of settings for a problem.
func Complete(s Settings, p gp.Problem) (Settings, error) { return s.complete(p) }

// Prefer sets the memory that predictions of several inputs may take.
func (p *Posterior) Prefer(bytes int64) { p.limit = bytes }

// Factor is G above the divergences, with the derivative of its own.
func Factor(b *graph.Builder, low, kz *graph.Node) *graph.Node {
	return conditioned(b, low, kz).differentiable(b, low, kz)
}

// FactorInSteps is the same with the derivatives of the operations that make it.
func FactorInSteps(b *graph.Builder, low, kz *graph.Node) *graph.Node {
	c := conditioned(b, low, kz)
	return b.Concat(c.g, c.divergences(b))
}
