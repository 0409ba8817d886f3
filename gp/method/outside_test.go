package method_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/mfvi"
	"github.com/go-valla/valla/gp/sngp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// turned is a layer of another type than the project's, y = x W + b, that says nothing of itself but its outputs.
type turned struct{ of layers.Dense }

func (l turned) Params() []*graph.Param { return l.of.Params() }

func (l turned) Forward(b *graph.Builder, x *graph.Node) *graph.Node { return l.of.Forward(b, x) }

// linear is turned with what makes it a layers.Affine.
type linear struct{ turned }

func (l linear) Weights() (w, bias *graph.Param) { return l.of.W, l.of.B }

func (l linear) Apply(b *graph.Builder, x, w, bias *graph.Node) *graph.Node {
	return l.of.Apply(b, x, w, bias)
}

// full is linear with what makes it a layers.PerExample.
type full struct{ linear }

func (l full) ApplyEach(b *graph.Builder, x, w *graph.Node) *graph.Node {
	return l.of.ApplyEach(b, x, w)
}

// bend is an activation that is no layers.Site.
type bend struct{}

func (bend) Params() []*graph.Param { return nil }

func (bend) Forward(b *graph.Builder, x *graph.Node) *graph.Node { return b.Tanh(x) }

// place is bend with what makes it a layers.Site.
type place struct{ bend }

func (place) Pointwise() bool { return true }

// block is a network of two parts, a layers.Composite.
type block struct{ first, second layers.Network }

func (b block) Params() []*graph.Param { return slices.Concat(b.first.Params(), b.second.Params()) }

func (b block) Forward(g *graph.Builder, x *graph.Node) *graph.Node {
	return b.second.Forward(g, b.first.Forward(g, x))
}

func (b block) Through(_ *graph.Builder, x *graph.Node, write func(layers.Network, *graph.Node) *graph.Node) *graph.Node {
	return write(b.second, write(b.first, x))
}

// problemOf is a small regression with a network of a hidden layer of make, an activation, a
// second hidden layer of the project's and a last layer of make.
func problemOf(hidden func(layers.Dense) layers.Network, act layers.Network) gp.Problem {
	rng := rand.New(rand.NewPCG(1, 2))
	d := func(name string, in, out int) layers.Dense {
		return layers.NewDense(name, in, out, tensor.Float64, rng)
	}
	net := layers.Sequential{hidden(d("first", 2, 6)), act, d("second", 6, 5), act, hidden(d("last", 5, 1))}
	x, y := make([]float64, 2*30), make([]float64, 30)
	for i := range y {
		x[2*i], x[2*i+1] = rng.NormFloat64(), rng.NormFloat64()
		y[i] = x[2*i] * x[2*i+1]
	}
	array := func(v []float64, columns int) *tensor.Dense {
		return tensor.New(tensor.WithShape(len(v)/columns, columns), tensor.WithBacking(v))
	}
	return gp.Problem{
		Net: net, Likelihood: likelihood.NewGaussian(0.1, tensor.Float64),
		Train: gp.Examples{X: array(x, 2), Y: array(y, 1)}, Validation: &gp.Examples{X: array(x[:20], 2), Y: array(y[:10], 1)},
	}
}

func own(l layers.Dense) layers.Network { return l }

// askers are fits of methods that ask layers for more than their outputs.
func askers() map[string]gp.Settings {
	all := map[string]gp.Settings{
		"sngp": &sngp.Settings{Features: 8, Iterations: 3}, "sngp, always": &sngp.Settings{Features: 8, Iterations: 3, Spectral: "always"},
		"gapa": &gapa.Settings{},
	}
	for _, how := range []string{"flipout", "single", "per-example", "local", "none"} {
		all["mfvi, "+how] = &mfvi.Settings{Estimator: how, Samples: 3, Iterations: 3}
	}
	return all
}

// mean returns a fit's means and covariances at the training rows.
func mean(t *testing.T, s gp.Settings, p gp.Problem) []float64 {
	t.Helper()
	f := small.Fit(t, s, p, gp.Run{Seed: 3})
	g := small.Predict(t, f.Posterior, p.Train.X)
	return slices.Concat(g.Mean, g.Cov)
}

// TestLayersFromOutside: layers of another package that have what methods ask for give the bits
// that the project's layers give.
func TestLayersFromOutside(t *testing.T) {
	for name, s := range askers() {
		t.Run(name, func(t *testing.T) {
			want := mean(t, s, problemOf(own, layers.Activation("tanh")))
			got := mean(t, s, problemOf(func(l layers.Dense) layers.Network { return full{linear{turned{l}}} }, place{}))
			if !slices.Equal(got, want) {
				t.Errorf("%v\nwant %v", got, want)
			}
		})
	}
}

// TestBlocksFromOutside: methods look into a composite of another package, and bound and draw the
// layers in it as those in a list.
func TestBlocksFromOutside(t *testing.T) {
	for _, name := range []string{"sngp", "sngp, always", "mfvi, flipout", "mfvi, local"} {
		t.Run(name, func(t *testing.T) {
			p := problemOf(own, layers.Activation("tanh"))
			want := mean(t, askers()[name], p)
			n := p.Net.(layers.Sequential)
			p.Net = layers.Sequential{block{n[0], n[1]}, n[2], n[3], n[4]}
			if got := mean(t, askers()[name], p); !slices.Equal(got, want) {
				t.Errorf("%v\nwant %v", got, want)
			}
		})
	}
}

// TestRefusedLayers: a layer without what a method needs is refused by its name.
func TestRefusedLayers(t *testing.T) {
	plain := func(l layers.Dense) layers.Network { return turned{l} }
	affine := func(l layers.Dense) layers.Network { return linear{turned{l}} }
	hidden := func(l layers.Dense) layers.Network {
		if l.W.Name == "last.weight" {
			return l
		}
		return turned{l}
	}
	for _, c := range []struct {
		method string
		layer  func(layers.Dense) layers.Network
		want   string
	}{
		{"mfvi, per-example", affine, "mfvi: the layer first (method_test.linear) is not a layer with weights for each example"},
		{"sngp", plain, "sngp: random features replace the last layer: the layer last (method_test.turned) is not a dense layer"},
		{"sngp", hidden, "the layer first (method_test.turned) is not a layer whose norm can be bounded"},
		{"gapa", plain, "its layers are first (method_test.turned), method_test.bend, second (dense), method_test.bend, last (method_test.turned)"},
	} {
		_, err := askers()[c.method].Fit(t.Context(), problemOf(c.layer, bend{}), gp.Run{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", c.method, err, c.want)
		}
	}
}
