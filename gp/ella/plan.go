package ella

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/along"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/layers"
)

var _ gp.Estimator = (*Settings)(nil)

// Estimate implements gp.Estimator.
func (s *Settings) Estimate(_ context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	return gp.EstimateBy(p, s.complete, func(c Settings) (*gp.Plan, error) { return c.plan(p, r, c.draw(p, r.Seed)) })
}

// plan counts the fit with complete settings and the given points.
func (s Settings) plan(p gp.Problem, r gp.Run, at points) (*gp.Plan, error) {
	if err := checkOutputs(p); err != nil {
		return nil, err
	}
	m, c, limit := at.n(), p.Outputs(), r.Limit()
	k := min(s.Rank, m)
	plan := &gp.Plan{What: fmt.Sprintf("ella: %d points and %d directions", m, k), Cheaper: "a smaller value of the setting points"}
	plan.Hold(gp.Numbers(m, m))
	plan.Beside(eigen.LargestBytes(m, k))
	if err := plan.Check(limit); err != nil {
		return nil, err
	}
	if err := s.planDirections(plan, p, at, k, limit); err != nil {
		return nil, err
	}
	held := p.Held()
	plan.Hold(heldOutBytes(held, c, k))
	if err := along.Plan(plan, p, p.Train.N()+held, k, limit, true); err != nil {
		return nil, err
	}
	plan.Products(float64(p.Train.N()*c)*float64(k*k)/2 + float64(held*c)*float64(k*k))
	plan.EigenSystem(float64(k), 1)
	plan.Elements(4*float64(p.Train.N())*float64(c*k) + 2*float64(len(s.candidates(p))*held)*float64(c*k))
	return plan, plan.Check(limit)
}

// planDirections counts the kernel of the points, its leading eigenvectors and the directions.
func (s Settings) planDirections(plan *gp.Plan, p gp.Problem, at points, k int, limit int64) error {
	m := at.n()
	of := at.picked(p.Net)
	x := at.inputs(of)
	g, err := halved("ella: the kernel of the points", m, limit-gp.Numbers(m, m), func(size int) (*blocks, int64, error) {
		return planBlocks(of, x, size)
	})
	if err != nil {
		return err
	}
	starts := float64(len(startsOf(m, g.size)))
	plan.Beside(g.bytes())
	plan.Run(g.drafts[0].Cost(), starts)
	if g.cross != nil {
		plan.Run(g.drafts[1].Cost(), starts*(starts-1)/2)
	}
	plan.Products(float64(m) * float64(m) * float64(eigenPasses*(k+eigenPasses)))
	r, err := halved("ella: the directions", m, limit, func(size int) (*reverse, int64, error) { return planReverse(p.Net, at, size) })
	if err != nil {
		return err
	}
	plan.Beside(r.draft.Bytes())
	plan.Run(r.draft.Cost(), float64(k*len(startsOf(m, r.size))))
	plan.Hold(int64(k) * int64(layers.Count(p.Net)) * int64(p.Dtype().Size()))
	return nil
}

// eigenPasses is about how many products with the kernel of the points find each of its leading eigenvectors.
const eigenPasses = 8
