package law

import (
	"fmt"

	"github.com/go-valla/valla/graph"
)

// Write writes h(x) [B,1] of the features x [B,D], finite numbers, as nodes. The name tells several laws in a graph apart.
func (o *OwnScale) Write(b *graph.Builder, name string, x *graph.Node) *graph.Node {
	d, m := len(o.Mean), len(o.Bias)
	row := func(what string, v []float64) *graph.Node { return b.Const(name+" "+what, v, 1, len(v)) }
	u := b.Clip(b.Mul(b.Sub(x, row("mean", o.Mean)), row("inverse", o.Inverse)), -bound, bound)
	h := b.Affine(b.MatMul(u, b.Const(name+" linear", o.Linear, d, 1), false, false), 1, -o.Offset)
	if m > 0 {
		slopes := make([]float64, d*m)
		for i, feature := range o.Inputs {
			slopes[feature*m+i/inputsPerUnit] += o.Slopes[i]
		}
		sums := b.Add(b.MatMul(u, b.Const(name+" slopes", slopes, d, m), false, false), row("bias", o.Bias))
		h = b.Add(h, b.MatMul(b.Tanh(sums), b.Const(name+" output", o.Output, m, 1), false, false))
	}
	return b.Clip(h, o.Lowest, o.Highest)
}

// WriteAll writes the own scales [B,T] of laws, whose features follow from x [B,D] by the function features, [B,D+2] for each target.
func WriteAll(b *graph.Builder, laws []Law, examples int, features func(t int) *graph.Node) *graph.Node {
	parts := make([]*graph.Node, len(laws))
	for t := range laws {
		if parts[t] = b.Fill(0, examples, 1); laws[t].Own != nil {
			parts[t] = laws[t].Own.Write(b, fmt.Sprint("law ", t), features(t))
		}
	}
	return b.Concat(1, parts...)
}
