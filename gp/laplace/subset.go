package laplace

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/settings"
)

// SubsetMethod is GP-subset. Its settings are [SubsetSettings].
var SubsetMethod = gp.Method{
	Name:    "gp-subset",
	Title:   "Gaussian process on a subset of the data",
	Summary: "Exact LLA on some training rows, drawn at random, as if they were all rows.",
	Formula: "Q(x,x') = J(x) (H + I/σ₀²)⁻¹ J(x')ᵀ,  H = Σ_n J_nᵀ Λ_n J_n over the subset",
	Symbols: "J is the network's Jacobian in its weights [C,P], and J_n is J at row n; Λ_n is the curvature of the negative log-likelihood of row n in the outputs, averaged over targets of the observation model: 1/σ² with Gaussian noise σ, diag(p) − ppᵀ with the probabilities p of classes; σ₀ is the prior standard deviation of the weights.",
	Cost:    "A fit takes memory for min(P, points·C)² numbers and time proportional to min(P, points·C)³, for any number of rows.",
	Use:     "Choose this method as a baseline; it ignores all rows outside the subset.",
	Source:  "Immer, Korzepa and Bauer 2021, Improving predictions of Bayesian neural nets via local linearization",
	Joint:   true,

	New:     func() gp.Settings { return new(SubsetSettings) },
	Restore: restoring(true),
}

// subsetLabel names a posterior of SubsetMethod.
const subsetLabel = "GP-Subset"

// SubsetSettings are the settings of GP-subset, see [SubsetMethod]; the defaults are those
// of Immer et al. (2021). The noise maximises the marginal likelihood.
type SubsetSettings struct {
	Points   int     `set:"points" default:"500" min:"1" help:"number of training rows, drawn at random; at most all of them"`
	PriorStd float64 `set:"prior-std" default:"0.2" above:"0" help:"prior standard deviation of each weight"`
}

// Label implements gp.Settings.
func (s *SubsetSettings) Label() string { return subsetLabel }

// complete returns the settings with their defaults, and a note where there are fewer rows.
func (s *SubsetSettings) complete(p gp.Problem) (c SubsetSettings, notes []string, err error) {
	c = *s
	if err := settings.Complete(&c); err != nil {
		return c, nil, err
	}
	if n := p.Train.N(); c.Points > n {
		if s.Points > 0 {
			notes = []string{fmt.Sprintf("The subset has all %d rows instead of %d.", n, c.Points)}
		}
		c.Points = n
	}
	return c, notes, nil
}

// Fit implements gp.Settings, with the errors of the function fitOptions.
func (s *SubsetSettings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	c, notes, err := s.complete(p)
	if err != nil {
		return nil, err
	}
	q, err := fit(ctx, p, r, options{Subset: c.Points, PriorStd: c.PriorStd})
	if err != nil {
		return nil, err
	}
	q.subset = true
	return q.fitted(ctx, p, settings.Map(&c), notes)
}
