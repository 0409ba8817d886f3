package honest

import (
	"context"
	"errors"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
)

// elsewhere is a posterior of LLA, which moves to other hyper-parameters without another pass over
// the rows.
type elsewhere interface {
	At(ctx context.Context, priorStd, noiseStd float64) (gp.Stored, error)
}

// leaveOut fits LLA with the hyper-parameters at which the linearized model, with each row
// taken out of its posterior in turn, predicts that row best.
func (c *Case) leaveOut(ctx context.Context, p gp.Problem, m Method) (Score, error) {
	s := &laplace.Settings{PriorStd: 1}
	noises := []float64{0}
	if m == KFAC {
		s.Structure = "kfac"
	}
	if own := math.Sqrt(likelihood.NoiseVariance(p.Likelihood)); likelihood.Noisy(p.Likelihood) {
		s.NoiseStd, noises = own, gp.LogSpaced(own/4, 1, 9)
	}
	start, err := s.Posterior(ctx, gp.Problem{Net: p.Net, Likelihood: p.Likelihood, Train: p.Train}, gp.Run{})
	if err != nil {
		return Score{}, err
	}
	q := start.(elsewhere)
	best, by, least := start, s.NoiseStd, math.Inf(1)
	for _, prior := range gp.LogSpaced(0.01, 100, 9) {
		for _, noise := range noises {
			at, err := q.At(ctx, prior, noise)
			if errors.As(err, new(*graph.NotPositiveDefiniteError)) {
				continue
			}
			if err != nil {
				return Score{}, err
			}
			g, err := gp.Predict(ctx, at, p.Train.X)
			if err != nil {
				return Score{}, err
			}
			if v := leftOutNLL(g, p.Train, noise); v < least {
				best, by, least = at, noise, v
			}
		}
	}
	return c.score(ctx, best, by*by)
}

// leftOutNLL is the mean over rows of the negative log predictive density of each under the
// posterior without it, of which g is the posterior with it. For regression that is exact for
// the linearized model: with h = Q/σ² the residual grows by 1/(1−h), the predictive variance
// is σ²/(1−h). For classification the row's Gauss-Newton term is taken out of each output.
func leftOutNLL(g gp.Gaussian, e gp.Examples, noise float64) float64 {
	n, c := e.N(), e.Y.Shape()[1]
	y, mean, cov := graph.Floats(e.Y), g.Mean, g.Cov
	sum := 0.0
	for i := range n {
		row, f := y[i*c:(i+1)*c], mean[i*c:(i+1)*c]
		q := func(k int) float64 { return cov[(i*c+k)*c+k] }
		if noise == 0 {
			sum -= likelihood.Softmax{}.LogDensity(row, withoutRow(row, f, q))
			continue
		}
		for k := range row {
			left := max(1-q(k)/(noise*noise), 1e-9)
			r, v := (row[k]-f[k])/left, noise*noise/left
			sum += 0.5*math.Log(2*math.Pi*v) + 0.5*r*r/v
		}
	}
	return sum / float64(n)
}

// withoutRow returns the probit-scaled logits of an example after its own term has been
// taken out of the posterior.
func withoutRow(y, f []float64, q func(int) float64) []float64 {
	out, total := make([]float64, len(f)), likelihood.LogSumExp(f)
	for k := range f {
		p := math.Exp(f[k] - total)
		v := q(k) / max(1-p*(1-p)*q(k), 1e-6)
		out[k] = (f[k] - v*(y[k]-p)) / math.Sqrt(1+math.Pi/8*v)
	}
	return out
}
