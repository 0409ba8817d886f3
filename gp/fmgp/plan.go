package fmgp

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

var _ gp.Estimator = (*Settings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(_ context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return gp.EstimateBy(p, s.complete, func(c Settings) (*gp.Plan, error) { return (&fitting{p: p, r: r, s: c}).plan() })
}

// plan counts the fit.
func (f *fitting) plan() (*gp.Plan, error) {
	shape, dt, c := f.p.Train.X.Shape()[1:], f.p.Dtype(), f.p.Outputs()
	limit := f.r.Limit() / 4
	size, pass, err := graph.CostWithin("fmgp: the outputs of the network", predictBatch, limit, f.networkPass(shape))
	if err != nil {
		return nil, err
	}
	n, held, e, computed, err := f.sizes(shape)
	if err != nil {
		return nil, err
	}
	class := f.classes()
	m, d := len(class), shape.TotalSize()
	plan := &gp.Plan{What: f.what(m), Cheaper: "a smaller value of the setting iterations"}
	plan.Pass(size, pass, n+held+m, limit)
	plan.Hold(int64((n+held)*(c+computed)) * int64(dt.Size()))
	plan.Hold(gp.Numbers(4, m, m)) // of predictions
	plan.Beside(gp.Numbers(arrays, m, m))
	if err := plan.Check(f.r.Limit()); err != nil {
		return nil, err
	}
	checks := float64(f.s.Iterations / max(1, f.s.ValidateEvery))
	if held > 0 {
		f.holdValidation(plan, limit, held, m, c)
	}
	f.beside = plan.Held()
	if err := f.planSteps(plan, class, d, e); err != nil {
		return nil, err
	}
	f.planRows(plan, checks*float64(held), m, d+e)
	plan.Release(plan.Held() - gp.Numbers(4, m, m))
	row := plan.Prediction()
	row.Run(pass, 1/float64(size))
	row.Hold(pass.Bytes/int64(size) + gp.Numbers(c, 3*m+2*gp.Covariances(f.p.Likelihood, c)))
	f.planRows(row, 1, m, d+e)
	return plan, plan.Check(f.r.Limit())
}

// holdValidation counts the memory of the validations of so many rows, of which classes have variances alone.
func (f *fitting) holdValidation(plan *gp.Plan, limit int64, held, m, c int) {
	each := 1
	if !likelihood.IsClass(f.p.Likelihood) {
		each = c
	}
	batch := min(predictBatch, max(1, int(limit/gp.Numbers(c, 3*m+2*each))))
	plan.Hold(gp.Numbers(min(batch, held), c, 3*m+2*each))
	plan.Hold(gp.Numbers(held, c, each))
}

// sizes returns the numbers of training rows, of held-out rows, of features and of those features that are not inputs.
func (f *fitting) sizes(shape tensor.Shape) (n, held, e, computed int, err error) {
	n, held = f.p.Train.N(), f.p.Held()
	if f.s.Kernel == kernelEmbedding {
		e, computed, err = f.features(shape)
	}
	return n, held, e, computed, err
}

// arrays is how many matrices of order M a step takes at least.
const arrays = 8

// planRows counts predictions at so many points.
func (f *fitting) planRows(plan *gp.Plan, rows float64, m, width int) {
	c, each := f.p.Outputs(), gp.Covariances(f.p.Likelihood, f.p.Outputs())
	plan.Products(rows * float64(m) * float64(width+c*m+c*each/2))
	plan.Elements(rows * float64(m*(2*c+4)+2*c*each))
}

// planSteps counts the steps. The layer of the plan has arrays that nothing is written to, which take no memory.
func (f *fitting) planSteps(plan *gp.Plan, class []int, d, e int) error {
	dt, c, m := f.p.Dtype(), f.p.Outputs(), len(class)
	zeros := func(shape ...int) *tensor.Dense { return tensor.New(tensor.Of(dt), tensor.WithShape(shape...)) }
	of := *f
	of.lik = steps.Start(f.p, f.s.NoiseStd)
	of.layer = &sparseGP{
		Kernel: newCovariance(d, e, c, 1, f.s.Amplitude, dt), Class: class, Z: &graph.Param{Name: nameZ, Value: zeros(m, d+e)},
		L: &graph.Param{Name: nameL, Value: zeros(dense.Packed(m))}, Mean: &graph.Param{Name: nameMean, Value: zeros(m, 1)},
	}
	of.train = points{x: zeros(1, d), g: zeros(1, c)}
	if e > 0 {
		of.train.f = zeros(1, e)
	}
	return of.steps().Plan(plan)
}

// classes returns the outputs of the inducing points at the most.
func (f *fitting) classes() []int {
	if f.s.Init != initRandomRows {
		return gp.InducingPoints(f.p, f.s.Inducing, true)
	}
	return dense.Cycle(min(f.s.Inducing, f.p.Train.N()), f.p.Outputs())
}

// networkPass writes what the fit computes of the network.
func (f *fitting) networkPass(shape tensor.Shape) func(size int) (graph.Pass, error) {
	return networkPass(f.p.Net, f.p.Dtype(), shape, f.s.Kernel == kernelEmbedding)
}

// features returns E, and how many features are not inputs.
func (f *fitting) features(shape tensor.Shape) (e, computed int, err error) {
	p, err := f.networkPass(shape)(1)
	if err != nil {
		return 0, 0, err
	}
	if len(p.Outputs) == 1 {
		return shape.TotalSize(), 0, nil
	}
	e = p.Outputs[1].Shape().TotalSize()
	return e, e, nil
}
