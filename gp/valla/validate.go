package valla

import (
	"context"
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// ValidateNLL returns a function for train.Config.Validate: the mean negative log
// predictive density of targets y [N,C] at inputs x [N,…], with the parameters of p's
// layer and of the likelihood as they are when it is called.
func (p *Posterior) ValidateNLL(lik likelihood.Likelihood, x, y *tensor.Dense) func(context.Context) (float64, error) {
	targets, c := graph.Floats(y), y.Shape()[1]
	return func(ctx context.Context) (float64, error) {
		p.Refresh()
		g, err := p.Predict(ctx, x)
		if err != nil {
			return 0, err
		}
		sum, mean, cov := 0.0, g.Mean.Float64s(), g.Cov.Float64s()
		n := 0
		for target := range slices.Chunk(targets, c) {
			sum -= lik.LogPredictive(target, mean[n*c:(n+1)*c], cov[n*c*c:(n+1)*c*c])
			n++
		}
		return sum / float64(n), nil
	}
}
