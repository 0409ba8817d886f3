package moe

import (
	"cmp"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/settings"
)

// Method describes MoE LLA in the table of methods.
var Method = gp.Method{
	Name:    "moe-lla",
	Title:   "Mixture of experts of linearized Laplace approximations (MoE LLA)",
	Summary: "Exact LLA of the rows near an input: each cluster of rows has its own expert.",
	Formula: "Q(x,x) = J(x) (Σ_n J_nᵀ Λ_n J_n + I/σ₀²)⁻¹ J(x)ᵀ over the rows n of the cluster of x and of its neighbours",
	Symbols: "J is the network's Jacobian in its weights [C,P], and J_n is J at row n; Λ_n is the curvature of the negative log-likelihood of row n in the outputs, averaged over targets of the observation model: 1/σ² with Gaussian noise σ, diag(p) − ppᵀ with the probabilities p of classes; σ₀ is the prior standard deviation of the weights.",
	Cost:    "An expert with n rows takes memory for min(P, n·C)² numbers and time proportional to min(P, n·C)³; with experts of equal size the cost is linear in the number of rows.",
	Use:     "Choose MoE LLA if the matrices of LLA are too large; its variances are local, and equal the variances of LLA or exceed them.",
	Source:  "Lee, Humt, Feng and Triebel 2020, Estimating model uncertainty of neural networks in sparse information form; Lee et al. 2021, Trust your robots! Predictive uncertainty estimation of neural networks with sparse Gaussian processes",
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are the settings of MoE LLA. The zero value of a field means its default. All experts
// share the standard deviations; those that are not given maximise the marginal likelihood of
// LLA of all rows.
type Settings struct {
	Experts  int     `set:"experts" auto:"one for each 100 rows, at least 1 and at most 50" min:"1" help:"number of clusters of rows, each with an expert; at most the different points"`
	Points   int     `set:"points" default:"500" min:"1" help:"number of training rows, drawn at random, from whose kernel the scores are found; at most all rows"`
	Alone    bool    `set:"alone" help:"give an expert only the rows of its own cluster, without the rows of neighbouring clusters"`
	PriorStd float64 `set:"prior-std" auto:"found" above:"0" help:"prior standard deviation σ₀ of the weights"`
	NoiseStd float64 `set:"noise-std" auto:"found" above:"0" help:"noise standard deviation, in the units of the network's outputs; with several targets, in units of the residuals of each"`
}

// Label implements gp.Settings.
func (s *Settings) Label() string { return label(s.Experts) }

// label names a posterior by its number of experts; 0 stands for the default.
func label(experts int) string {
	if experts == 0 {
		return "MoE LLA"
	}
	return fmt.Sprintf("MoE LLA %d", experts)
}

// complete returns the settings for a problem with all defaults filled in, but for the
// standard deviations that are to be found. The errors wrap settings.ErrSetting.
func (s Settings) complete(p gp.Problem) (Settings, error) {
	err := cmp.Or(settings.Complete(&s), gp.CheckNoiseStd(s.NoiseStd, p.Likelihood))
	s.Experts = cmp.Or(s.Experts, max(1, min(50, p.Train.N()/100)))
	return s, err
}
