package laplace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/train"
	"gonum.org/v1/gonum/optimize"
)

// ascent finds hyper-parameters by steps of Adam up the marginal likelihood, as published
// code does. The steps start at σ₀ = σ = 1 and are made in the logarithms of the prior
// precisions 1/σ₀² and of σ. Without an Ascent hyper-parameters are at the maximum.
type ascent struct {
	Rate  float64 // of Adam; 0: 0.1. The VaLLA paper's runs have 1e-3
	Steps int     // 0: 100. Each takes a factorisation
}

func (a *ascent) check() error {
	if a != nil && (!(a.Rate >= 0) || math.IsInf(a.Rate, 0) || a.Steps < 0) {
		return fmt.Errorf("laplace: ascent at the rate %g for %d steps, expected positive numbers, or 0 for the default", a.Rate, a.Steps)
	}
	return nil
}

// complete returns the ascent with its defaults filled in.
func (a *ascent) complete() ascent { return ascent{cmp.Or(a.Rate, 0.1), cmp.Or(a.Steps, 100)} }

// maximise returns h with the hyper-parameters that it leaves free at the maximum.
//
// As a function of all log σ_l and log σ the marginal likelihood is concave: det(I +
// Σ_l σ_l²/σ² H_l) is a polynomial in the σ_l²/σ² whose coefficients are not negative,
// so that its logarithm is a convex function of theirs; the other terms are linear or
// negative exponentials. There is one maximum at most, and every way up leads there.
func (p *posterior) maximise(ctx context.Context, h hyper) (hyper, error) {
	if !h.free() {
		return h, nil
	}
	if p.ascent != nil {
		return p.climb(ctx, h)
	}
	one := hyper{h.prior[:1], h.noise}
	if len(h.prior) > 1 {
		one.prior = []float64{0}
		if err := p.solvable(h); err != nil {
			return h, err
		}
	}
	at, err := p.spectrum(ctx)
	if err != nil {
		return h, err
	}
	best, err := p.evidence.maximise(one, p.guess(), func(s float64) (float64, error) {
		_, gamma, err := at(s)
		return gamma, err
	})
	if err != nil || len(h.prior) == 1 {
		return best, err
	}
	return p.ascend(ctx, h, best)
}

// spectrum gives log det(I + H/s) and γ = tr H (H + sI)⁻¹ as functions of s, for one prior standard
// deviation.
type spectrum func(s float64) (logDet, effective float64, err error)

// spectrum returns the spectrum of H.
func (p *posterior) spectrum(ctx context.Context) (spectrum, error) {
	if g, ok := p.structure.(interface {
		spectrum(context.Context) (spectrum, error)
	}); ok {
		return g.spectrum(ctx)
	}
	return func(s float64) (float64, float64, error) {
		f, err := p.solve(ctx, scales{s: s})
		if err != nil {
			return 0, 0, err
		}
		return f.logDet(), f.effective(ctx), ctx.Err()
	}, nil
}

// solvable returns an error where a part of the prior has no best standard deviation.
func (p *posterior) solvable(h hyper) error {
	for l, v := range h.prior {
		if v == 0 && p.evidence.weights[l] == 0 {
			return fmt.Errorf("laplace: all weights of %q are 0, so the marginal likelihood has no maximum in their prior variance", p.prior.names[l])
		}
	}
	return nil
}

// search is minus the marginal likelihood as a function of z, the logarithms of the
// hyper-parameters that are free in h: first prior standard deviations, then the noise.
type search struct {
	*posterior                 // whose evidence is maximised
	ctx        context.Context // of the search
	h          hyper           // 0 where free
	one        spectrum        // if the prior has one standard deviation

	at    []float64 // where the following are known
	value float64   // minus the log marginal likelihood at the place at
	slope []float64 // the derivatives of value
	err   error     // the first
}

// put returns h with the free hyper-parameters at z.
func (s *search) put(z []float64) hyper {
	out := hyper{slices.Clone(s.h.prior), s.h.noise}
	next := func(v *float64) {
		if *v == 0 {
			*v, z = math.Exp(z[0]), z[1:]
		}
	}
	for l := range out.prior {
		next(&out.prior[l])
	}
	next(&out.noise)
	return out
}

// take returns those elements of v, which holds logarithms, that are free in h.
func (s *search) take(v hyper) (z []float64) {
	for l, p := range s.h.prior {
		if p == 0 {
			z = append(z, v.prior[l])
		}
	}
	if s.h.noise == 0 {
		z = append(z, v.noise)
	}
	return z
}

// evaluate computes value and slope at z. The value is infinite where the matrix cannot be
// factored.
func (s *search) evaluate(z []float64) {
	if s.err != nil || s.at != nil && slices.Equal(s.at, z) {
		return
	}
	s.at, s.value, s.slope = slices.Clone(z), math.Inf(1), make([]float64, len(z))
	h := s.put(z)
	if h.check(true) != nil {
		return
	}
	logDet, effective, err := s.terms(h)
	if err != nil {
		if !errors.As(err, new(*graph.NotPositiveDefiniteError)) {
			s.err = err
		}
		return
	}
	prior, noise := s.evidence.gradient(h, effective)
	s.value = -s.evidence.value(h, logDet)
	s.slope = s.take(hyper{prior, noise})
	for i := range s.slope {
		s.slope[i] = -s.slope[i]
	}
}

// terms returns log det(I + THT/s) and γ by part of the prior.
func (s *search) terms(h hyper) (logDet float64, effective []float64, err error) {
	if len(h.prior) == 1 {
		logDet, gamma, err := s.one(h.ratio())
		return logDet, []float64{gamma}, err
	}
	f, err := s.solve(s.ctx, h.scales(s.prior))
	if err != nil {
		return 0, nil, err
	}
	return f.logDet(), s.prior.sums(f.shares(s.ctx)), s.ctx.Err()
}

// ascend goes to the maximum. It starts at the best hyper-parameters with one prior standard
// deviation for all.
func (p *posterior) ascend(ctx context.Context, h, start hyper) (hyper, error) {
	s := &search{posterior: p, ctx: ctx, h: h}
	from := s.take(uniform(math.Log(start.prior[0]), math.Log(start.noise), len(h.prior)))
	if err := s.determined(from); err != nil {
		return h, err
	}
	const enough = 1e-6 // of the size of the terms that cancel in a slope
	tol := enough * min(1, p.guess())
	res, err := optimize.Minimize(optimize.Problem{
		Func:   func(z []float64) float64 { s.evaluate(z); return s.value },
		Grad:   func(grad, z []float64) { s.evaluate(z); copy(grad, s.slope) },
		Status: func() (optimize.Status, error) { return optimize.NotTerminated, s.err },
	}, from, &optimize.Settings{GradientThreshold: tol / 1e3, MajorIterations: 1000, Converger: optimize.NeverTerminate{}}, &optimize.BFGS{})
	if s.err != nil {
		return h, s.err
	}
	// Near the maximum the value stops changing before the slope is 0, which the
	// optimiser takes for a failure.
	s.evaluate(res.X)
	for _, v := range s.slope {
		if !(math.Abs(v) <= tol) {
			return h, fmt.Errorf("laplace: no maximum of the marginal likelihood found near the standard deviations %s: slope %g (%v, %w)", list(append(s.put(res.X).prior, s.put(res.X).noise)), v, res.Status, err)
		}
	}
	return s.put(res.X), nil
}

// determined checks that the data determine weights in each free part of the prior.
func (s *search) determined(z []float64) error {
	f, err := s.solve(s.ctx, s.put(z).scales(s.prior))
	if err != nil {
		return err
	}
	const nothing = 1e-12 // of all weights, beyond rounding
	gammas := s.prior.sums(f.shares(s.ctx))
	if err := s.ctx.Err(); err != nil {
		return err
	}
	for l, gamma := range gammas {
		if s.h.prior[l] == 0 && gamma < nothing*float64(s.scan.params) {
			return fmt.Errorf("laplace: the marginal likelihood has no maximum: the data determine %g weights of %q, expected more than 0", gamma, s.prior.names[l])
		}
	}
	return nil
}

// climb makes the steps of an Ascent.
func (p *posterior) climb(ctx context.Context, h hyper) (hyper, error) {
	s := &search{posterior: p, ctx: ctx, h: h}
	if len(h.prior) == 1 {
		var err error
		if s.one, err = p.spectrum(ctx); err != nil {
			return h, err
		}
	}
	a := p.ascent.complete()
	n, rate, steps := len(s.take(h)), a.Rate, a.Steps
	// In log 1/σ₀² = −2 log σ₀ Adam makes steps half as long in log σ₀.
	z, grad, prior := make([]float64, n), make([]float64, n), n
	if h.noise == 0 {
		prior--
	}
	var params []train.Param
	var optimizers []*train.Adam
	add := func(name string, lo, hi int, rate float64) {
		if lo < hi {
			params = append(params, train.Param{Name: name, Value: dense.Of(z[lo:hi:hi], hi-lo), Grad: dense.Of(grad[lo:hi:hi], hi-lo)})
			optimizers = append(optimizers, &train.Adam{LR: rate})
		}
	}
	add("log prior std", 0, prior, rate/2)
	add("log noise std", prior, n, rate)
	for range steps {
		s.evaluate(z)
		if err := cmp.Or(s.err, ctx.Err()); err != nil {
			return h, err
		}
		copy(grad, s.slope)
		for i, o := range optimizers {
			if err := o.Step(params[i:i+1], 1); err != nil {
				return h, fmt.Errorf("laplace: ascent: %w", err)
			}
		}
	}
	return s.put(z), nil
}
