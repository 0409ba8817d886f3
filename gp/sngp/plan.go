package sngp

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

var _ gp.Estimator = (*Settings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(_ context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return gp.EstimateBy(p, s.complete, func(c Settings) (*gp.Plan, error) { return (&fitting{p: p, r: r, s: c}).plan() })
}

// plan counts the fit. The head of the plan has arrays that nothing is written to, which take no memory.
func (f *fitting) plan() (*gp.Plan, error) {
	net, err := newNetwork(f.p.Net, f.p.Train.X.Shape()[1:])
	if err != nil {
		return nil, err
	}
	if net.output != f.p.Outputs() {
		return nil, fmt.Errorf("sngp: the network has %d outputs, the targets need %d", net.output, f.p.Outputs())
	}
	of := &fitting{p: f.p, r: f.r, s: f.s}
	cov := &covariance{Form: f.s.Covariance, Ridge: f.s.Ridge, Features: f.s.Features, Outputs: net.output}
	size, err := cov.size(f.r.Limit())
	if err != nil {
		return nil, err
	}
	plan := &gp.Plan{What: fmt.Sprintf("sngp: %d features with the %s covariance", f.s.Features, f.s.Covariance), Cheaper: "a smaller value of the setting iterations"}
	m, c := f.s.Features, net.output
	plan.Hold(2*gp.Numbers(size) + gp.Numbers(m, net.units+2*c))
	plan.Beside(gp.Numbers(m, m) + gp.Numbers(m, 2*c))
	if err := plan.Check(f.r.Limit()); err != nil {
		return nil, err
	}
	kept := plan.Held()
	of.startPlan(net, cov)
	err = f.planFit(plan, of, cov)
	plan.Release(plan.Held() - kept)
	return plan, err
}

// startPlan gives the fitting of a plan arrays that nothing is written to.
func (f *fitting) startPlan(net *network, cov *covariance) {
	m, c := cov.Features, cov.Outputs
	f.raw = layers.NewCopy(net.hidden)
	zeros := func(name string, shape ...int) *graph.Param {
		return &graph.Param{Name: name, Value: tensor.New(tensor.Of(net.dt), tensor.WithShape(shape...))}
	}
	h := &head{W: zeros(nameW, net.units, m), Phase: zeros(namePhase, m), Beta: zeros(nameBeta, m, c), Scale: 1}
	f.post = &posterior{net: net, weights: layers.NewCopy(net.hidden), head: h, cov: cov, limit: f.r.Limit() / 4}
	if f.s.Precision != exact {
		f.average = h.W.Value // any array says that there is one
	}
}

// planFit counts the steps and the passes. of is the fitting of the plan.
func (f *fitting) planFit(plan *gp.Plan, of *fitting, cov *covariance) error {
	m, c, n := cov.Features, cov.Outputs, f.p.Train.N()
	batch, cost, err := graph.CostWithin("sngp: a prediction", predictBatch, of.post.limit, of.post.pass(of.post.write))
	if err != nil {
		return err
	}
	f.planPasses(plan, cov, float64(n), float64(min(n, startRows)))
	plan.Pass(batch, cost, n, of.post.limit)
	plan.Hold(gp.Numbers(batch, m+c) + cov.workspaceBytes(batch))
	if v := f.p.Validation; v != nil && f.classes() && f.s.Lambda == nil {
		plan.Hold(gp.Numbers(min(batch, v.N()), c, c))
	}
	f.beside = plan.Held() + of.averagingBytes()
	of.beside = f.beside
	plan.Hold(of.averagingBytes())
	g, err := of.steps()
	if err != nil {
		return err
	}
	if err := g.Plan(plan); err != nil {
		return err
	}
	// The features are cosines, whose derivatives are sines, of each of which the cost of a program counts one element.
	plan.Elements(trigonometric * float64(m) * (2*float64(f.s.Iterations*of.s.BatchSize) + float64(n)))
	row := plan.Prediction()
	row.Run(cost, 1/float64(batch))
	row.Hold(cost.Bytes/int64(batch) + gp.Numbers(m) + cov.workspaceBytes(1))
	cov.planRows(row, 1)
	if v := f.p.Validation; v != nil {
		plan.Run(cost, float64(v.N()*(f.s.Iterations/f.s.ValidateEvery))/float64(batch))
		if f.classes() && f.s.Lambda == nil {
			cov.planRows(plan, float64(v.N()))
			plan.Elements(64 * 4 * float64(v.N()*c))
		}
	}
	return plan.Check(f.r.Limit())
}

// trigonometric is how many elements a sine or a cosine takes as long as, beyond the one that is counted.
const trigonometric = 20

// planPasses counts the precisions of n rows, and the start of β by some.
func (f *fitting) planPasses(plan *gp.Plan, cov *covariance, n, some float64) {
	m, c := float64(cov.Features), float64(cov.Outputs)
	if f.s.Head != headRandom {
		plan.Products(some*m*(m/2+c) + m*m*m/3 + m*m*c)
	}
	switch cov.Form {
	case formPerClass:
		plan.Products(c * (n*m*m/2 + m*m*m/3))
		plan.Elements(c * n * m)
	case formJoint:
		plan.Products(c*c*n*m*m/2 + c*c*c*m*m*m/3)
		plan.Elements(c * c / 2 * n * m)
	default:
		plan.Products(n*m*m/2 + m*m*m/3)
	}
}

// planRows counts the covariances at so many inputs.
func (c *covariance) planRows(plan *gp.Plan, rows float64) {
	m, k := float64(c.Features), float64(c.Outputs)
	plan.Elements(rows * k * k)
	switch c.Form {
	case formPerClass:
		plan.Products(rows * k * m * m / 2)
	case formJoint:
		plan.Products(rows * (k*k*k*m*m/2 + k*k*k*m/2))
	default:
		plan.Products(rows * m * m / 2)
	}
}
