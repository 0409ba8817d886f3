package experiments

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// band is the prediction along a grid over the one input, with the data.
func (r *regression) band(ctx context.Context, p *Problem, f *Fitted) (*result.Band, error) {
	b := &result.Band{X: r.sets.train.X.Float64s(), Y: r.sets.train.Y.Float64s()}
	if v := r.sets.validation; v != nil {
		b.HeldX, b.HeldY = v.X.Float64s(), v.Y.Float64s()
	}
	b.Grid = around(slices.Concat(b.X, b.HeldX), 0.2, 300)
	mean, variance, latent, err := r.predict(ctx, p, f, column(slices.Clone(b.Grid)))
	if err != nil {
		return nil, err
	}
	b.Mean, b.Std, b.Latent = mean, roots(variance), roots(latent)
	if f.Layer != nil {
		b.Before, b.After = r.inUnits(f.Before), r.inUnits(f.Layer.Z.Value)
	}
	return b, nil
}

// roots are square roots, of 0 where rounding left less.
func roots(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = math.Sqrt(max(x, 0))
	}
	return out
}

// inUnits turns standardised one-dimensional inputs back into the data's.
func (r *regression) inUnits(z *tensor.Dense) []float64 {
	out := graph.Floats(z)
	for i := range out {
		out[i] = out[i]*r.inputs.Std[0] + r.inputs.Mean[0]
	}
	return out
}
