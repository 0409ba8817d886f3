package mfvi

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

var _ gp.Estimator = (*Settings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(_ context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return gp.EstimateBy(p, s.complete, func(c Settings) (*gp.Plan, error) { return newFitting(p, r, c).plan() })
}

// plan counts the fit, and the draws of the weights that its predictions keep.
func (f *fitting) plan() (*gp.Plan, error) {
	plan := &gp.Plan{What: fmt.Sprintf("mfvi: %d draws of the weights", f.s.Samples), Cheaper: "a smaller value of the setting epochs"}
	draws := 1
	if f.stds != nil {
		draws = f.s.Samples
	}
	plan.Hold(drawBytes(f.p.Net, draws))
	if err := plan.Check(f.r.Limit()); err != nil {
		return nil, err
	}
	if err := f.steps().Plan(plan); err != nil {
		return nil, err
	}
	_, cost, err := graph.CostWithin("mfvi: the network", 1, f.r.Limit(), func(size int) (graph.Pass, error) {
		b := graph.NewBuilder(f.p.Dtype())
		x := b.Input("x", append([]int{size}, f.p.Train.X.Shape()[1:]...)...)
		return graph.Pass{Builder: b, X: x, Outputs: []*graph.Node{f.p.Net.Forward(b, x)}}, b.Err()
	})
	if err != nil {
		return nil, err
	}
	if v := f.p.Validation; v != nil {
		plan.Run(cost, float64(v.N()*(f.s.Iterations/max(1, f.s.ValidateEvery))))
	}
	row, c := plan.Prediction(), f.p.Outputs()
	row.Run(cost, float64(draws))
	row.Elements(float64(draws) * (drawElements*float64(layers.Count(f.p.Net))/predictBatch + 3*float64(c)*float64(c)))
	row.Hold(cost.Bytes + gp.Numbers(c, 2))
	return plan, plan.Check(f.r.Limit())
}

// drawElements is how many elements a random number takes as long as.
const drawElements = 10
