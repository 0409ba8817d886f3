package fmgp

import (
	"errors"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
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
	prior, cross := k.Diag(b, u), k.Cross(b, u, b.Param(p.wide.Z), p.wide.Class)
	root, err := p.wide.explaining()
	if err := errors.Join(err, w.Err()); err != nil {
		return g, fmt.Errorf("fmgp: %w", err)
	}
	g.Cov = b.Sub(prior, b.Gram(b.MatMul(cross, w.Root(root, p.wide.Inducing()), false, false)))
	if p.known != nil {
		known := b.ReLU(p.writeKnown(b, b.Diag(prior), cross))
		g.Epistemic = b.Div(known, b.Affine(known, 1, p.scatter))
	}
	return g, w.Err()
}

// explaining returns Gᵀ [M,M], where GᵀG is (A⁻¹ + K_z)⁻¹.
func (l *sparseGP) explaining() ([]float64, error) {
	b := graph.NewBuilder(tensor.Float64)
	r := gp.NewRoot(b, b.Lower(b.Param(l.L)), l.Kernel.Gram(b, b.Param(l.Z), l.Class))
	if err := b.Err(); err != nil {
		return nil, err
	}
	v, err := graph.Evaluate(b, b.Transpose(r.G))
	if err != nil {
		return nil, err
	}
	return v[0], nil
}
