package sfr

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// trial are predictions for the validation rows with each of several candidates.
type trial struct {
	all       []gp.Candidate
	e         gp.Examples
	own       bool        // the mean is SFR's
	mean      []float64   // the network's outputs [n,C]
	means     [][]float64 // SFR's, by candidate
	variances [][]float64 // by candidate, [n,C]
}

func newTrial(all []gp.Candidate, e gp.Examples, own bool) *trial {
	t := &trial{all: all, e: e, own: own, mean: make([]float64, e.Y.Shape().TotalSize())}
	for range all {
		t.variances = append(t.variances, make([]float64, len(t.mean)))
		if own {
			t.means = append(t.means, make([]float64, len(t.mean)))
		}
	}
	return t
}

// trialBytes is the memory of a trial.
func trialBytes(candidates int, e *gp.Examples) int64 {
	if e == nil {
		return 0
	}
	return 8 * int64(1+2*candidates) * int64(e.Y.Shape().TotalSize())
}

// add computes the predictions of one part, whose sums are those of unit noise.
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

// best returns the candidate with the smallest mean negative log predictive density, each
// output by itself, and this.
func (t *trial) best(lik likelihood.Likelihood) (found gp.Candidate, nll float64, err error) {
	nll = math.Inf(1)
	for i, c := range t.all {
		if v := t.nll(lik, i); v < nll {
			found, nll = c, v
		}
	}
	if math.IsInf(nll, 1) {
		err = fmt.Errorf("sfr: no finite negative log-likelihood of the validation rows with any of %d standard deviations", len(t.all))
	}
	return found, nll, err
}

// nll is that of candidate i.
func (t *trial) nll(lik likelihood.Likelihood, i int) float64 {
	if likelihood.NoiseVariance(lik) > 0 {
		lik = likelihood.NewGaussian(t.all[i].Noise*t.all[i].Noise, tensor.Float64)
	}
	mean := t.mean
	if t.own {
		mean = t.means[i]
	}
	c, y, sum := t.e.Y.Shape()[1], graph.Floats(t.e.Y), 0.0
	cov := make([]float64, c*c)
	for at := 0; at < len(y); at += c {
		for j := range c {
			cov[j*c+j] = t.variances[i][at+j]
		}
		sum -= lik.LogPredictive(y[at:at+c], mean[at:at+c], cov)
	}
	return sum * float64(c) / float64(len(y))
}
