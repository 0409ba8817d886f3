package ella

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
)

// Method describes ELLA in the table of methods.
var Method = gp.Method{
	Name:    "ella",
	Title:   "Accelerated linearized Laplace approximation (ELLA)",
	Summary: "LLA of K directions of the weights: the directions along which the outputs at M training rows change most.",
	Formula: "Q(x,x') = φ(x) (Σ_n φ_nᵀ Λ_n φ_n + I/σ₀²)⁻¹ φ(x')ᵀ,  φ(x) = J(x) v",
	Symbols: "J is the network's Jacobian in its weights [C,P]; v has the K directions [P,K], of length 1; φ_n is φ at row n; Λ_n is the curvature of the negative log-likelihood of row n in the outputs, averaged over targets of the observation model: 1/σ² with Gaussian noise σ, diag(p) − ppᵀ with the probabilities p of classes; σ₀ is the prior standard deviation of the weights.",
	Cost:    "The fit takes the tangent kernel of M points and K reverse passes for each point. Each row of the data, and each prediction, then takes the smaller number of K derivatives along directions and C derivatives of outputs. The memory is M² + K·P numbers.",
	Use:     "Choose ELLA for variances near the training rows from one pass over the data; far from the training rows its variances are too small.",
	Source:  "Deng, Zhou and Zhu, Accelerated Linearized Laplace Approximation for Bayesian Deep Learning, NeurIPS 2022",
	Joint:   true,
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are ELLA's settings. The zero value of a field means its default. Standard
// deviations that are not given are those with the smallest negative log-likelihood on the
// validation rows; one pass over the data serves all that are tried.
type Settings struct {
	Points      int    `set:"points" default:"2000" min:"1" help:"number M of training rows, drawn at random with one output each, among whose Jacobians the directions are found; at most all rows"`
	Rank        int    `set:"rank" default:"20" min:"1" help:"number K of directions; as many as the points have at most"`
	PointOutput string `set:"point-output" choice:"random label" help:"the output of a point: drawn at random, or the class of the point"`
	Balanced    bool   `set:"balanced" help:"draw as many points from each class"`

	PriorStd  float64   `set:"prior-std" auto:"the best of prior-grid on the validation rows" above:"0" help:"prior standard deviation σ₀ of the weights"`
	PriorGrid []float64 `set:"prior-grid" auto:"21 values from 0.01 to 100, evenly spaced in the logarithm" above:"0" help:"prior standard deviations to try"`
	NoiseStd  float64   `set:"noise-std" auto:"the best of 9 from a quarter to four times the network's residual on the validation rows, the residual without these" above:"0" help:"noise standard deviation, in the units of the network's outputs; with several targets, in units of the residuals of each"`

	EarlyStopping bool `set:"early-stopping" help:"go through the rows in random order and keep the state that predicts the validation rows best"`
	CheckEvery    int  `set:"check-every" auto:"1000 with early-stopping" min:"1" help:"rows between two looks at the validation rows"`
}

const (
	outputLabel       = "label"
	defaultCheckEvery = 1000
)

// Label implements gp.Settings.
func (s *Settings) Label() string { return label(cmp.Or(s.Points, 2000)) }

// label names a posterior by its number of points.
func label(points int) string { return fmt.Sprintf("ELLA %d", points) }

// complete returns the settings for a problem with all defaults filled in, but for the
// standard deviations that are to be found. The errors wrap settings.ErrSetting.
func (s Settings) complete(p gp.Problem) (Settings, error) {
	if err := cmp.Or(settings.Complete(&s), s.check(p)); err != nil {
		return s, err
	}
	if s.EarlyStopping && s.CheckEvery == 0 {
		s.CheckEvery = defaultCheckEvery
	}
	if s.PriorStd == 0 && s.PriorGrid == nil {
		s.PriorGrid = gp.LogSpaced(0.01, 100, 21)
	}
	s.PriorGrid = slices.Clone(s.PriorGrid)
	return s, nil
}

// check refuses settings that contradict each other or the problem.
func (s *Settings) check(p gp.Problem) error {
	classes := likelihood.IsClass(p.Likelihood)
	switch {
	case !classes && s.PointOutput == outputLabel:
		return settings.Errorf("point-output %s without classes, expected random", s.PointOutput)
	case !classes && s.Balanced:
		return settings.Errorf("balanced without classes")
	case s.PriorStd != 0 && s.PriorGrid != nil:
		return settings.Errorf("prior-std %g together with a prior-grid, expected one of them", s.PriorStd)
	case s.CheckEvery != 0 && !s.EarlyStopping:
		return settings.Errorf("check-every %d without early-stopping", s.CheckEvery)
	case p.Validation == nil && s.EarlyStopping:
		return settings.Errorf("early-stopping without validation rows")
	case p.Validation == nil && s.PriorStd == 0:
		return settings.Errorf("no validation rows, on which a prior standard deviation is found; expected them or a prior-std")
	}
	return gp.CheckNoiseStd(s.NoiseStd, p.Likelihood)
}
