package sum

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// problems returns the problems of gptest for a multilayer perceptron in float64.
func problems(t *testing.T) (out []gptest.Problem) {
	t.Helper()
	all := small.Must(t, gptest.Problems)
	for _, p := range all {
		if strings.HasPrefix(p.Name, "MLP") && p.Dtype() == tensor.Float64 {
			out = append(out, p)
		}
	}
	return out
}

// TestWithoutGAPA: without GAPA's variance the sum is VaLLA, times its factor.
func TestWithoutGAPA(t *testing.T) {
	for _, p := range problems(t) {
		few := valla.Settings{Inducing: 5, Iterations: 30, BatchSize: 8}
		sum := small.Fit(t, &Settings{Settings: few, Options: gapa.Options{Factor: 1e-300}}, p.Problem, gp.Run{Seed: 3}).Posterior
		factor, _ := sum.(*posterior).Factors()
		want := small.Predict(t, small.Fit(t, &few, p.Problem, gp.Run{Seed: 3}).Posterior, p.Probe).Cov
		kernel.Scale(want, factor, want)
		fixture.Close(t, p.Name, small.Predict(t, sum, p.Probe).Cov, want, 1e-12)
	}
}

// TestWithoutVaLLA: with a prior of no variance the sum is GAPA, times its factor.
func TestWithoutVaLLA(t *testing.T) {
	for _, p := range problems(t) {
		none := valla.Settings{Inducing: 5, Iterations: 3, BatchSize: 8, PriorStd: 1e-12, FixPrior: true}
		alone := gapa.Settings{Options: gapa.Options{Neighbours: 6, ScaleSteps: 60}}
		got, want := small.Fit(t, &Settings{Settings: none, Options: alone.Options}, p.Problem, gp.Run{Seed: 3}), small.Fit(t, &alone, p.Problem, gp.Run{Seed: 3})
		cov := small.Predict(t, want.Posterior, p.Probe).Cov
		_, factor := got.Posterior.(*posterior).Factors()
		kernel.Scale(cov, factor, cov)
		fixture.Close(t, p.Name, small.Predict(t, got.Posterior, p.Probe).Cov, cov, 1e-9)
	}
}

// TestMix: factors twice or half as large, where they are tried, do not predict the validation
// rows better.
func TestMix(t *testing.T) {
	for _, p := range problems(t) {
		s := &Settings{Settings: valla.Settings{Inducing: 5, Iterations: 30, BatchSize: 8}}
		f := small.Fit(t, s, p.Problem, gp.Run{Seed: 3})
		q := f.Posterior.(*posterior)
		a, b := q.Factors()
		best := math.Inf(1)
		lik := func(noise float64) likelihood.Likelihood {
			if noise == 0 {
				return likelihood.Softmax{}
			}
			return likelihood.NewGaussian(noise, tensor.Float64)
		}
		value := func(by mixture) float64 {
			q.terms[0].factor, q.terms[1].factor = by.valla, by.gapa
			g := small.Predict(t, q, p.Validation.X)
			y, c, sum := graph.Floats(p.Validation.Y), p.Outputs(), 0.0
			for i := range p.Validation.N() {
				cov := g.Cov[i*c*c : (i+1)*c*c]
				for k := range cov {
					if k%(c+1) > 0 {
						cov[k] = 0
					}
				}
				sum -= lik(by.noise).LogPredictive(y[i*c:(i+1)*c], g.Mean[i*c:(i+1)*c], cov)
			}
			return sum
		}
		for _, x := range []float64{0.5, 1, 2} {
			for _, z := range []float64{0.5, 1, 2} {
				best = min(best, value(mixture{x * a, z * b, f.NoiseVariance}))
			}
		}
		if got := value(mixture{a, b, f.NoiseVariance}); got > best*(1+1e-9)+1e-9 && a > 0.49 && a < 2.1 && b > 0.015 && b < 17 {
			t.Errorf("%s: loss %g, %g with other factors", p.Name, got, best)
		}
	}
}

// TestProgress: the pass over the training rows between the two fits reports how far it is.
func TestProgress(t *testing.T) {
	p := problems(t)[0]
	s, between := &Settings{Settings: valla.Settings{Inducing: 5, Iterations: 3, BatchSize: 8}}, 0
	_, err := s.Fit(t.Context(), p.Problem, gp.Run{OnProgress: func(q train.Progress) {
		if q.Done > 100 && q.Done <= 300 {
			between++
		}
	}})
	if err != nil || between == 0 {
		t.Errorf("%d reports between the fits, error %v", between, err)
	}
}

// TestInterrupted: a fit that ends within VaLLA's steps returns the sum with the best state.
func TestInterrupted(t *testing.T) {
	p := problems(t)[0]
	ctx, cancel := context.WithCancel(t.Context())
	s := &Settings{Settings: valla.Settings{Inducing: 5, Iterations: 30, BatchSize: 8}}
	f, err := s.Fit(ctx, p.Problem, gp.Run{OnProgress: func(q train.Progress) {
		if q.Done > 600 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || f == nil || f.Record.Result.Iterations >= 30 {
		t.Fatalf("fit %v, error %v", f, err)
	}
	small.Predict(t, f.Posterior, p.Probe)
}

// TestGivenFactor: a factor of GAPA that is given counts as it is, with validation rows and without.
func TestGivenFactor(t *testing.T) {
	for _, p := range problems(t) {
		for _, held := range []*gp.Examples{p.Validation, nil} {
			p.Problem.Validation = held
			s := &Settings{Settings: valla.Settings{Inducing: 5, Iterations: 3, BatchSize: 8}, Options: gapa.Options{Factor: 3}}
			_, factor := small.Fit(t, s, p.Problem, gp.Run{}).Posterior.(*posterior).Factors()
			if factor != 1 {
				t.Errorf("%s: GAPA with the factor 3 counts %g times", p.Name, factor)
			}
		}
	}
}

// TestEpistemic: of VaLLA's variance the share that VaLLA states is epistemic, and all of GAPA's;
// without a share all of both.
func TestEpistemic(t *testing.T) {
	all := []gp.Gaussian{{Mean: []float64{1}, Cov: []float64{2}, Epistemic: []float64{0.25}}, {Mean: []float64{1}, Cov: []float64{3}}}
	p, g := &posterior{terms: []term{{nil, 0.5}, {nil, 1}}, noise: 1}, gp.Gaussian{}
	p.add(all, &g)
	// VaLLA's part is 0.5·2 and the noise 1, of which a quarter; GAPA's is 3.
	if got, want := g.Epistemic[0], (0.25*2+3)/(1+3+1); math.Abs(got-want) > 1e-15 || g.Cov[0] != 4 || g.Mean[0] != 1 {
		t.Errorf("share %g, want %g; covariance %v", got, want, g.Cov)
	}
	all[0].Epistemic = nil
	if p.add(all, &g); len(g.Epistemic) > 0 {
		t.Errorf("shares %v, expected none", g.Epistemic)
	}
}

// Factors returns the factors of VaLLA's and of GAPA's covariance.
func (p *posterior) Factors() (valla, gapa float64) { return p.terms[0].factor, p.terms[1].factor }

// TestOperations: the plan has the operations of both terms.
func TestOperations(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 30, 4, 2, false)
	s := &Settings{}
	e, err := s.Estimate(t.Context(), p, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Settings.Estimate(t.Context(), p, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if !(v.Flops.Double > 0 && e.Flops.Double > v.Flops.Double && v.RowFlops.Double > 0 && e.RowFlops.Double > v.RowFlops.Double) {
		t.Errorf("operations %v and %v of a row, of VaLLA %v and %v", e.Flops, e.RowFlops, v.Flops, v.RowFlops)
	}
}
