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
// factorisation and one prediction, of which points with small posteriors share the pass through the network, and no pass
// over the data of the fit. gridSearch returns ctx's error if ctx ends first.
func (p *posterior) gridSearch(ctx context.Context, x, y *tensor.Dense, g grid) (*posterior, []gridPoint, error) {
	d, err := newData(x, y, options{Likelihood: p.evidence.likelihood})
	if err != nil {
		return nil, nil, err
	}
	if outputs(d, p.evidence.likelihood) != p.scan.outputs {
		return nil, nil, fmt.Errorf("laplace: y has shape %v, the posterior has %d outputs", y.Shape(), p.scan.outputs)
	}
	var tried []gridPoint
	var ahead []attempt // of the points that come next
	points := g.points(p)
	best, _, err := gp.Best(points, "points of the grid", func(h hyper) (*posterior, float64, error) {
		if len(ahead) == 0 {
			next, err := points[len(tried):], error(nil)
			if ahead, err = p.attempts(ctx, next[:min(len(next), p.atOnce())], d); err != nil {
				return nil, 0, err
			}
		}
		a := ahead[0]
		ahead = ahead[1:]
		tried = append(tried, gridPoint{h.prior[0], h.noise, a.nll})
		return a.posterior, a.nll, nil
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

// attempt is the posterior at a point of a grid.
type attempt struct {
	*posterior         // nil where it cannot be computed
	nll        float64 // mean of an example; +Inf where the posterior cannot be computed
}

// sharing is the memory for posteriors that share a pass, and as much again is for the rows that a batch keeps for them: together at most
// a quarter of what the structure holds while it sums H up, of which it then needs less.
func (p *posterior) sharing() int64 { return min(64<<20, p.structure.bytes()/8) }

// atOnce is how many points of a grid share a pass over the examples. All their posteriors are in memory, so that this is one where these
// are large.
func (p *posterior) atOnce() int {
	if s, ok := p.structure.(interface{ predictorBytes() int64 }); ok {
		return int(max(1, p.sharing()/s.predictorBytes()))
	}
	return 1
}

// attempts returns the posteriors at some points of a grid and their NLLs, with one pass over the examples d.
func (p *posterior) attempts(ctx context.Context, points []hyper, d gp.Examples) ([]attempt, error) {
	out := make([]attempt, len(points))
	for i, h := range points {
		if h.prior[0] == 0 || h.noise == 0 && p.evidence.noisy() {
			return nil, fmt.Errorf("laplace: a grid with the standard deviations %g and %g, expected positive numbers", h.prior[0], h.noise)
		}
		q, err := p.AtEach(ctx, h.prior, h.noise)
		switch {
		case errors.As(err, new(*graph.NotPositiveDefiniteError)):
			out[i].nll = math.Inf(1)
		case err != nil:
			return nil, err
		default:
			out[i].posterior = q
		}
	}
	at, g, kept := targets{from: d}, gp.Gaussian{}, newRowStore(int(p.sharing()/8))
	err := p.scan.each(ctx, d.X, func(b batch) error {
		y, mark := at.of(b), b.mark()
		if kept.next(); len(points) > 1 {
			b.kept = kept
		}
		for i, a := range out {
			if a.posterior == nil {
				continue
			}
			nll, err := a.score(b, &g, p.evidence.at(a.hyper.noise), y)
			if err != nil {
				return err
			}
			out[i].nll += float64(b.count) * nll
			b.release(mark)
		}
		return nil
	})
	for i := range out {
		out[i].nll /= float64(d.N())
	}
	return out, err
}

// score returns the mean negative log-likelihood of the targets y of a batch. g is memory. The probabilities of classes
// depend on the variances alone.
func (p *posterior) score(b batch, g *gp.Gaussian, l likelihood.Likelihood, y []float64) (float64, error) {
	if err := p.predict(b, g, likelihood.IsClass(l)); err != nil {
		return 0, err
	}
	return gp.MeanNLL(l, y, *g), nil
}
