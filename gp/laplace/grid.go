package laplace

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
)

// gridOf lists the standard deviations that a grid compares on the validation rows of p, with noise as the only one if it is not 0.
func gridOf(p gp.Problem, noise float64) []gp.Candidate {
	return gp.Candidates(p, gp.LogSpaced(0.01, 100, 21), noise)
}

// gridSearch returns the posterior at the best point of a grid, each with one σ₀ for all weights and with σ where there
// is noise. The score is the mean negative log-likelihood, see likelihood.LogPredictive, of examples that the fit has not
// seen. A point takes one factorisation and one prediction, of which points with small posteriors share the pass through
// the network, and no pass over the data of the fit. gridSearch returns ctx's error if ctx ends first.
func (p *posterior) gridSearch(ctx context.Context, held gp.Examples, points []gp.Candidate) (*posterior, error) {
	d, err := newData(held.X, held.Y, options{Likelihood: p.evidence.likelihood})
	if err != nil {
		return nil, err
	}
	if outputs(d, p.evidence.likelihood) != p.scan.outputs {
		return nil, fmt.Errorf("laplace: y has shape %v, the posterior has %d outputs", held.Y.Shape(), p.scan.outputs)
	}
	var ahead []attempt // of the points that come next
	next := points
	best, _, err := gp.Best(points, "points of the grid", func(gp.Candidate) (*posterior, float64, error) {
		if len(ahead) == 0 {
			some, err := next[:min(len(next), p.atOnce())], error(nil)
			if ahead, err = p.attempts(ctx, some, d); err != nil {
				return nil, 0, err
			}
			next = next[len(some):]
		}
		a := ahead[0]
		ahead = ahead[1:]
		return a.posterior, a.nll, nil
	})
	return best, fault.In("laplace", err)
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
func (p *posterior) attempts(ctx context.Context, points []gp.Candidate, d gp.Examples) ([]attempt, error) {
	out := make([]attempt, len(points))
	for i, c := range points {
		if !p.evidence.noisy() {
			c.Noise = 0
		}
		q, err := p.at(ctx, c.Prior, c.Noise)
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
