package sampled

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/along"
)

var _ gp.Estimator = (*Settings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(_ context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return gp.EstimateBy(p, s.complete, func(c Settings) (*gp.Plan, error) {
		f, err := newFitting(p, r, c)
		if err != nil {
			return nil, err
		}
		return f.plan()
	})
}

// usualIterations is how many iterations of conjugate gradients a solve takes, and usualNewton how many the mode takes in
// usualSteps steps of Newton's method, where the settings allow as many. The data decide.
const usualIterations, usualNewton, usualSteps = 12, 35, 5

// plan counts the fit.
func (f *fitting) plan() (*gp.Plan, error) {
	plan := &gp.Plan{What: f.what(), Cheaper: "a smaller value of the setting samples"}
	plan.Hold(f.need())
	plan.Hold(2 * int64(f.linear.threads) * f.linear.cost.Bytes)
	n, p, samples := f.p.Train.N(), float64(f.size), float64(f.s.Samples)
	share := min(1, float64(f.summed())/float64(n))
	steps := float64(f.solves())
	if f.s.Solver != solverSGD {
		steps = min(steps, usualIterations)
	}
	ems := float64(f.s.EMSteps)
	solves := ems*float64(f.s.EMSamples) + samples // of one sample
	mode := ems * (share*usualNewton + usualSteps)
	sweeps := share*(0.7*samples+solves*steps) + mode
	if f.s.Solver == solverSGD {
		sweeps = 0.7*samples + solves*float64(f.s.Epochs) + mode
	}
	rank := float64(min(f.s.Rank, f.size))
	sweeps += rank * float64(min(n, sketchRows)) / float64(n)
	plan.Run(f.linear.cost, sweeps*float64((n+f.linear.size-1)/f.linear.size))
	plan.Elements(sweeps*(float64(n*f.c)*10+4*p) + samples*p*20 + solves*steps*8*p)
	plan.Products(3*rank*rank*p + solves*steps*2*rank*p)
	if err := plan.Check(f.limit); err != nil {
		return nil, err
	}
	plan.Release(f.need() - gp.Numbers(f.s.Samples, f.size))
	return plan, along.Plan(plan, f.p, 0, f.s.Samples, f.limit, false)
}
