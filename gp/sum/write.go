package sum

import (
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer: the sum of the terms' distributions, as in add.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	var g gp.Written
	var known *graph.Node // part of the targets' variances that more data would take away
	b, shares := w.Out, false
	for _, t := range p.terms {
		own, err := gp.Write(t.Stored, w)
		if err != nil {
			return g, err
		}
		cov := b.Scale(own.Cov, t.factor)
		v := b.Diag(cov)
		if own.Epistemic != nil {
			v, shares = b.Mul(own.Epistemic, b.Affine(v, 1, p.noise)), true
		}
		if g.Mean == nil {
			g.Mean = own.Mean
		}
		g.Cov, known = b.Plus(g.Cov, cov), b.Plus(known, v)
	}
	if shares {
		g.Epistemic = b.Clip(b.Div(known, b.Affine(b.Diag(g.Cov), 1, p.noise)), 0, 1)
	}
	return g, w.Err()
}
