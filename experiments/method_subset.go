package experiments

import (
	"context"
	"math"

	"github.com/go-valla/valla/gp/laplace"
)

// subset is GP-subset: exact LLA of some training rows as if they were all (Immer et al.
// 2021); the defaults are the paper's.
type subset struct {
	Points   int     `yaml:"points" json:"points" min:"1"`
	PriorStd float64 `yaml:"prior-std" json:"prior_std" min:"0"` // 0: chosen by the marginal likelihood
}

func newSubset() *subset { return &subset{Points: 500, PriorStd: math.Sqrt(0.04)} }

func (m *subset) Rows() []Method { return []Method{m} }

func (m *subset) Name() (string, int) { return "GP-Subset", 0 }

func (m *subset) Fit(ctx context.Context, p *Problem, j Job) (*Fitted, error) {
	return fitLaplace(ctx, p, laplace.Options{
		Likelihood: p.Task.Laplace(), Subset: min(m.Points, p.Train.N()), Seed: j.Seed, PriorStd: m.PriorStd, Progress: j.Meter.Pass(),
	})
}
