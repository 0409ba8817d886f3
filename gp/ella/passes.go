package ella

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

var _ gp.Summed = (*Posterior)(nil)

// partial is a posterior whose G, with unit noise, is not finished.
type partial struct {
	*Posterior
	lik  likelihood.Likelihood
	sums *curvature
}

// Sums implements gp.Summed: G is a sum over rows. The directions stay.
func (p *Posterior) Sums(l likelihood.Likelihood, r gp.Run) (gp.Sums, error) {
	q := &Posterior{
		net: p.net, input: p.input, v: p.v, prior: p.prior, share: 1,
		points: p.points, at: p.at, limit: cmp.Or(r.Memory, p.limit),
	}
	var err error
	if q.features, err = jacobian.NewDirectional(q.net, q.input, q.v, PredictBatch, q.limit-dense.Bytes(q.v)); err != nil {
		return nil, err
	}
	unit := l
	if likelihood.NoiseVariance(l) > 0 {
		unit = likelihood.NewGaussian(1, tensor.Float64)
	}
	return &partial{q, l, newCurvature(q.Rank(), unit)}, nil
}

// Add implements gp.Sums.
func (s *partial) Add(ctx context.Context, e gp.Examples) error {
	if got, want := e.Y.Shape()[1], s.features.Outputs(); got != want {
		return fmt.Errorf("ella: %d targets, the network has %d outputs", got, want)
	}
	return s.features.Each(ctx, e.X, func(_ int, mean, phi []float64) error {
		s.sums.add(mean, phi, s.features.Outputs())
		if v := kernel.Sum(s.sums.g); !kernel.Finite(v) {
			return fmt.Errorf("ella: the curvature is not finite: the sum of its elements is %g", v)
		}
		return nil
	})
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
	record := gp.Record{Rows: n}
	if held != nil {
		record.ValidationRows = held.N()
		at, err := newHeldOut(ctx, s.features, *held, graph.Floats(held.Y), variance == 0, untold)
		if err != nil {
			return nil, fmt.Errorf("ella: validation rows: %w", err)
		}
		p, err := newPrecision(s.sums.k, s.sums.g)
		if err != nil {
			return nil, fmt.Errorf("ella: eigenvalues of G: %w", err)
		}
		of := gp.Problem{Likelihood: s.lik, Validation: held}
		found, nll := at.best(p, 1, gp.Candidates(of, gp.LogSpaced(0.01, 100, 21), 0))
		if math.IsInf(nll, 1) {
			return nil, fmt.Errorf("ella: no finite negative log-likelihood of the validation rows with any standard deviation")
		}
		best, facts = found, append(facts, gp.Fact{Name: "validation NLL", Value: nll})
	}
	q := s.Posterior
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
