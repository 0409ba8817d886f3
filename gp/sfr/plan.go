package sfr

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

var _ gp.Estimator = (*Settings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(_ context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return gp.EstimateBy(p, s.complete, func(c Settings) (*gp.Plan, error) { return c.plan(p, r) })
}

// plan counts the fit with complete settings. The points of the plan are arrays that nothing is written to, which take
// no memory.
func (s Settings) plan(p gp.Problem, r gp.Run) (*gp.Plan, error) {
	n, c, m, held, limit := p.Train.N(), p.Outputs(), min(s.Points, p.Train.N()), p.Held(), r.Limit()
	z := tensor.New(tensor.Of(p.Dtype()), tensor.WithShape(append([]int{m}, p.Train.X.Shape()[1:]...)...))
	q := &posterior{net: p.Net, points: z, outputs: c, joint: s.Outputs == outputsJoint, own: s.OwnMean}
	plan := &gp.Plan{What: "sfr: " + q.String(), Cheaper: "a smaller value of the setting points"}
	plan.Hold(q.bytes() + trialBytes(len(s.candidates(p)), c, p.Validation) + gp.Numbers(4, n, c))
	if err := plan.Check(limit); err != nil {
		return nil, err
	}
	k := &kernels{net: p.Net, points: z, input: z.Shape()[1:].Clone(), outputs: c, joint: q.joint}
	at := &graph.Param{Name: "points", Value: tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(append([]int{k.size()}, k.inputShape()...)...))}
	size, cost, err := graph.CostWithin("sfr: a batch of inputs", predictBatch, limit, func(size int) (graph.Pass, error) { return k.write(at, size) })
	if err != nil {
		return nil, err
	}
	plan.Pass(size, cost, n, limit)
	plan.Run(cost, float64(k.parts()*(n+held+m)-n)/float64(size))
	parts, o, vars := float64(k.parts()), float64(k.width()), float64(k.size())
	plan.Products(parts * (float64(n)*o*vars*vars + 3*vars*vars*vars + 1.5*float64(held)*o*vars*vars))
	plan.EigenSystem(vars, parts)
	if held > 0 {
		plan.EigenSystem(vars, parts) // of the trial
	}
	plan.Elements(parts * (float64(n)*o*vars*4 + float64(len(s.candidates(p))*held)*o*vars*2))
	plan.Elements(float64(n) * float64(c) * (8 + float64(c)))
	if !q.joint { // each part has inputs of its own, with a mark of its output
		plan.Elements(pickElements * parts * float64((n+held+m)*(z.Size()/m+c)))
	}
	row := plan.Prediction()
	row.Run(cost, parts/float64(size))
	row.Hold(int64(k.parts()) * (cost.Bytes/int64(size) + graphBytes/int64(gp.EngineInputs(cost.Bytes/int64(size)))))
	row.Products(parts * (o*vars*vars + o*o*vars))
	row.Elements(float64(c) * float64(c))
	return plan, plan.Check(limit)
}

// graphBytes is about what the nodes of the graph of a part take beside its arrays, of a perceptron of three layers.
const graphBytes = 512 << 10

// pickElements is how many elements an input with the mark of its output takes as long as: it is written and converted.
const pickElements = 4
