package gapa

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

var _ gp.Estimator = (*Settings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(_ context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return gp.EstimateBy(p, s.complete, func(c Settings) (*gp.Plan, error) { return (&fitting{p: p, r: r, s: c, limit: r.Limit()}).plan() })
}

// plan places the processes, and counts the fit.
func (f *fitting) plan() (*gp.Plan, error) {
	if err := f.place(); err != nil {
		return nil, fmt.Errorf("gapa: %w", err)
	}
	if err := f.fits(); err != nil {
		return nil, fmt.Errorf("gapa: %w", err)
	}
	c, d, m, held := f.p.Outputs(), f.site.width(), f.s.Cached, f.p.Held()
	plan := &gp.Plan{What: fmt.Sprintf("gapa: %d values at %d rows and their derivatives", d, m), Cheaper: "a smaller value of the setting cached"}
	plan.Hold(int64(m)*int64(d*int(f.p.Dtype().Size())+8) + f.centreBytes())
	kept := plan.Held()
	if err := f.planPass(plan, m, nothing); err != nil {
		return nil, err
	}
	plan.Release(plan.Held() - kept)
	samples := f.learners + held
	if samples > 0 {
		if err := f.planPass(plan, samples, f.site.derivatives); err != nil {
			return nil, err
		}
		plan.Hold(sampleBytes(samples, c, d))
		planNearest(plan, float64(samples), f.s.Neighbours, m, d)
	}
	f.planScales(plan, c, d, held)
	plan.Release(plan.Held() - kept)
	row := plan.Prediction()
	size, cost, err := graph.CostWithin("gapa: a prediction", 1, f.limit, func(size int) (graph.Pass, error) {
		return f.site.write(f.p.Train.X.Shape()[1:], size, f.site.covariance(make([]float64, d)))
	})
	if err != nil {
		return nil, fmt.Errorf("gapa: %w", err)
	}
	row.Run(cost, 1/float64(size))
	row.Hold(cost.Bytes)
	planNearest(row, 1, f.s.Neighbours, m, d)
	return plan, plan.Check(f.limit)
}

// planPass counts a pass over so many rows, with what more writes.
func (f *fitting) planPass(plan *gp.Plan, rows int, more writer) error {
	input := f.p.Train.X.Shape()[1:]
	size, cost, err := graph.CostWithin("gapa: the pass over inputs", predictBatch, f.limit/4, func(size int) (graph.Pass, error) {
		return f.site.write(input, size, more)
	})
	if err != nil {
		return err
	}
	plan.Pass(size, cost, rows, f.limit/4)
	return nil
}

// centreBytes is the memory of the groups of the centres.
func (f *fitting) centreBytes() int64 {
	k := min(f.s.Neighbours, f.s.Cached)
	return gp.Numbers(min(f.s.Centres, f.s.Cached), k, k+f.site.width())
}

// planNearest counts the search of the k nearest of m points of d numbers for so many rows, and their kernels.
func planNearest(plan *gp.Plan, rows float64, k, m, d int) {
	k = min(k, m)
	plan.Products(rows * float64(m*d+k*k*d/2+k*k*k/3))
	plan.Elements(rows * float64(2*m+k*k))
	plan.Beside(nearestBytes(k, m, d))
}

// nearestBytes is the memory of the search of the k nearest of m points of d numbers.
func nearestBytes(k, m, d int) int64 {
	k = min(k, m)
	return int64(kernel.Threads()) * gp.Numbers(k, k+d)
}

// lossArrays is how many numbers a step that learns variances computes for each output of a row.
const lossArrays = 8

// planScales counts the learning of the variances, and the choice of their factor by the held-out rows.
func (f *fitting) planScales(plan *gp.Plan, c, d, held int) {
	batch := min(scaleBatch, f.learners)
	if f.s.Scales == scalesSpread {
		plan.Beside(gp.Numbers(f.s.Cached, d))
	}
	if f.learners > 0 {
		steps := float64(f.s.ScaleSteps)
		plan.Elements(steps * float64(batch*c) * float64(2*d+8))
		plan.Elements(steps / scaleCheck * float64(held*c) * float64(d+8))
	}
	plan.Beside(gp.Numbers(lossArrays, batch, c))
	if held > 0 {
		plan.Elements(float64(len(f.mixtures())) * float64(held*c) * 8)
		plan.Beside(gp.Numbers(lossArrays, held, c))
	}
}
