package along

import (
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Plan counts a pass over so many inputs of a problem that computes the features along k directions, within limit
// bytes, and a prediction. rooted says that the posterior has a root R.
func Plan(plan *gp.Plan, p gp.Problem, inputs, k int, limit int64, rooted bool) error {
	c := p.Outputs()
	v := tensor.New(tensor.Of(p.Dtype()), tensor.WithShape(k, layers.Count(p.Net))) // nothing is written to it
	size, cost, err := graph.CostWithin("the derivatives along directions", Batch, limit, func(size int) (graph.Pass, error) {
		return jacobian.DirectionalPass(p.Net, p.Train.X.Shape()[1:], v, size)
	})
	if err != nil {
		return err
	}
	plan.Pass(size, cost, inputs, limit)
	plan.Beside(gp.Numbers(size, c, k))
	plan.Elements(float64(inputs) * float64(c*k))
	row := plan.Prediction()
	row.Run(cost, 1/float64(size))
	row.Hold(cost.Bytes/int64(size) + gp.Numbers(2, c, k))
	row.Products(float64(c) * float64(c*k) / 2)
	if rooted {
		row.Products(float64(c) * float64(k*k))
	}
	return nil
}
