package moe

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

var _ gp.Writer = (*posterior)(nil)

// Write implements gp.Writer. All experts answer at all inputs, and the answers of all but one are multiplied by 0.
func (p *posterior) Write(w *gp.Writing) (gp.Written, error) {
	answers := p.gate.writeAnswers(w, p)
	var g gp.Written
	for e, q := range p.experts {
		own, err := gp.Write(q, w)
		if err != nil {
			return g, fmt.Errorf("moe: expert %d of %d: %w", e+1, len(p.experts), err)
		}
		mean, cov := own.Mean, own.Cov
		if len(p.experts) > 1 {
			b := w.Out
			mean = b.Mul(mean, answers[e])
			cov = b.Mul(cov, b.Reshape(answers[e], mean.Shape()[0], 1, 1))
		}
		g.Mean, g.Cov = w.Out.Plus(g.Mean, mean), w.Out.Plus(g.Cov, cov)
	}
	return g, w.Err()
}

// writeAnswers writes for each expert 1 where it answers and 0 elsewhere, [B,1].
func (g *gate) writeAnswers(w *gp.Writing, p *posterior) (answers []*graph.Node) {
	b, x := w.Out, w.Carry(w.X)
	if w.Err() != nil {
		return nil
	}
	if g.edges != nil {
		return g.writeCells(b, b.Reshape(x, x.Shape()[0], 1))
	}
	k := w.Carry(g.writeAt(w.Net, p.net, w.X))
	if w.Err() != nil {
		return nil
	}
	return g.writeNearest(w, k)
}

// writeCells: expert e answers from edge e−1 on, below edge e.
func (g *gate) writeCells(b *graph.Builder, x *graph.Node) (answers []*graph.Node) {
	one := b.Affine(x, 0, 1)
	before := one // the input is not below the last edge
	for _, edge := range g.edges {
		from := b.Affine(b.Step(b.Affine(x, -1, edge)), -1, 1)
		answers, before = append(answers, b.Sub(before, from)), from
	}
	return append(answers, before)
}

// writeNearest: the expert with the nearest centre answers, the first of several. k are rows of the kernel [B,m].
func (g *gate) writeNearest(w *gp.Writing, k *graph.Node) (answers []*graph.Node) {
	b, n, m, e := w.Out, k.Shape()[0], len(g.means), g.experts()
	all := 0.0
	for _, v := range g.means {
		all += v / float64(m)
	}
	own := b.Scale(b.SumAxis(k, 1), 1/float64(m))
	centred := b.Sub(b.Affine(b.Sub(k, w.Const(g.means, 1, m)), 1, all), own)
	at := b.Reshape(b.MatMul(centred, w.Const(slices.Clone(g.turn), m, scores), false, false), n, 1, scores)
	away := b.Reshape(b.SumAxis(b.Square(b.Sub(at, w.Const(slices.Clone(g.centres), 1, e, scores))), 2), n, e)
	for i := range e {
		own, here := b.Slice(away, 1, i, i+1), b.Affine(b.SumAxis(away, 1), 0, 1)
		for j := range e {
			other := b.Slice(away, 1, j, j+1)
			switch {
			case j < i: // nearer
				here = b.Mul(here, b.Step(b.Sub(other, own)))
			case j > i: // not farther
				here = b.Mul(here, b.Affine(b.Step(b.Sub(own, other)), -1, 1))
			}
		}
		answers = append(answers, here)
	}
	return answers
}
