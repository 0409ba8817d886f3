package task

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// Transformed returns the regression r with a target transform, see [Transform]: each target has the transform with the
// name, fitted to the rows of a set. Targets that r standardises are standardised after the transform. It is an error if
// the targets are no real numbers, or if the transform does not take a target of set, which the error names.
func (r *Regression) Transformed(set, rows *data.Set, name string) (*Regression, error) {
	if l := r.model(); l.Kind() != likelihood.Number {
		return nil, settings.Errorf("target transform %q of %s of the likelihood %v, expected targets that are real numbers", name, r.kind(), l)
	}
	out := *r
	out.Transforms = nil
	for _, y := range out.numbers(rows) {
		t, err := FitTransform(name, y)
		if err != nil {
			return nil, err
		}
		out.Transforms = append(out.Transforms, t)
	}
	if err := out.checkTargets(set.Y); err != nil || r.Std == nil {
		return &out, err
	}
	return &out, out.standardize(rows)
}

// numbers returns the numbers of the targets of a set that have the units of the target, for each target.
func (r *Regression) numbers(set *data.Set) [][]float64 {
	out := make([][]float64, r.size())
	r.rescale(graph.Floats(set.Y), func(t int, v float64) float64 {
		out[t] = append(out[t], v)
		return v
	})
	return out
}

// transform returns T(v) of target t, which is v where the targets have no transforms.
func (r *Regression) transform(t int, v float64) float64 {
	if r.Transforms == nil {
		return v
	}
	return r.Transforms[t].Apply(v)
}

// invert is the inverse of transform.
func (r *Regression) invert(t int, u float64) float64 {
	if r.Transforms == nil {
		return u
	}
	return r.Transforms[t].Invert(u)
}

// checkTransforms returns an error if the transforms are wrong.
func (r *Regression) checkTransforms() error {
	switch {
	case r.Transforms == nil:
		return nil
	case len(r.Transforms) != r.size():
		return fmt.Errorf("%d target transforms of %d targets, expected one for each", len(r.Transforms), r.size())
	case r.model().Kind() != likelihood.Number:
		return fmt.Errorf("target transforms of the likelihood %v, expected none", r.model())
	}
	for i, t := range r.Transforms {
		if err := t.check(); err != nil {
			return fmt.Errorf("targets: %q: %w", r.labels()[i], err)
		}
	}
	return nil
}

// checkDomain returns an error that names the first of the targets y [N,T·W] which its transform does not take.
func (r *Regression) checkDomain(y *tensor.Dense) (err error) {
	if r.Transforms == nil {
		return nil
	}
	l, w, values := r.model(), r.width(), graph.Floats(y)
	for i := 0; i < len(values) && err == nil; i += w {
		likelihood.Rescale(l, values[i:i+w], func(v float64) float64 {
			if bad := r.Transforms[i/w%len(r.Transforms)].refuses(v); bad != nil && err == nil {
				err = r.badTarget(i, bad)
			}
			return v
		})
	}
	return err
}

// fillTransformed sets p to the prediction of targets of which in is the prediction of T(target).
func (r *Regression) fillTransformed(in, p *Prediction) {
	n := len(in.Mean)
	*p = Prediction{
		Targets: in.Targets, Mean: dense.Resized(p.Mean, n), Variance: dense.Resized(p.Variance, n), Latent: dense.Resized(p.Latent, n),
		Epistemic: dense.Resized(p.Epistemic, n), Aleatoric: dense.Resized(p.Aleatoric, n), spread: spreads{of: r, under: in},
	}
	for i := range in.Mean {
		p.fillValue(i)
	}
}

// fillValue sets the numbers of value i of a prediction of transformed targets. The parts of the variance have the same
// shares as in the variance of T(target); where a variance is infinite, they come from the slope of T⁻¹.
func (p *Prediction) fillValue(i int) {
	s, in := &p.spread, p.spread.under
	t := s.transform(i)
	mean, variance := in.momentsOf(i, t)
	if at := in.cdf(i, t.Apply(mean)); !(at > tail && at < 1-tail) {
		mean, variance = t.Invert(in.quantile(i, 0.5)), math.Inf(1)
		s.medians++
	}
	p.Mean[i], p.Variance[i] = mean, variance
	if share := variance / in.Variance[i]; share > 0 && !math.IsInf(share, 1) {
		p.Latent[i], p.Epistemic[i], p.Aleatoric[i] = share*in.Latent[i], share*in.Epistemic[i], share*in.Aleatoric[i]
		return
	}
	square := min(math.Exp(-2*t.LogSlope(t.Invert(in.Mean[i]))), math.MaxFloat64)
	p.Latent[i], p.Epistemic[i] = min(square*in.Latent[i], math.MaxFloat64), min(square*in.Epistemic[i], math.MaxFloat64, variance)
	p.Aleatoric[i] = variance - p.Epistemic[i]
}

// tail is the probability of a tail. A mean in a tail says nothing about where targets are.
const tail = 0.005

// Medians returns how many numbers of Mean are medians, because the target has no mean, or one that the last half per
// cent of its distribution dominates. Their Variance is +Inf. Only targets with a [Transform] have medians for means.
func (p *Prediction) Medians() int { return p.spread.medians }

// transform returns the transform of value i.
func (s *spreads) transform(i int) Transform { return s.of.Transforms[i%len(s.of.Transforms)] }

// momentsOf returns the mean and the variance of Y, where T(Y) has the distribution of value i.
func (p *Prediction) momentsOf(i int, t Transform) (mean, variance float64) {
	n, s := max(1, len(p.Targets)), &p.spread
	switch {
	case s.likelihood != nil:
		return t.moments(p.Distribution(i/n, i%n))
	case s.laws != nil:
		return t.lawMoments(&s.laws[i%n], p.Mean[i], s.scale[i])
	}
	return t.normalMoments(p.Mean[i], math.Sqrt(p.Variance[i]))
}

// cdf returns the CDF of value i at y.
func (p *Prediction) cdf(i int, y float64) float64 {
	n, s := max(1, len(p.Targets)), &p.spread
	switch {
	case s.likelihood != nil:
		return p.Distribution(i/n, i%n).CDF(y)
	case s.laws != nil:
		return s.laws[i%n].CDF((y - p.Mean[i]) / s.scale[i])
	}
	return likelihood.Normal{Mu: p.Mean[i], Sigma: math.Sqrt(p.Variance[i])}.CDF(y)
}

// quantile returns a quantile of value i.
func (p *Prediction) quantile(i int, level float64) float64 {
	n := max(1, len(p.Targets))
	return p.Distribution(i/n, i%n).Quantile(level)
}

// appendInterval appends the bounds of [Prediction.Interval] of transformed targets. The scores of a conformal calibration
// are those of T(target).
func (s *spreads) appendInterval(p *Prediction, lower, upper []float64, level float64) ([]float64, []float64, error) {
	in, n, m := *s.under, len(lower), len(upper)
	in.Conformal, in.Groups, in.Weights = p.Conformal, p.Groups, p.Weights
	lower, upper, err := in.AppendInterval(lower, upper, level)
	if err != nil {
		return nil, nil, err
	}
	return s.inverted(lower, n), s.inverted(upper, m), nil
}

// Additive returns the means, the variances and the targets y, [N,T] each, in the units in which noise adds to the
// function: those of T(target) where a target has a [Transform], and otherwise those of the data.
func (p *Prediction) Additive(y []float64) (mean, variance, additive []float64) {
	in := p.spread.under
	if in == nil {
		return p.Mean, p.Variance, y
	}
	additive = slices.Clone(y)
	for i, v := range y {
		additive[i] = p.spread.transform(i).Apply(v)
	}
	return in.Mean, in.Variance, additive
}

// NLLWith returns the negative log-likelihood of the targets y [N,T] of a regression, as a function of a factor of all
// standard deviations, the noise included: the mean over rows and targets, up to a term that does not depend on the factor.
func (p *Prediction) NLLWith(y []float64) func(factor float64) float64 {
	mean, _, additive := p.Additive(y)
	in, at := cmp.Or(p.spread.under, p), make([]float64, 1)
	return func(factor float64) float64 {
		sum := 0.0
		for i, v := range additive {
			at[0] = mean[i] + (v-mean[i])/factor
			sum += in.nll(i, at)
		}
		return sum/float64(len(y)) + math.Log(factor)
	}
}

// transformedNLL is nll of transformed targets.
func (p *Prediction) transformedNLL(i int, y []float64) float64 {
	s, u, slope, density := &p.spread, slices.Clone(y), 0.0, true
	f := func(v float64) float64 {
		slope = s.transform(i).LogSlope(v)
		return s.transform(i).Apply(v)
	}
	if l := s.under.spread.likelihood; l != nil {
		density = likelihood.Rescale(l, u, f)
	} else {
		u[0] = f(u[0])
	}
	if !density {
		slope = 0
	}
	return s.under.nll(i, u) - slope
}

// transformed is the distribution of Y, where T(Y) has another distribution.
type transformed struct {
	likelihood.Distribution           // of T(Y)
	t                       Transform // T
}

// Mean implements likelihood.Distribution.
func (d transformed) Mean() float64 {
	mean, _ := d.t.moments(d.Distribution)
	return mean
}

// Variance implements likelihood.Distribution.
func (d transformed) Variance() float64 {
	_, variance := d.t.moments(d.Distribution)
	return variance
}

// LogDensity implements likelihood.Distribution.
func (d transformed) LogDensity(y float64) float64 {
	if d.t.refuses(y) != nil {
		return math.Inf(-1)
	}
	return d.Distribution.LogDensity(d.t.Apply(y)) + d.t.LogSlope(y)
}

// CDF implements likelihood.Distribution.
func (d transformed) CDF(y float64) float64 {
	if y <= d.t.lowest() {
		return 0
	}
	return d.Distribution.CDF(d.t.Apply(y))
}

// Survival returns P(Y > y), see [likelihood.Survival].
func (d transformed) Survival(y float64) float64 {
	if y <= d.t.lowest() {
		return 1
	}
	return likelihood.Survival(d.Distribution, d.t.Apply(y))
}

// Quantile implements likelihood.Distribution.
func (d transformed) Quantile(p float64) float64 { return d.t.Invert(d.Distribution.Quantile(p)) }

// Draw implements likelihood.Distribution.
func (d transformed) Draw(rng *rand.Rand) float64 { return d.t.Invert(d.Distribution.Draw(rng)) }
