package laplace

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// grid are the hyper-parameters that gridSearch tries, each σ₀ with each σ.
type grid struct {
	PriorStds []float64 // σ₀ of all weights; nil: gp.LogSpaced(0.01, 100, 21)
	NoiseStds []float64 // σ; nil, as it must be where there is no noise: the posterior's own
}

// gridPoint is a point of a grid.
type gridPoint struct {
	PriorStd, NoiseStd float64 // σ₀ and σ of the point
	// NLL is the mean negative log-likelihood of an example, in nats; +Inf where the
	// posterior cannot be computed in float64.
	NLL float64
}

// gridSearch returns the posterior at the best point of a grid, and the score of every
// point. The score is the mean negative log-likelihood, see likelihood.LogPredictive, of
// examples x [N,…] with targets y [N,W·C] that the fit has not seen. A point takes one
// factorisation and one prediction, and no pass over the data of the fit. gridSearch
// returns ctx's error if ctx ends first.
func (p *posterior) gridSearch(ctx context.Context, x, y *tensor.Dense, g grid) (*posterior, []gridPoint, error) {
	d, err := newData(x, y, options{Likelihood: p.evidence.likelihood})
	if err != nil {
		return nil, nil, err
	}
	if outputs(d, p.evidence.likelihood) != p.scan.outputs {
		return nil, nil, fmt.Errorf("laplace: y has shape %v, the posterior has %d outputs", y.Shape(), p.scan.outputs)
	}
	var tried []gridPoint
	best, _, err := gp.Best(g.points(p), "points of the grid", func(h hyper) (*posterior, float64, error) {
		q, nll, err := p.try(ctx, h, d)
		tried = append(tried, gridPoint{h.prior[0], h.noise, nll})
		return q, nll, err
	})
	if err != nil {
		return nil, tried, fmt.Errorf("laplace: %w", err)
	}
	return best, tried, nil
}

// points lists the points of the grid; their noise is 0 with a likelihood that has none.
func (g grid) points(p *posterior) (out []hyper) {
	priors, noises := g.priors(), g.NoiseStds
	if noises == nil {
		noises = []float64{p.NoiseStd()}
	}
	for _, prior := range priors {
		for _, noise := range noises {
			out = append(out, uniform(prior, noise, len(p.prior.names)))
		}
	}
	return out
}

// priors are PriorStds or their default.
func (g grid) priors() []float64 {
	if g.PriorStds == nil {
		return gp.LogSpaced(0.01, 100, 21)
	}
	return g.PriorStds
}

// try returns the posterior at one point and its NLL: nil and +Inf where the posterior
// cannot be computed.
func (p *posterior) try(ctx context.Context, h hyper, d gp.Examples) (*posterior, float64, error) {
	if h.prior[0] == 0 || h.noise == 0 && p.evidence.noisy() {
		return nil, 0, fmt.Errorf("laplace: a grid with the standard deviations %g and %g, expected positive numbers", h.prior[0], h.noise)
	}
	q, err := p.AtEach(ctx, h.prior, h.noise)
	if errors.As(err, new(*graph.NotPositiveDefiniteError)) {
		return nil, math.Inf(1), nil
	}
	if err != nil {
		return nil, 0, err
	}
	l, at := p.evidence.at(h.noise), targets{from: d}
	sum, g := 0.0, gp.Gaussian{}
	err = p.scan.each(ctx, d.X, func(b batch) error {
		nll, err := q.score(b, &g, l, at.of(b))
		sum += float64(b.count) * nll
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return q, sum / float64(d.N()), nil
}

// score returns the mean negative log-likelihood of the targets y of a batch. g is memory. The probabilities of classes
// depend on the variances alone.
func (p *posterior) score(b batch, g *gp.Gaussian, l likelihood.Likelihood, y []float64) (float64, error) {
	if err := p.predict(b, g, likelihood.IsClass(l)); err != nil {
		return 0, err
	}
	return gp.MeanNLL(l, y, *g), nil
}
