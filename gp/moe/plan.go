package moe

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
)

var _ gp.Estimator = (*Settings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return gp.EstimateBy(p, s.complete, func(c Settings) (*gp.Plan, error) {
		return (&fitting{p: p, r: r, s: c, asked: s.Experts, limit: r.Limit()}).plan(ctx)
	})
}

// neighboursOfOne is how many clusters lie next to one of so many, on average, in a plane: the edges of a triangulation
// of E points of which h are corners of the convex hull are 3E-3-h, and h of normal points is about 1.6 + 1.7 ln E
// (measured with up to 40 points). Cells in a row have two each, but for those at the ends.
func neighboursOfOne(clusters int, inRow bool) float64 {
	if inRow {
		return 2 * float64(clusters-1) / float64(clusters)
	}
	if clusters <= 3 {
		return float64(clusters - 1)
	}
	e := float64(clusters)
	return 2 * (3*e - 3 - min(e, 1.6+1.7*math.Log(e))) / e
}

// plan counts the fit: LLA of all rows, the gate, and as many fits of LLA as there are experts, each of its share of
// the rows.
func (f *fitting) plan(ctx context.Context) (*gp.Plan, error) {
	plan := &gp.Plan{What: "moe: the experts", Cheaper: "a smaller value of the setting experts"}
	n := f.p.Train.N()
	clusters := min(f.s.Experts, n)
	each := min(n, (n+clusters-1)/clusters)
	if !f.s.Alone {
		each = min(n, int(float64(each)*(1+neighboursOfOne(clusters, f.inRow()))))
	}
	if err := f.fits(slices.Repeat([]int{each}, clusters)); err != nil {
		return nil, err
	}
	if f.prior = f.s.PriorStd; f.prior == 0 || f.s.NoiseStd == 0 && likelihood.Noisy(f.p.Likelihood) {
		all, err := f.allRows().Estimate(ctx, f.problem(f.p.Train), gp.Run{Memory: f.limit})
		if err != nil {
			return nil, err
		}
		plan.Beside(all.Bytes)
		plan.Seconds(all.Seconds)
	}
	s := f.lla()
	s.PriorStd = 1
	if likelihood.Noisy(f.p.Likelihood) {
		s.NoiseStd = 1
	}
	one, err := s.Estimate(ctx, f.problem(f.p.Train.Rows(dense.Indices(each))), gp.Run{Memory: f.limit})
	if err != nil {
		return nil, err
	}
	plan.Hold(int64(clusters) * one.Kept)
	plan.Fits(one, float64(clusters))
	row := plan.Prediction()
	row.Rows(one, 1)
	row.Hold(int64(clusters) * one.RowBytes)
	if err := f.planGate(plan, n); err != nil {
		return nil, err
	}
	return plan, plan.Check(f.limit)
}

// planGate counts the kernel of all rows with the points of the gate.
func (f *fitting) planGate(plan *gp.Plan, n int) error {
	if f.inRow() {
		return nil
	}
	g := &gate{points: dense.Rows(f.p.Train.X, 0, min(f.s.Points, n))}
	size, cost, err := graph.CostWithin("moe: the kernel with the points", gateBatch, f.limit, func(size int) (graph.Pass, error) {
		return g.write(f.p.Net, size)
	})
	if err != nil {
		return err
	}
	m := g.points.Shape()[0]
	plan.Pass(size, cost, n+m, f.limit)
	plan.Hold(gp.Numbers(m, m))
	row := plan.Prediction()
	row.Run(cost, 1/float64(size))
	row.Hold(cost.Bytes / int64(size))
	return nil
}

// order is the order of the matrix of LLA of all rows.
func (f *fitting) order() int { return min(layers.Count(f.p.Net), f.p.Train.N()*f.p.Outputs()) }
