package task

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"gonum.org/v1/gonum/mathext"
)

// spreads is what the distributions of a prediction need beside means and variances.
type spreads struct {
	of         *Regression           // has the units of the targets
	likelihood likelihood.Likelihood // observation model; nil: Gaussian noise, or laws
	laws       []law.Law             // laws of the residuals [T]; nil: none
	noise      float64               // variance of Gaussian noise, in the network's units
	scale      []float64             // scales of the laws [N,T], in the units of the data
	mean       []float64             // means of the latent function [N,T] in the network's units; for a likelihood
	variance   []float64             // its variances [N,T]; for a likelihood
	unit       []float64             // units of the network's outputs [N,T], see gp.Gaussian; empty: ones

	under   *Prediction // prediction of T(target), where targets have transforms; nil: they have none
	medians int         // see Prediction.Medians
}

// set makes s the spreads of the latent distribution g.
func (s *spreads) set(r *Regression, g gp.Gaussian, by Observation) {
	n, t := len(g.Mean), r.size()
	s.of, s.likelihood, s.laws, s.noise, s.under, s.medians = r, by.Likelihood, by.Laws, by.NoiseVariance, nil, 0
	s.unit = append(s.unit[:0], g.Unit...)
	if by.Laws != nil {
		s.scale = dense.Resized(s.scale, n)
	}
	if by.Likelihood == nil {
		return
	}
	s.mean, s.variance = append(s.mean[:0], g.Mean...), dense.Resized(s.variance, n)
	for i := range n {
		s.variance[i] = g.Cov[i*t+i%t]
	}
}

// append adds the rows of more.
func (s *spreads) append(more spreads) {
	s.of, s.likelihood, s.laws, s.noise = more.of, more.likelihood, more.laws, more.noise
	s.scale, s.mean, s.variance = append(s.scale, more.scale...), append(s.mean, more.mean...), append(s.variance, more.variance...)
	s.unit = append(s.unit, more.unit...)
	s.medians += more.medians
	if more.under == nil {
		return
	}
	if s.under == nil {
		s.under = &Prediction{}
	}
	s.under.Append(more.under)
}

// units returns the mean and the unit of value i of a prediction [N,T], for which the outputs of the network are 0 and 1.
func (s *spreads) units(i int) (shift, scale float64) {
	shift, scale = s.of.scale(i % s.of.size())
	if len(s.unit) > 0 {
		scale *= s.unit[i]
	}
	return shift, scale
}

// Unit returns the unit in which the network gives value i of a regression [N,T], in the units of the targets, or of the
// transformed targets.
func (p *Prediction) Unit(i int) float64 {
	_, unit := cmp.Or(p.spread.under, p).spread.units(i)
	return unit
}

// RowUnit returns how many times the unit of its target [Prediction.Unit] is for value i of a regression [N,T]: another number than 1 for a
// network that gives the noise of each row, in whose unit its output is.
func (p *Prediction) RowUnit(i int) float64 {
	if unit := cmp.Or(p.spread.under, p).spread.unit; len(unit) > 0 {
		return unit[i]
	}
	return 1
}

// Distribution returns the predictive distribution of target t at row i, in the units of the data: its mean,
// variance, quantiles, CDF, log density and draws. It is nil in classification.
func (p *Prediction) Distribution(i, t int) likelihood.Distribution {
	if p.Classes != nil {
		return nil
	}
	k, s := i*max(1, len(p.Targets))+t, &p.spread
	switch {
	case s.under != nil:
		return transformed{s.under.Distribution(i, t), s.of.Transforms[t]}
	case s.likelihood != nil:
		shift, scale := s.units(k)
		return inUnits{s.likelihood.Predict(t, s.mean[k], s.variance[k]), shift, scale}
	case s.laws != nil:
		return inUnits{&s.laws[t], p.Mean[k], s.scale[k]}
	}
	return likelihood.Normal{Mu: p.Mean[k], Sigma: math.Sqrt(p.Variance[k])}
}

// Quantiles returns the quantiles of the targets for a probability 0 < level < 1, [N,T].
func (p *Prediction) Quantiles(level float64) []float64 {
	return p.AppendQuantiles(make([]float64, 0, len(p.Mean)), level)
}

// Above returns the probabilities that the targets are larger than a threshold in the units of the data, [N,T].
func (p *Prediction) Above(threshold float64) []float64 {
	t, out := max(1, len(p.Targets)), make([]float64, len(p.Mean))
	for i := range out {
		out[i] = likelihood.Survival(p.Distribution(i/t, i%t), threshold)
	}
	return out
}

// AppendQuantiles appends [Prediction.Quantiles] to dst.
func (p *Prediction) AppendQuantiles(dst []float64, level float64) []float64 {
	t, s := max(1, len(p.Targets)), &p.spread
	n := len(dst)
	if s.under != nil {
		return s.inverted(s.under.AppendQuantiles(dst, level), n)
	}
	dst = append(dst, p.Mean...)
	out := dst[n:]
	for k := range t {
		z := 0.0
		switch {
		case s.likelihood != nil:
		case s.laws != nil:
			z = s.laws[k].Quantile(level)
		default:
			z = mathext.NormalQuantile(level)
		}
		for i := k; i < len(out); i += t {
			switch {
			case s.likelihood != nil:
				out[i] = p.Distribution(i/t, k).Quantile(level)
			case s.laws != nil:
				out[i] += z * s.scale[i]
			default:
				out[i] += z * math.Sqrt(max(p.Variance[i], 0))
			}
		}
	}
	return dst
}

// inverted returns v with T⁻¹ of the values from first on, which are [N,T] in the units of T(target).
func (s *spreads) inverted(v []float64, first int) []float64 {
	for i, u := range v[first:] {
		v[first+i] = s.transform(i).Invert(u)
	}
	return v
}

// inUnits is the distribution shift + scale·Y, where Y has the distribution of a model, or the law of residuals.
type inUnits struct {
	likelihood.Distribution         // of Y, in the network's units, or a *law.Law
	shift, scale            float64 // to the units of the data; 0 and 1 unless Y is a number or has a law
}

// Mean implements likelihood.Distribution.
func (d inUnits) Mean() float64 { return d.shift + d.scale*d.Distribution.Mean() }

// Variance implements likelihood.Distribution.
func (d inUnits) Variance() float64 { return d.scale * d.scale * d.Distribution.Variance() }

// LogDensity implements likelihood.Distribution.
func (d inUnits) LogDensity(y float64) float64 {
	return d.Distribution.LogDensity((y-d.shift)/d.scale) - math.Log(d.scale)
}

// CDF implements likelihood.Distribution.
func (d inUnits) CDF(y float64) float64 { return d.Distribution.CDF((y - d.shift) / d.scale) }

// Survival returns P(Y > y), see [likelihood.Survival].
func (d inUnits) Survival(y float64) float64 {
	return likelihood.Survival(d.Distribution, (y-d.shift)/d.scale)
}

// Quantile implements likelihood.Distribution.
func (d inUnits) Quantile(p float64) float64 { return d.shift + d.scale*d.Distribution.Quantile(p) }

// Draw implements likelihood.Distribution.
func (d inUnits) Draw(rng *rand.Rand) float64 { return d.shift + d.scale*d.Distribution.Draw(rng) }
