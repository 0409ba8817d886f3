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

// leaveOut fits LLA with the hyper-parameters at which the linearized model, with each row
// taken out of its posterior in turn, predicts that row best.
func (c *Case) leaveOut(ctx context.Context, p gp.Problem, m Method) (Score, error) {
	o := laplace.Options{Likelihood: p.Likelihood, PriorStd: 1}
	noises := []float64{0}
	if m == KFAC {
		o.Structure = laplace.KFAC
	}
	if own := math.Sqrt(likelihood.NoiseVariance(p.Likelihood)); !c.Classes {
		o.NoiseStd, noises = own, gp.LogSpaced(own/4, 1, 9)
	}
	q, err := laplace.Fit(ctx, p.Net, p.Train.X, p.Train.Y, o)
	if err != nil {
		return Score{}, err
	}
	best, least := q, math.Inf(1)
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
				best, least = at, v
			}
		}
	}
	return c.score(ctx, best, best.NoiseStd()*best.NoiseStd())
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
