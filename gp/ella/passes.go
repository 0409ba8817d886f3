package ella

import (
	"context"
	"fmt"
	"maps"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
)

var _ gp.Summed = (*posterior)(nil)

// partial is a posterior while its G, with unit noise, is summed up.
type partial struct {
	*posterior                       // without G
	lik        likelihood.Likelihood // with the noise of the fit
	sums       *curvature            // G so far
}

// Sums implements gp.Summed: G is a sum over rows. The directions stay.
func (p *posterior) Sums(l likelihood.Likelihood, r gp.Run) (gp.Sums, error) {
	q, err := p.again(r)
	if err != nil {
		return nil, err
	}
	q.share = 1
	return &partial{q, l, newCurvature(q.Rank(), l)}, nil
}

// Add implements gp.Sums.
func (s *partial) Add(ctx context.Context, e gp.Examples) error {
	if got, want := e.Y.Shape()[1], s.Features.Outputs(); got != want*s.lik.Width() {
		return fmt.Errorf("ella: %d targets, the network has %d outputs", got, want)
	}
	return fault.In("ella", s.sums.addRows(ctx, s.Features, e, func(int) {}))
}

// Each implements gp.Sums.
func (s *partial) Each(visit func(name string, v *[]float64, shape ...int) error) error {
	return visit(nameG, &s.sums.g, s.sums.k, s.sums.k)
}

// Finish implements gp.Sums.
func (s *partial) Finish(ctx context.Context, n int, held *gp.Examples) (*gp.Fitted, error) {
	variance := likelihood.NoiseVariance(s.lik)
	best, facts := gp.Candidate{Prior: s.prior, Noise: 1}, []gp.Fact(nil)
	if variance > 0 {
		best.Noise = math.Sqrt(variance)
	}
	record := gp.Record{Rows: n, Settings: map[string]any{"early-stopping": nil, "check-every": nil}}
	if held != nil {
		record.ValidationRows = held.N()
		at, err := newHeldOut(ctx, s.Features, *held, s.lik, untold)
		if err != nil {
			return nil, fmt.Errorf("ella: validation rows: %w", err)
		}
		p, err := newPrecision(s.sums.k, s.sums.g)
		if err != nil {
			return nil, fmt.Errorf("ella: eigenvalues of G: %w", err)
		}
		of := gp.Problem{Likelihood: s.lik, Validation: held}
		grid, nll := gp.LogSpaced(0.01, 100, 21), 0.0
		maps.Copy(record.Settings, map[string]any{"prior-grid": grid, "prior-std": nil, "noise-std": nil})
		if best, nll, err = at.best(p, 1, gp.Candidates(of, grid, 0)); err != nil {
			return nil, err
		}
		facts = append(facts, gp.Fact{Name: "validation NLL", Value: nll})
	}
	q := s.posterior
	q.prior, q.g = best.Prior, s.sums.g
	kernel.Scale(q.g, 1/(best.Noise*best.Noise), q.g)
	if err := q.finish(); err != nil {
		return nil, err
	}
	record.PriorStds = []float64{q.prior}
	record.Facts = append(facts, gp.Fact{Name: "effective parameters", Value: q.precision.effective(q.prior, 1)})
	out := &gp.Fitted{Posterior: q, Record: record}
	if variance > 0 {
		out.NoiseVariance = best.Noise * best.Noise
	}
	return out, nil
}
