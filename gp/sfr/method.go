package sfr

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
)

// Method describes SFR in the table of methods.
var Method = gp.Method{
	Name:    "sfr",
	Title:   "Sparse function-space representation (SFR)",
	Summary: "The sparse Gaussian process at M training rows that is dual to LLA, computed from all rows in closed form; more rows can be added later.",
	Formula: "Q(x,x') = κ − κ_xz [K_z⁻¹ − (K_z + B_u)⁻¹] κ_zx',  B_u = Σ_n κ_zn Λ_n κ_nz",
	Symbols: "κ(x,x') = σ₀² J(x) J(x')ᵀ is the tangent kernel, where J is the network's Jacobian in its weights [C,P] and σ₀ is the prior standard deviation of the weights; K_z is κ among the M points z, and κ_xz and κ_zn are κ between them and x or row n; Λ_n is the curvature of the negative log-likelihood of row n in the outputs, averaged over targets of the observation model: 1/σ² with Gaussian noise σ, diag(p) − ppᵀ with the probabilities p of classes.",
	Cost:    "A fit takes the tangent kernel between all rows and M points for each of C outputs, and for each output memory for M² numbers and time proportional to M³; with joint outputs (M·C)² and (M·C)³.",
	Use:     "Choose SFR if rows arrive later, or for error bars that grow away from the training rows, from one pass over the data.",
	Source:  "Scannell, Mereu, Chang, Tamir, Pajarinen and Solin, Function-space Parameterization of Neural Networks for Sequential Learning, ICLR 2024",
	Joint:   true,
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are SFR's settings. The zero value of a field means its default. Standard
// deviations that are not given are those with the smallest negative log-likelihood on the
// validation rows; one pass over the data serves all that are tried.
type Settings struct {
	Points  int     `set:"points" default:"200" min:"1" help:"number M of training rows, drawn at random, at which the sparse Gaussian process has its inducing variables; at most all rows"`
	Outputs string  `set:"outputs" choice:"separate joint" help:"several outputs are a Gaussian process each, with the diagonal of the curvature as published, or one together, with all of it"`
	OwnMean bool    `set:"own-mean" help:"predict with SFR's own mean, which moves when rows are added, instead of the network's outputs"`
	Clip    float64 `set:"clip" default:"0" min:"0" below:"0.5" help:"for classification: ε, when probabilities in the curvature are kept from ε to 1 − ε; with separate outputs"`

	PriorStd  float64   `set:"prior-std" auto:"the best of prior-grid on the validation rows" above:"0" help:"prior standard deviation σ₀ of the weights"`
	Delta     float64   `set:"delta" auto:"none" above:"0" help:"weight decay δ of the network's training, whose loss was the mean negative log-likelihood plus δ/2 times the squared weights; σ₀² is 1/(δN) then"`
	PriorGrid []float64 `set:"prior-grid" auto:"21 values from 0.01 to 100, evenly spaced in the logarithm" above:"0" help:"prior standard deviations to try"`
	NoiseStd  float64   `set:"noise-std" auto:"the best of 9 from a quarter to four times the network's residual on the validation rows, the residual without these" above:"0" help:"noise standard deviation, in the units of the network's outputs; with several targets, in units of the residuals of each"`
}

const outputsJoint = "joint"

// Label implements gp.Settings.
func (s *Settings) Label() string {
	return label(cmp.Or(s.Points, 200), s.OwnMean, s.Outputs == outputsJoint)
}

// label names a posterior by its mean, its number of points and its form.
func label(points int, own, joint bool) string {
	name, form := "SFR-NN", ""
	if own {
		name = "SFR"
	}
	if joint {
		form = ", joint"
	}
	return fmt.Sprintf("%s %d%s", name, points, form)
}

// complete returns the settings for a problem with all defaults filled in, but for the
// standard deviations that are to be found. The errors wrap settings.ErrSetting.
func (s Settings) complete(p gp.Problem) (Settings, error) {
	if err := cmp.Or(settings.Complete(&s), s.check(p)); err != nil {
		return s, err
	}
	if s.PriorStd == 0 && s.Delta == 0 && s.PriorGrid == nil {
		s.PriorGrid = gp.LogSpaced(0.01, 100, 21)
	}
	s.PriorGrid = slices.Clone(s.PriorGrid)
	return s, nil
}

// check refuses settings that contradict each other or the problem.
func (s *Settings) check(p gp.Problem) error {
	given := 0
	for _, is := range []bool{s.PriorStd != 0, s.Delta != 0, s.PriorGrid != nil} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return settings.Errorf("prior-std %g, delta %g and a prior-grid of %d, expected one of them", s.PriorStd, s.Delta, len(s.PriorGrid))
	case s.Clip != 0 && !likelihood.IsClass(p.Likelihood):
		return settings.Errorf("clip %g without classes", s.Clip)
	case s.Outputs == outputsJoint && s.Clip != 0:
		return settings.Errorf("clip %g with joint outputs, expected separate ones", s.Clip)
	case p.Validation == nil && s.PriorStd == 0 && s.Delta == 0:
		return settings.Errorf("no validation rows, on which a prior standard deviation is found; expected them, a prior-std or a delta")
	}
	return gp.CheckNoiseStd(s.NoiseStd, p.Likelihood)
}

// candidates lists the standard deviations that are compared.
func (s *Settings) candidates(p gp.Problem) []gp.Candidate {
	priors := s.PriorGrid
	switch {
	case s.PriorStd > 0:
		priors = []float64{s.PriorStd}
	case s.Delta > 0:
		priors = []float64{1 / math.Sqrt(s.Delta*float64(p.Train.N()))}
	}
	return gp.Candidates(p, priors, s.NoiseStd)
}
