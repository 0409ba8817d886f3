package fmgp

import (
	"fmt"

	"github.com/go-valla/valla/gp"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wide == nil {
		p.wide = p.layer.wide()
	}
	k, b := p.layer.Kernel, w.Out
	nodes := writeNetwork(w.Net, p.net, w.X, k.Features > 0)
	x := w.Carry(w.X)
	g := gp.Written{Mean: w.Carry(nodes[0])}
	if err := w.Err(); err != nil {
		return g, fmt.Errorf("fmgp: %w", err)
	}
	u := b.Reshape(x, x.Shape()[0], k.Inputs)
	if k.Features > 0 {
		u = b.Concat(1, u, w.Carry(nodes[1]))
	}
	out := p.outputs(b, u)
	if err := w.Err(); err != nil {
		return g, fmt.Errorf("fmgp: %w", err)
	}
	if g.Cov = out[0]; p.known != nil {
		known := b.ReLU(out[2])
		g.Epistemic = b.Div(known, b.Affine(known, 1, p.scatter))
	}
	return g, w.Err()
}
