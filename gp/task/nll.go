package task

import (
	"math"

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
	t := r.size()
	out := make([]float64, y.Shape()[0])
	for i, v := range graph.Floats(y) {
		out[i/t] += metric.GaussianNLL(p.Mean[i], p.Variance[i], v)
	}
	for i, v := range out {
		out[i] = min(v, maxNLL)
	}
	return out, nil
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
