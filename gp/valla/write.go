package valla

import (
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	if err := p.solve(); err != nil {
		return gp.Written{}, err
	}
	mean := p.net.Forward(w.Net, w.X)
	kernels, seeds := p.layer.kernels(p.likeliest, w.Net, w.X, mean, false)
	g := gp.Written{Mean: w.Carry(mean)}
	if err := w.Err(); err != nil {
		return g, err
	}
	diag, cross := w.Carry(kernels[0]), w.Carry(kernels[1])
	b := w.Out
	if g.Cov = b.Scale(b.Sub(diag, b.Gram(p.at.explained(w, cross))), p.at.s); seeds != nil {
		g.Cov = w.Widen(g.Cov, w.Carry(seeds))
	}
	if p.known == nil {
		return g, w.Err()
	}
	known := p.known.write(w, b.Diag(diag), cross)
	g.Epistemic = b.Div(known, b.Affine(known, 1, p.scatter))
	return g, w.Err()
}

// write writes the diagonal of Q [B,C], none below 0, for κ̂ [B,C] and k̂ [B,C,M].
func (a *system) write(w *gp.Writing, prior, cross *graph.Node) *graph.Node {
	b := w.Out
	if b.Err() != nil {
		return nil
	}
	n, c := prior.Shape()[0], prior.Shape()[1]
	explained := b.Reshape(b.SumAxis(b.Square(a.explained(w, cross)), -1), n, c)
	return b.ReLU(b.Scale(b.Sub(prior, explained), a.s))
}

// explained writes w = k̂ Λ [B,C,M].
func (a *system) explained(w *gp.Writing, cross *graph.Node) *graph.Node {
	return w.Out.MatMul(cross, w.Lower(a.root, a.m), false, false)
}
