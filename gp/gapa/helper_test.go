package gapa

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// newProblem draws n training rows and 20 validation rows of two inputs for a tanh network of
// two hidden layers with c outputs: classes, or numbers around the network's outputs.
func newProblem(t testing.TB, dt tensor.Dtype, n, c int, classes bool) gp.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(c)))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{7, 5}, Outputs: c, Activation: "tanh"}.New(dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.09, dt)}
	if classes {
		p.Likelihood = likelihood.Softmax{}
	}
	draw := func(n int) gp.Examples {
		x, y := normal(rng, dt, n, 2), make([]float64, n*c)
		for i := range y {
			y[i] = 0.3 * rng.NormFloat64()
		}
		if classes {
			clear(y)
			for i := range n {
				y[i*c+rng.IntN(c)] = 1
			}
		}
		return gp.Examples{X: x, Y: graph.Convert(dense.Of(y, n, c), dt)}
	}
	p.Train = draw(n)
	held := draw(20)
	p.Validation = &held
	return p
}

func normal(rng *rand.Rand, dt tensor.Dtype, shape ...int) *tensor.Dense {
	v := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return graph.Convert(dense.Of(v, shape...), dt)
}

func fitted(t testing.TB, s Settings, p gp.Problem) (*gp.Fitted, *posterior) {
	t.Helper()
	f, err := s.Fit(t.Context(), p, gp.Run{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	return f, f.Posterior.(*posterior)
}

func predict(t testing.TB, p gp.Posterior, x *tensor.Dense) (mean, cov []float64) {
	t.Helper()
	g, err := gp.Predict(t.Context(), p, x)
	if err != nil {
		t.Fatal(err)
	}
	return g.Mean, g.Cov
}

// valuesAt are u [N,d] at a site, and the network's outputs.
func valuesAt(t testing.TB, s shifted, x *tensor.Dense) (u *tensor.Dense, out []float64) {
	t.Helper()
	p, err := newPass(s, x.Shape()[1:], gp.Run{}.Limit(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	var all []float64
	err = p.each(t.Context(), x, func(_, n int, nodes []*tensor.Dense) error {
		all, out = dense.AppendRows(all, nodes[0], n), dense.AppendRows(out, nodes[1], n)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return graph.Convert(dense.Of(all, x.Shape()[0], s.width()), x.Dtype()), out
}

// siteAt is a place of a network, by number.
func siteAt(t testing.TB, net layers.Network, x *tensor.Dense, number int) shifted {
	t.Helper()
	s, _, err := siteOf(net, x.Shape()[1:], x.Dtype(), number)
	if err != nil {
		t.Fatal(err)
	}
	return newShifted(s, x.Dtype())
}

// Factor returns s.
func (p *posterior) Factor() float64 { return p.factor }

// Layer returns the number of the layer that has the processes.
func (p *posterior) Layer() int { return p.layer }
