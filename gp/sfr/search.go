package sfr

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
)

// trial are predictions for the validation rows with each of several candidates.
type trial struct {
	all       []gp.Candidate // the candidates
	e         gp.Examples    // the validation rows
	own       bool           // the mean is SFR's
	outputs   int            // C
	mean      []float64      // the network's outputs [n,C]
	means     [][]float64    // SFR's, by candidate
	variances [][]float64    // by candidate, [n,C]
}

func newTrial(all []gp.Candidate, e gp.Examples, outputs int, own bool) *trial {
	t := &trial{all: all, e: e, own: own, outputs: outputs, mean: make([]float64, e.N()*outputs)}
	for range all {
		t.variances = append(t.variances, make([]float64, len(t.mean)))
		if own {
			t.means = append(t.means, make([]float64, len(t.mean)))
		}
	}
	return t
}

// trialBytes is the memory of a trial.
func trialBytes(candidates, outputs int, e *gp.Examples) int64 {
	if e == nil {
		return 0
	}
	return 8 * int64(1+2*candidates) * int64(e.N()) * int64(outputs)
}

// add computes the predictions of one part. The sums of s have unit noise.
func (t *trial) add(ctx context.Context, k *kernels, part int, s *system) error {
	p, err := s.spectrum()
	if err != nil {
		return err
	}
	o := k.width()
	return k.each(ctx, part, t.e.X, func(v values) error {
		s.whiten(v.cross)
		w, square := make([]float64, len(v.cross)), make([]float64, len(v.cross))
		kernel.Gemm(false, false, v.n*o, s.m, s.m, 1, v.cross, s.m, p.u, s.m, 0, w, s.m)
		kernel.Square(square, w)
		for i, c := range t.all {
			e, weights := p.shrink(c.Prior*c.Prior, 1/(c.Noise*c.Noise))
			for r := range v.n * o {
				at := (v.first+r/o)*k.outputs + k.first(part) + r%o
				diag := v.diag[r*o+r%o]
				t.mean[at] = v.mean[r]
				t.variances[i][at] = c.Prior * c.Prior * max(0, diag-kernel.Dot(square[r*s.m:(r+1)*s.m], e))
				if t.own {
					t.means[i][at] = kernel.Dot(w[r*s.m:(r+1)*s.m], weights)
				}
			}
		}
		return nil
	})
}

// best returns the candidate with the smallest mean negative log predictive density, each output by
// itself, and this density. It is an error if no density is finite.
func (t *trial) best(lik likelihood.Likelihood) (gp.Candidate, float64, error) {
	at, nll, err := gp.Best(dense.Indices(len(t.all)), "standard deviations", func(i int) (int, float64, error) { return i, t.nll(lik, i), nil })
	if err != nil {
		return gp.Candidate{}, nll, fault.In("sfr", err)
	}
	return t.all[at], nll, nil
}

// nll returns the mean negative log predictive density with candidate i.
func (t *trial) nll(lik likelihood.Likelihood, i int) float64 {
	mean, c := t.mean, t.outputs
	if t.own {
		mean = t.means[i]
	}
	lik = likelihood.WithNoise(lik, t.all[i].Noise*t.all[i].Noise)
	return gp.MeanNLLOfEach(lik, graph.Floats(t.e.Y), mean, c, func(n int, v []float64) { copy(v, t.variances[i][n*c:]) })
}
