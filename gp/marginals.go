package gp

import (
	"context"

	"gorgonia.org/tensor"
)

// Marginals returns the means and the variances [N·C] of a posterior at inputs x [N,…], which are in the units of the network.
func Marginals(ctx context.Context, p Posterior, x *tensor.Dense) (mean, variance []float64, err error) {
	e, err := NewEngine(p, x.Shape()[1:], EngineOptions{Marginal: true})
	if err != nil {
		return nil, nil, err
	}
	err = e.Each(ctx, x, PartRows(1), func(_ int, g Gaussian) error {
		mean, variance = append(mean, g.Mean...), g.AppendVariances(variance)
		return nil
	})
	return mean, variance, err
}

// AppendVariances appends the variances [N·C] to dst.
func (g Gaussian) AppendVariances(dst []float64) []float64 {
	c := g.Outputs()
	for i := range g.Mean {
		dst = append(dst, g.Variance(i/c, i%c))
	}
	return dst
}
