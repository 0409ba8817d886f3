package sum

import (
	"context"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
)

// mixture are the factors of the two covariances, and the squared noise scale; 0 without noise.
type mixture struct{ valla, gapa, noise float64 }

// mix finds the mixture with the smallest negative log predictive density of the validation
// rows, each output by itself, at which GAPA has the variances own [n·C]. Without validation
// rows GAPA has the factor that was given, the share beside which VaLLA was fitted, or 1 where VaLLA was fitted alone.
func (s *Settings) mix(ctx context.Context, p gp.Problem, v *gp.Fitted, own []float64) (mixture, error) {
	best, model := mixture{valla: 1, gapa: 1, noise: v.NoiseVariance}, learned(p, v)
	if s.share() > 0 && s.Factor == 0 {
		best.gapa = s.share()
	}
	if p.Validation == nil {
		return best, nil
	}
	mean, other, err := gp.Marginals(ctx, v.Posterior, p.Validation.X)
	if err != nil {
		return best, err
	}
	y, c := graph.Floats(p.Validation.Y), p.Outputs()
	best, _, err = gp.Best(s.mixtures(best, p.KnownNoise), "factors", func(by mixture) (mixture, float64, error) {
		lik := likelihood.WithNoise(model, by.noise)
		return by, gp.MeanNLLOfEach(lik, y, mean, c, func(n int, v []float64) {
			for k := range v {
				v[k] = by.valla*max(other[n*c+k], 0) + by.gapa*own[n*c+k]
			}
		}), ctx.Err()
	})
	return best, fault.In("valla+gapa", err)
}

// learned returns the observation model with the parameters that VaLLA's fit v to p has learned.
func learned(p gp.Problem, v *gp.Fitted) likelihood.Likelihood {
	if v.Likelihood != nil {
		return v.Likelihood
	}
	return p.Likelihood
}

// mixtures lists those that are tried around a first one: factors of VaLLA from 1/4 to 4
// times as large, and of GAPA, unless its factor is given, from 1/64 to 64, in steps of √2;
// noise variances, unless they are known, from 1/16 to 16.
func (s *Settings) mixtures(at mixture, known bool) (out []mixture) {
	shares, factors, noises := powers(at.valla, 4), []float64{1}, []float64{at.noise}
	if s.Factor == 0 {
		factors = powers(at.gapa, 12)
	}
	if at.noise > 0 && !known && !s.FixNoise {
		noises = powers(at.noise, 8)
	}
	for _, share := range shares {
		for _, factor := range factors {
			for _, noise := range noises {
				out = append(out, mixture{share, factor, noise})
			}
		}
	}
	return out
}

// powers returns v times the powers of √2 from −n to n.
func powers(v float64, n int) (out []float64) {
	for i := -n; i <= n; i++ {
		out = append(out, v*math.Pow(2, float64(i)/2))
	}
	return out
}
