package laplace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// each is AtEach that has to succeed.
func each(t *testing.T, p *posterior, stds []float64, noise float64) *posterior {
	t.Helper()
	q, err := p.AtEach(t.Context(), stds, noise)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// everySpace calls f for all members of the family and, of those that have one, both
// spaces.
func everySpace(outputs []int, f func(what string, o options, c int)) {
	everyMember(outputs, func(what string, o options, c int) {
		if o.Structure != kindFull && o.Structure != kindLowRank {
			f(what, o, c)
			return
		}
		for name, space := range spaces {
			o.Space = space
			f(what+", "+name, o, c)
		}
	})
}

// spread are n prior standard deviations that differ.
func spread(n int) (out []float64) {
	for i := range n {
		out = append(out, 0.3*math.Pow(2, float64(i)))
	}
	return out
}

// Every member with several prior standard deviations is its definition, but a low
// rank: what is cut off are the eigenvectors of H, not of THT.
func TestPriorsDefinition(t *testing.T) {
	for _, priors := range []priorsKind{priorsPerLayer, priorsPerParameter} {
		everySpace([]int{3}, func(what string, o options, c int) {
			o.Priors = priors
			p := problemFor(t, o, 41, tensor.Float64, 13, 4, c)
			q := p.fit(t, o)
			want := newBrute(t, p, o)
			stds := spread(len(q.Priors()))
			want.stds = nil
			for i, k := range q.scan.blocks {
				want.stds = append(want.stds, slices.Repeat(stds[q.prior.of[i]:][:1], k.size())...)
			}
			want.check(t, label(priors, ", ", what), each(t, q, stds, o.NoiseStd), 1e-9)
		})
	}
}

func TestPriorNames(t *testing.T) {
	p := newProblem(t, 42, tensor.Float64, 5, 3, 1)
	for priors, want := range map[priorsKind][]string{
		priorsShared: {"all"}, priorsPerLayer: {"dense1", "dense2"},
		priorsPerParameter: {"dense1.weight", "dense1.bias", "dense2.weight", "dense2.bias"},
	} {
		q := p.fit(t, options{Priors: priors, PriorStd: 1, NoiseStd: 1})
		if !slices.Equal(q.Priors(), want) || len(q.PriorStds()) != len(want) {
			t.Errorf("%v: %q with %v", priors, q.Priors(), q.PriorStds())
		}
	}
	p.net = layers.Sequential{root{graph.NewParam("plain", []float64{2}, tensor.Float64, 1)}}
	q, err := fitOptions(t.Context(), p.net, dense.Of([]float64{1, 2}, 2, 1), dense.Of([]float64{1, 2}, 2, 1), options{Priors: priorsPerLayer, PriorStd: 1, NoiseStd: 1})
	if err != nil || !slices.Equal(q.Priors(), []string{"plain"}) {
		t.Errorf("a parameter without a layer: %v, error %v", q, err)
	}
}

// Where all are equal they are one: predictions, marginal likelihood, and the sum of
// the derivatives.
func TestEqualPriorsAreOne(t *testing.T) {
	everySpace([]int{2}, func(what string, o options, c int) {
		p := problemFor(t, o, 43, tensor.Float64, 13, 4, c)
		want := p.fit(t, o)
		o.Priors = priorsPerParameter
		got := p.fit(t, o)
		comparePosteriors(t, what, got, want, p.probe)
		slopes, noise := got.LogMarginalLikelihoodGradient()
		slope, wantNoise := want.LogMarginalLikelihoodGradient()
		sum := 0.0
		for _, v := range slopes {
			sum += v
		}
		fixture.Close(t, what+": gradient", []float64{sum, noise}, []float64{slope[0], wantNoise}, 1e-9)
	})
}

// The gradient is the gradient by differences.
func TestPriorsGradient(t *testing.T) {
	const h = 1e-4 // central differences in the logarithms: errors of h² and ε/h
	everySpace([]int{1, 2}, func(what string, o options, c int) {
		o.Priors = priorsPerParameter
		p := problemFor(t, o, 44, tensor.Float64, 20, 5, c).fit(t, o)
		stds := spread(len(p.Priors()))
		got, _ := each(t, p, stds, o.NoiseStd).LogMarginalLikelihoodGradient()
		for i := range stds {
			moved := func(by float64) float64 {
				s := slices.Clone(stds)
				s[i] *= math.Exp(by)
				return each(t, p, s, o.NoiseStd).LogMarginalLikelihood()
			}
			want := (moved(h) - moved(-h)) / (2 * h)
			if math.Abs(got[i]-want) > 1e-6*max(1, math.Abs(want)) {
				t.Errorf("%s: derivative %d is %g, differences give %g", what, i, got[i], want)
			}
		}
	})
}

// At the maximum no derivative is left, and every step away is down. The maximum is higher than
// the maximum with one prior for all weights. What is fixed stays.
func TestPriorsMaximum(t *testing.T) {
	everySpace([]int{2}, func(what string, o options, c int) {
		p := problemFor(t, o, 45, tensor.Float64, 30, 5, c)
		if o.PriorStd, o.NoiseStd = 0, 0; o.Structure == kindLowRank {
			o.Rank = 8
		}
		shared := p.fit(t, o)
		o.Priors = priorsPerParameter
		best := p.fit(t, o)
		if shared.LogMarginalLikelihood() >= best.LogMarginalLikelihood() {
			t.Errorf("%s: %g with one prior, %g with several", what, shared.LogMarginalLikelihood(), best.LogMarginalLikelihood())
		}
		checkTop(t, what, best)
		fixed := best.PriorStds()
		clear(fixed[1:])
		fixed[0] *= 2
		held := each(t, best, fixed, best.NoiseStd())
		if held.PriorStd() != fixed[0] || held.NoiseStd() != best.NoiseStd() {
			t.Errorf("%s: what was fixed became %g and %g", what, held.PriorStd(), held.NoiseStd())
		}
		slopes, _ := held.LogMarginalLikelihoodGradient()
		for i, v := range slopes[1:] {
			if math.Abs(v) > 1e-5 {
				t.Errorf("%s: with one fixed, derivative %d is %g", what, i+1, v)
			}
		}
	})
}

func checkTop(t *testing.T, what string, p *posterior) {
	t.Helper()
	slopes, noise := p.LogMarginalLikelihoodGradient()
	for i, v := range append(slopes, noise) {
		if !p.evidence.noisy() && i == len(slopes) {
			continue
		}
		if math.Abs(v) > 1e-5 { // of terms of order N
			t.Errorf("%s: derivative %d is %g at the maximum", what, i, v)
		}
		for _, step := range []float64{-0.1, 0.1} {
			stds, sigma := p.PriorStds(), p.NoiseStd()
			if i < len(stds) {
				stds[i] *= math.Exp(step)
			} else {
				sigma *= math.Exp(step)
			}
			if there := each(t, p, stds, sigma).LogMarginalLikelihood(); there >= p.LogMarginalLikelihood() {
				t.Errorf("%s: %g at %v is not below the maximum %g", what, there, stds, p.LogMarginalLikelihood())
			}
		}
	}
}

// With small enough steps Adam ends where the search does, for any number of priors.
func TestAscent(t *testing.T) {
	for _, priors := range []priorsKind{priorsShared, priorsPerLayer} {
		for _, l := range []likelihood.Likelihood{gaussianNoise, likelihood.Softmax{}} {
			o := options{Structure: kindKFAC, Likelihood: l, Priors: priors}
			p := problemFor(t, o, 46, tensor.Float64, 30, 5, 3)
			want := p.fit(t, o)
			o.Ascent = &ascent{Rate: 0.02, Steps: 3000}
			got := p.fit(t, o)
			fixture.Close(t, label(priors, ", ", l), append(got.PriorStds(), got.NoiseStd()), append(want.PriorStds(), want.NoiseStd()), 1e-4)
		}
	}
}

// Adam's first step has the length of the rate whatever the gradient: in log 1/σ₀² and
// in log σ.
func TestAscentFirstStep(t *testing.T) {
	p := newProblem(t, 47, tensor.Float64, 30, 5, 1)
	for rate, o := range map[float64]options{0.1: {Ascent: &ascent{Steps: 1}}, 1e-3: {Ascent: &ascent{Rate: 1e-3, Steps: 1}}} {
		q := p.fit(t, o)
		got := []float64{math.Abs(2 * math.Log(q.PriorStd())), math.Abs(math.Log(q.NoiseStd()))}
		fixture.Close(t, fmt.Sprint(rate), got, []float64{rate, rate}, 1e-6)
	}
}

func TestPriorsErrors(t *testing.T) {
	p := newProblem(t, 48, tensor.Float64, 20, 4, 1)
	q := p.fit(t, options{Priors: priorsPerLayer, PriorStd: 1, NoiseStd: 1})
	_, err := q.AtEach(t.Context(), []float64{1, 2, 3}, 1)
	wants(t, err, `3 prior standard deviations, expected 2, for ["dense1" "dense2"]`)
	_, err = q.AtEach(t.Context(), []float64{1, -2}, 1)
	wants(t, err, "prior standard deviation 1 -2")
	for i := range p.net.Params()[3].Floats() {
		p.net.Params()[3].Set(i, 0)
	}
	_, err = fitOptions(t.Context(), p.net, p.x, p.y, options{Priors: priorsPerParameter})
	wants(t, err, `all weights of "dense2.bias" are 0`)
	zeros := dense.Of(make([]float64, 40), 20, 2)
	_, err = fitOptions(t.Context(), newProblem(t, 48, tensor.Float64, 20, 4, 1).net, zeros, p.y, options{Priors: priorsPerParameter})
	wants(t, err, `weights of "dense1.weight", expected more than 0`)
	ended := errors.New("stop")
	s := &search{posterior: q, ctx: t.Context(), h: hyper{[]float64{0, 0}, 1}, err: ended}
	if s.evaluate([]float64{0, 0}); s.at != nil {
		t.Error("a search goes on after an error")
	}
}
