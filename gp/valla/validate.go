package valla

import (
	"context"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// ValidateNLL returns a function for train.Config.Validate: the mean negative log
// density of targets y [N,1] at inputs x [N,…], with the parameters of p's layer and
// of the likelihood as they are when it is called.
func (p *Posterior) ValidateNLL(lik likelihood.Gaussian, x, y *tensor.Dense) func(context.Context) (float64, error) {
	target := graph.Floats(y)
	return func(ctx context.Context) (float64, error) {
		p.Refresh()
		g, err := p.Predict(ctx, x)
		if err != nil {
			return 0, err
		}
		sum, noise := 0.0, lik.Variance()
		for i, mean := range g.Mean.Float64s() {
			sum += metric.GaussianNLL(mean, g.Cov.Float64s()[i]+noise, target[i])
		}
		return sum / float64(len(target)), nil
	}
}
