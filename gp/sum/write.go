package sum

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	b := w.Out
	var g gp.Written
	var known *graph.Node // epistemic variances
	for k, t := range p.terms {
		of, ok := t.Stored.(gp.Writer)
		if !ok {
			return g, settings.Errorf("%v cannot be exported, because %v cannot", p, t)
		}
		part, err := of.Write(w)
		if err != nil {
			return g, fmt.Errorf("%v: %w", p, err)
		}
		cov := b.Scale(part.Cov, t.factor)
		own := b.Diag(cov)
		if part.Epistemic != nil {
			own, g.Epistemic = b.Mul(part.Epistemic, b.Affine(own, 1, p.noise)), part.Epistemic
		}
		if k == 0 {
			g.Mean, g.Cov, known = part.Mean, cov, own
			continue
		}
		g.Cov, known = b.Add(g.Cov, cov), b.Add(known, own)
	}
	if g.Epistemic != nil { // at most 1
		share := b.Div(known, b.Affine(b.Diag(g.Cov), 1, p.noise))
		g.Epistemic = b.Clip(share, 0, 1)
	}
	return g, w.Err()
}
