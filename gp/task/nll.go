package task

import (
	"math"
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// maxNLL bounds the negative log-likelihood of a row, so that means are finite.
const maxNLL = 1e6

// nlls returns sums over the targets.
func (r *Regression) nlls(p *Prediction, y *tensor.Dense) ([]float64, error) {
	if err := r.checkTargets(y); err != nil {
		return nil, err
	}
	t, w := r.size(), r.width()
	out, values := make([]float64, y.Shape()[0]), graph.Floats(y)
	for i := range p.Mean {
		out[i/t] += p.nll(i, values[i*w:(i+1)*w])
	}
	for i, v := range out {
		out[i] = min(v, maxNLL)
	}
	return out, nil
}

// nll returns the negative log density of value i of a prediction at the target y [W].
func (p *Prediction) nll(i int, y []float64) float64 {
	t, s := max(1, len(p.Targets)), &p.spread
	switch {
	case s.under != nil:
		return p.transformedNLL(i, y)
	case s.likelihood == nil && s.laws == nil:
		return metric.GaussianNLL(p.Mean[i], p.Variance[i], y[0])
	case s.likelihood == nil || len(y) == 1:
		return -p.Distribution(i/t, i%t).LogDensity(y[0])
	}
	shift, scale := s.units(i)
	y = slices.Clone(y)
	nll := 0.0
	if likelihood.Rescale(s.likelihood, y, func(v float64) float64 { return (v - shift) / scale }) {
		nll = math.Log(scale)
	}
	return nll - s.likelihood.LogPredictive(y, s.mean[i:i+1], s.variance[i:i+1])
}

func (c *Classification) nlls(p *Prediction, y *tensor.Dense) ([]float64, error) {
	labels, err := c.Labels(y)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(labels))
	for i, k := range labels {
		out[i] = min(-math.Log(p.Probs[i*c.size()+k]), maxNLL)
	}
	return out, nil
}
