package gapa

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// published is a network of the fixture's two, with the processes on one layer.
type published struct {
	fixture.Arrays
	prefix string // of the network's arrays
	layer  string // prefix of the layer's arrays
	net    layers.Sequential
	x, xt  *tensor.Dense
	site   shifted
	number int
	u, ut  *tensor.Dense
	idx    []int
}

// eachLayer runs a test for both layers of both networks.
func eachLayer(t *testing.T, test func(t *testing.T, f published)) {
	a := fixture.Load(t, "gapa")
	for prefix, phi := range map[string]layers.Activation{"reg_": "tanh", "cls_": "relu"} {
		for number := range 2 {
			t.Run(fmt.Sprint(prefix, number+1), func(t *testing.T) { test(t, load(t, a, prefix, phi, number+1)) })
		}
	}
}

func load(t *testing.T, a fixture.Arrays, prefix string, phi layers.Activation, number int) published {
	f := published{Arrays: a, prefix: prefix, layer: fmt.Sprint(prefix, "l", number, "_"), number: number}
	f.net = small.Numbered(t, a.Part(prefix), phi, tensor.Float64)
	f.x, f.xt = a.Dense(t, prefix+"X"), a.Dense(t, prefix+"Xt")
	f.site = siteAt(t, f.net, f.x, number)
	f.u, _ = valuesAt(t, f.site, f.x)
	f.ut, _ = valuesAt(t, f.site, f.xt)
	f.idx = a.Ints(t, prefix+"idx")
	return f
}

// outputs returns C, the number of biases of the last layer.
func (f published) outputs() int {
	return f.site.after[len(f.site.after)-1].Params()[1].Value.Shape()[0]
}

// memory is conditioned on the k nearest of some of the training rows.
func (f published) memory(t *testing.T, rows []int, k int) *memory {
	return &memory{index: newIndex(data.TakeRows(f.u, rows)), neighbours: k, length: f.Scalar(t, f.layer+"ell"), noise: f.Scalar(t, f.prefix+"tau")}
}

// posterior has the variances of the fixture, times a factor.
func (f published) posterior(t *testing.T, m *memory, factor float64) *posterior {
	return &posterior{
		net: f.net, site: f.site, layer: f.number, input: f.x.Shape()[1:], memory: m,
		scales: f.Floats(t, f.layer+"c2"), factor: factor, limit: gp.Run{}.Limit(),
	}
}

// TestFixtureSettings: the length-scale and the variances of the activations as published.
func TestFixtureSettings(t *testing.T) {
	eachLayer(t, func(t *testing.T, f published) {
		fixture.Close(t, "ell", []float64{firstQuartile(f.u)}, f.Floats(t, f.layer+"ell"), 1e-12)
		b := graph.NewBuilder(tensor.Float64)
		a := small.Values(t, b, f.site.phi.Forward(b, small.Given(b, "u", f.u)))[0]
		fixture.Close(t, "c2", spread(a, f.site.width(), f.Scalar(t, f.prefix+"floor")), f.Floats(t, f.layer+"c2"), 1e-12)
	})
}

// TestFixtureNeighbours: the nearest of the inducing activations.
func TestFixtureNeighbours(t *testing.T) {
	eachLayer(t, func(t *testing.T, f published) {
		k, n := f.Int(t, f.prefix+"k"), f.ut.Shape()[0]
		got, away := make([]float64, n*k), make([]float64, n*k)
		f.memory(t, f.idx, k).search(kernel.Threads(), f.ut, n, k, none, func(_, i int, found []neighbour) {
			for j, p := range found {
				got[i*k+j], away[i*k+j] = float64(p.at), p.away
			}
		})
		fixture.Close(t, "neighbours", got, graph.Floats(graph.Convert(asFloats(f.Dense(t, f.layer+"neigh")), tensor.Float64)), 0)
		fixture.Close(t, "squared distances", away, f.Floats(t, f.layer+"neigh_d2"), 1e-12)
	})
}

func asFloats(a *tensor.Dense) *tensor.Dense {
	var out []float64
	for _, v := range a.Int64s() {
		out = append(out, float64(v))
	}
	return dense.Of(out, a.Shape()...)
}

// TestFixtureVariance: r and the covariance for the conditioning sets of the fixture: the
// nearest one, the k nearest and all inducing activations, and all training rows.
func TestFixtureVariance(t *testing.T) {
	eachLayer(t, func(t *testing.T, f published) {
		n := f.ut.Shape()[0]
		for name, m := range map[string]*memory{
			"1": f.memory(t, f.idx, 1), "k": f.memory(t, f.idx, f.Int(t, f.prefix+"k")),
			"all": f.memory(t, f.idx, len(f.idx)), "exact": f.memory(t, dense.Indices(f.x.Shape()[0]), f.x.Shape()[0]),
		} {
			r, err := m.remaining(f.ut, n, none)
			if err != nil {
				t.Fatal(err)
			}
			fixture.Close(t, "r_"+name, r, f.Floats(t, f.layer+"r_"+name), 1e-9)
			if name == "1" {
				continue
			}
			mean, cov := small.Moments(t, f.posterior(t, m, 1), f.xt)
			fixture.Close(t, "g", mean, f.Floats(t, f.prefix+"g"), 1e-12)
			fixture.Close(t, "F_"+name, cov, f.Floats(t, f.layer+"F_"+name), 1e-9)
		}
	})
}

// TestFixtureBothLayers: the covariance of processes on both layers is the sum.
func TestFixtureBothLayers(t *testing.T) {
	a := fixture.Load(t, "gapa")
	for prefix, phi := range map[string]layers.Activation{"reg_": "tanh", "cls_": "relu"} {
		var sum []float64
		for number := range 2 {
			f := load(t, a, prefix, phi, number+1)
			_, cov := small.Moments(t, f.posterior(t, f.memory(t, f.idx, f.Int(t, prefix+"k")), 1), f.xt)
			if sum == nil {
				sum = make([]float64, len(cov))
			}
			kernel.Add(sum, sum, cov)
		}
		fixture.Close(t, prefix, sum, a.Floats(t, prefix+"l12_F_k"), 1e-9)
	}
}

// testSample computes the test examples of the fixture as a fit computes its samples.
func (f published) testSample(t *testing.T) *sample {
	n, c := f.xt.Shape()[0], f.outputs()
	y := f.Dense(t, f.prefix+"yt")
	if f.prefix == "cls_" {
		y = small.OneHot(f.Ints(t, "cls_yt"), c, tensor.Float64)
	} else if err := y.Reshape(n, c); err != nil {
		t.Fatal(err)
	}
	p, err := newPass(f.site, f.x.Shape()[1:], gp.Run{}.Limit(), f.site.derivatives)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSample(t.Context(), p, f.memory(t, f.idx, f.Int(t, f.prefix+"k")), gp.Examples{X: f.xt, Y: y}, nil, none, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFixtureLoss: the curve over factors from which one is chosen, the probabilities and
// the variances of targets. The derivatives of a sample are kept in float32.
func TestFixtureLoss(t *testing.T) {
	eachLayer(t, func(t *testing.T, f published) {
		if f.number != 1 {
			t.Skip("the fixture has the first layer's only")
		}
		s, noise, l := f.testSample(t), 0.0, loss{classes: f.prefix == "cls_"}
		if !l.classes {
			noise = f.Scalar(t, "reg_noise")
		}
		var curve []float64
		own := s.variances(f.Floats(t, f.layer+"c2"))
		for _, factor := range f.Floats(t, f.prefix+"scales") {
			v, _, _ := s.loss(l, own, mixture{factor: factor, noise: noise})
			curve = append(curve, v)
		}
		const tol = 1e-6
		fixture.Close(t, "nll", curve, f.Floats(t, f.prefix+"nll"), tol)
		if l.classes {
			_, cov := small.Moments(t, f.posterior(t, f.memory(t, f.idx, f.Int(t, f.prefix+"k")), 1), f.xt)
			fixture.Close(t, "probs", gp.Probit(nil, gp.Gaussian{Mean: s.mean, Cov: cov}), f.Floats(t, "cls_probs"), 1e-9)
			return
		}
		kernel.AddScalar(own, noise, own)
		fixture.Close(t, "y_var", own, f.Floats(t, "reg_y_var"), tol)
		_, out := valuesAt(t, f.site, f.x)
		y, squares := f.Floats(t, "reg_y"), 0.0
		for i := range y {
			squares += (y[i] - out[i]) * (y[i] - out[i]) / float64(len(y))
		}
		if math.Abs(squares-noise) > 1e-12*noise {
			t.Errorf("mean squared residual %g, want %g", squares, noise)
		}
	})
}
