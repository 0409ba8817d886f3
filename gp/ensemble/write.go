package ensemble

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

var _ gp.Writer = (*mixture)(nil)

// Write implements gp.Writer.
func (m *mixture) Write(w *gp.Writing) (gp.Written, error) {
	all := make([]gp.Written, len(m.members))
	for k, of := range m.members {
		var err error
		end := w.Scope(prefix(k))
		all[k], err = gp.Write(of, w)
		if end(); err != nil {
			return gp.Written{}, fmt.Errorf("network %d: %w", k+1, err)
		}
	}
	b := w.Out
	g := gp.Written{
		Mean: meanOf(b, all, func(_ int, g gp.Written) *graph.Node { return g.Mean }),
		Cov:  meanOf(b, all, func(_ int, g gp.Written) *graph.Node { return g.Cov }),
	}
	between := meanOf(b, all, func(_ int, one gp.Written) *graph.Node {
		away := b.Sub(one.Mean, g.Mean)
		if b.Err() != nil {
			return nil
		}
		n, c := away.Shape()[0], away.Shape()[1]
		return b.Gram(b.Reshape(away, n, c, 1))
	})
	if all[0].Probs != nil {
		g.Probs = meanOf(b, all, func(_ int, g gp.Written) *graph.Node { return g.Probs })
	}
	g.Cov = b.Add(g.Cov, between)
	if all[0].Epistemic != nil {
		g.Epistemic = m.writeEpistemic(b, all, g.Cov)
	}
	return g, w.Err()
}

// writeEpistemic writes the shares that [mixture.epistemic] computes.
func (m *mixture) writeEpistemic(b *graph.Builder, all []gp.Written, cov *graph.Node) *graph.Node {
	noise := 0.0
	for k := range all {
		noise += m.noiseOf(k) / float64(len(all))
	}
	rest := meanOf(b, all, func(k int, g gp.Written) *graph.Node {
		return b.Mul(b.Affine(b.Diag(g.Cov), 1, m.noiseOf(k)), b.Affine(g.Epistemic, -1, 1))
	})
	return b.Clip(b.Affine(b.Div(rest, b.Affine(b.Diag(cov), 1, noise)), -1, 1), 0, 1)
}

// meanOf writes the mean of a node of each member.
func meanOf(b *graph.Builder, all []gp.Written, of func(k int, g gp.Written) *graph.Node) *graph.Node {
	var sum *graph.Node
	for k, g := range all {
		sum = b.Plus(sum, of(k, g))
	}
	return b.Scale(sum, 1/float64(len(all)))
}
