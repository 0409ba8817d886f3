package sfr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// newProblem draws n training rows and 9 validation rows of two inputs for a tanh network of
// one hidden layer with c outputs: classes, or numbers.
func newProblem(t testing.TB, seed uint64, dt tensor.Dtype, n, hidden, c int, classes bool) gp.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{hidden}, Outputs: c, Activation: "tanh"}.New(dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.09, dt)}
	if classes {
		p.Likelihood = likelihood.Softmax{}
	}
	draw := func(n int) gp.Examples {
		x, y := make([]float64, 2*n), make([]float64, n*c)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		if classes {
			clear(y)
			for i := range n {
				y[i*c+rng.IntN(c)] = 1
			}
		}
		return gp.Examples{X: graph.Convert(dense.Of(x, n, 2), dt), Y: graph.Convert(dense.Of(y, n, c), dt)}
	}
	p.Train = draw(n)
	held := draw(9)
	p.Validation = &held
	return p
}

// fitted fits with the given points.
func fitted(t testing.TB, p gp.Problem, s Settings, points *tensor.Dense) *posterior {
	t.Helper()
	c, err := s.complete(p)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fitAt(t.Context(), p, gp.Run{}, c, points)
	if err != nil {
		t.Fatal(err)
	}
	return f.Posterior.(*posterior)
}

// firstRows are the first n training inputs.
func firstRows(p gp.Problem, n int) *tensor.Dense { return data.TakeRows(p.Train.X, numbers(n)) }

func numbers(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func predict(t testing.TB, p gp.Posterior, x *tensor.Dense) (mean, cov []float64) {
	t.Helper()
	g, err := gp.Predict(t.Context(), p, x)
	if err != nil {
		t.Fatal(err)
	}
	return g.Mean, g.Cov
}

// diagonal are the variances [n,C] of covariances [n,C,C].
func diagonal(cov []float64, c int) (out []float64) {
	for i := range len(cov) / c {
		out = append(out, cov[i*c+i%c])
	}
	return out
}

// published is the tanh network with PyTorch's weights net.0.weight [out,in], net.0.bias,
// net.2.weight, … after a prefix.
func published(t testing.TB, a fixture.Arrays, prefix string) (net layers.Sequential) {
	for i := 0; a.Has(fmt.Sprint(prefix, "net.", i, ".weight")); i += 2 {
		if i > 0 {
			net = append(net, layers.Activation("tanh"))
		}
		name := fmt.Sprint(prefix, "net.", i)
		w, s := a.F64(t, name+".weight")
		turned := make([]float64, len(w))
		kernel.Transpose(turned, s[0], w, s[1], s[0], s[1])
		net = append(net, layers.Dense{
			W: graph.NewParam(name+".weight", turned, tensor.Float64, s[1], s[0]),
			B: &graph.Param{Name: name + ".bias", Value: a.Dense(t, name+".bias")},
		})
	}
	return net
}

// oneHot are the rows of labels.
func oneHot(labels []int, c int) *tensor.Dense {
	v := make([]float64, len(labels)*c)
	for i, k := range labels {
		v[i*c+k] = 1
	}
	return dense.Of(v, len(labels), c)
}

// PriorStd returns σ₀.
func (p *posterior) PriorStd() float64 { return p.prior }
