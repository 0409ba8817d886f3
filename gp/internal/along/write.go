package along

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/jacobian"
)

var _ gp.Writer = (*Posterior)(nil)

// Write implements gp.Writer.
func (p *Posterior) Write(w *gp.Writing) (gp.Written, error) {
	out := p.Net.Forward(w.Net, w.X)
	rows := w.Carry(jacobian.Along(w.Net, p.Net, w.X, out, p.V))
	g := gp.Written{Mean: w.Carry(out)}
	if err := w.Err(); err != nil {
		return g, fmt.Errorf("%s: %w", p.Name, err)
	}
	if p.Root != nil {
		rows = w.Rows(rows, p.Root)
	}
	g.Cov = w.Gram(rows, p.Scale)
	return g, w.Err()
}
