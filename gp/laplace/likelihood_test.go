package laplace

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// bernoulli is a likelihood that no package here has: each output is the logit of a label
// 0 or 1 of its own. Its Λ is diag(p(1−p)).
type bernoulli struct{}

func (bernoulli) String() string                                                      { return "bernoulli" }
func (bernoulli) Kind() likelihood.Kind                                               { return likelihood.Binary }
func (bernoulli) Width() int                                                          { return 1 }
func (bernoulli) Check([]float64) error                                               { return nil }
func (bernoulli) Predict(int, float64, float64) likelihood.Distribution               { return nil }
func (bernoulli) LogDensityNode(*graph.Builder, *graph.Node, *graph.Node) *graph.Node { return nil }
func (bernoulli) Params() []*graph.Param                                              { return nil }
func (b bernoulli) Copy(tensor.Dtype) likelihood.Likelihood                           { return b }
func (bernoulli) LogPredictive(y, mean, cov []float64) float64 {
	return bernoulli{}.LogDensity(y, mean)
}

func (bernoulli) LogMarginal(y, mean, variance []float64) float64 {
	return bernoulli{}.LogDensity(y, mean)
}

func (bernoulli) DataTerm(*graph.Builder, *graph.Node, *graph.Node, *graph.Node, float64) *graph.Node {
	return nil
}

func (bernoulli) LogDensity(y, f []float64) (sum float64) {
	for i := range y {
		sum += y[i]*f[i] - math.Log1p(math.Exp(f[i]))
	}
	return sum
}

func (bernoulli) Gradient(dst, y, f []float64) {
	for i, v := range f {
		dst[i] = y[i] - 1/(1+math.Exp(-v))
	}
}

func (bernoulli) Curvature(dst, f []float64) {
	clear(dst)
	for i, v := range f {
		dst[i*len(f)+i] = math.Exp(v) / ((1 + math.Exp(v)) * (1 + math.Exp(v)))
	}
}

func (bernoulli) Root(w, m, f []float64) {
	for i, v := range f {
		p := 1 / (1 + math.Exp(-v))
		w[i], m[i] = p*(1-p), 0
	}
}

// labelled has labels 0 and 1 for targets.
func labelled(t testing.TB, dt tensor.Dtype, n, c int) problem {
	p := newProblem(t, 41, dt, n, 4, c)
	for i, v := range p.y.Float64s() {
		p.y.Float64s()[i] = 0
		if v > 0 {
			p.y.Float64s()[i] = 1
		}
	}
	return p
}

// Every structure and choice of weights is its definition with a likelihood from outside.
func TestLikelihoodFromOutside(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 2e-5} {
		everySpace([]int{1, 3}, func(what string, o options, c int) {
			if !noisy(o.Likelihood) {
				return // once is enough
			}
			o.Likelihood, o.NoiseStd = bernoulli{}, 0
			p := labelled(t, dt, 13, c)
			newBrute(t, p, o).check(t, label(dt, ", ", what), p.fit(t, o), tol)
		})
	}
}

// It has no noise, its hyper-parameters are found, and a file names it.
func TestLikelihoodFromOutsideStored(t *testing.T) {
	p := labelled(t, tensor.Float64, 20, 2)
	q := p.fit(t, options{Likelihood: bernoulli{}, Structure: kindKFAC})
	checkGradient(t, "bernoulli", at(t, q, 0.3, 0))
	if q.NoiseStd() != 0 || q.Header().Likelihood != "bernoulli" {
		t.Errorf("noise %g, header %+v", q.NoiseStd(), q.Header())
	}
	got, err := restorePosterior(t.Context(), p.net, bernoulli{}, store(t, q))
	if err != nil {
		t.Fatal(err)
	}
	checkSame(t, "bernoulli", got, q, p.probe)
	for _, l := range []likelihood.Likelihood{softmax, gaussianNoise, nil} {
		_, err := restorePosterior(t.Context(), p.net, l, store(t, q))
		wants(t, err, "likelihood bernoulli")
	}
	_, err = q.at(t.Context(), 1, 0.5)
	wants(t, err, "a likelihood that has no noise")
}

// The noise of a Gaussian likelihood is not used, and no likelihood is a Gaussian one.
func TestGaussianNoiseIsAnOption(t *testing.T) {
	p := newProblem(t, 42, tensor.Float64, 20, 4, 2)
	want := p.fit(t, options{})
	for _, variance := range []float64{0.01, 100} {
		got := p.fit(t, options{Likelihood: likelihood.NewGaussian(variance, tensor.Float64)})
		checkSame(t, label("variance ", variance), got, want, p.probe)
	}
	if want.Header().Likelihood != "gaussian" {
		t.Errorf("header %+v", want.Header())
	}
}

// A grid scores by the predictive density of the likelihood.
func TestGridOfLikelihoodFromOutside(t *testing.T) {
	p := labelled(t, tensor.Float64, 20, 2)
	_, tried := searchedGrid(t, p.fit(t, options{Likelihood: bernoulli{}, PriorStd: 1}), p, []gp.Candidate{{Prior: 0.5, Noise: 1}, {Prior: 2, Noise: 1}})
	g := run(t, p.net, p.x, func(b *graph.Builder, x *graph.Node) []*graph.Node { return []*graph.Node{p.net.Forward(b, x)} })[0]
	want := -bernoulli{}.LogDensity(p.y.Float64s(), g) / 20
	for _, at := range tried {
		fixture.Close(t, label(at.hyper), one(at.nll), one(want), 1e-12)
	}
}
