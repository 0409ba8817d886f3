package sngp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// turned is the transpose of an array of two axes.
func turned(t testing.TB, a fixture.Arrays, key string) ([]float64, tensor.Shape) {
	t.Helper()
	w, s := a.F64(t, key)
	return transposed(w, s[0], s[1]), tensor.Shape{s[1], s[0]}
}

func transposed(w []float64, rows, columns int) []float64 {
	out := make([]float64, len(w))
	kernel.Transpose(out, rows, w, columns, rows, columns)
	return out
}

// hidden is the tanh network with PyTorch's weights [out,in] and biases of the given names, and a
// last layer with c outputs, of which only the shape counts.
func hidden(t testing.TB, a fixture.Arrays, weights, biases []string, c int, dt tensor.Dtype) (net layers.Sequential) {
	t.Helper()
	units := 0
	for i, key := range weights {
		w, s := turned(t, a, key)
		units = s[1]
		net = append(net, layers.Dense{
			W: graph.NewParam(fmt.Sprint("w", i), w, dt, s...), B: graph.NewParam(fmt.Sprint("b", i), a.Floats(t, biases[i]), dt, units),
		}, layers.Activation("tanh"))
	}
	return append(net, layers.Dense{W: graph.NewParam("last.weight", make([]float64, units*c), dt, units, c), B: graph.NewParam("last.bias", make([]float64, c), dt, c)})
}

// set overwrites the elements of an array.
func set(p *graph.Param, v []float64) {
	for i, x := range v {
		p.Set(i, x)
	}
}

// fit fits settings.
func fit(t testing.TB, s Settings, p gp.Problem, r gp.Run) (*gp.Fitted, *posterior) {
	t.Helper()
	f := small.Fit(t, &s, p, r)
	return f, f.Posterior.(*posterior)
}

// trial is a fit by hand, with the parts of a fixture in place of random ones.
func trial(t testing.TB, net layers.Network, s Settings, x, y *tensor.Dense, classes bool) *fitting {
	t.Helper()
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(1, x.Dtype()), Train: gp.Examples{X: x, Y: y}}
	if classes {
		p.Likelihood = likelihood.Softmax{}
	}
	s.Iterations, s.LengthScale, s.Head = 1, 1, headRandom
	f := &fitting{p: p}
	var err error
	if f.s, err = s.complete(p); err != nil {
		t.Fatal(err)
	}
	if err := f.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// nodes returns the graph nodes of parameters.
func nodes(b *graph.Builder, params []*graph.Param) []*graph.Node {
	out := make([]*graph.Node, len(params))
	for i, p := range params {
		out[i] = b.Param(p)
	}
	return out
}
