package laplace

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/layers"
)

// Method is the LLA family. Its settings are [Settings].
var Method = gp.Method{
	Name:    "lla",
	Title:   "Linearized Laplace approximation (LLA)",
	Summary: "A Gaussian over the weights of the linearized network, whose precision is the generalised Gauss-Newton matrix, exact or in a smaller form.",
	Formula: "Q(x,x') = J(x) (H + I/σ₀²)⁻¹ J(x')ᵀ,  H = Σ_n J_nᵀ Λ_n J_n",
	Symbols: "J is the network's Jacobian in its weights [C,P], and J_n is J at row n; Λ_n is the curvature of the negative log-likelihood of row n in the outputs, averaged over targets of the observation model: 1/σ² with Gaussian noise σ, diag(p) − ppᵀ with the probabilities p of classes; σ₀ is the prior standard deviation of the weights.",
	Cost:    "A fit is one pass over the data. With P weights, N rows and C outputs, full takes memory for min(P, N·C)² numbers and time proportional to min(P, N·C)³; kfac and diag take little more time and memory than the network.",
	Use:     "Choose the structure full if the network has a few thousand weights or the data have a few thousand rows. Otherwise choose the last layer or kfac.",
	Source:  "Immer, Korzepa and Bauer 2021, Improving predictions of Bayesian neural nets via local linearization; Ritter, Botev and Barber 2018, A scalable Laplace approximation for neural networks",
	Joint:   true,

	New:     func() gp.Settings { return new(Settings) },
	Restore: restoring(false),
}

// restoring returns the Restore of Method, or of SubsetMethod if subset is set.
func restoring(subset bool) func(context.Context, layers.Network, likelihood.Likelihood, gp.Saved) (gp.Stored, error) {
	return func(ctx context.Context, net layers.Network, l likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
		p, err := restorePosterior(ctx, net, l, s)
		if err != nil {
			return nil, err
		}
		p.subset = subset
		return p, nil
	}
}

var _ gp.Stored = (*posterior)(nil)

// fit is Fit for a problem and a run.
func fit(ctx context.Context, p gp.Problem, r gp.Run, o options) (*posterior, error) {
	o.Likelihood, o.Seed, o.MemoryLimit = p.Likelihood, r.Seed, r.Memory
	o.Progress, o.Products = r.Tell("rows"), r.Tell("rows of the kernel")
	return fitOptions(ctx, p.Net, p.Train.X, p.Train.Y, o)
}

// maximised reports whether settings let the marginal likelihood find hyper-parameters. GP-subset has no
// setting for that.
func maximised(given map[string]any) bool {
	return given["hyper"] == nil || given["hyper"] == hyperMarglik
}

// fitted returns the posterior with the record of its fit.
func (p *posterior) fitted(ctx context.Context, of gp.Problem, given map[string]any, notes []string) (*gp.Fitted, error) {
	effective := p.factor.effective(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := gp.Record{
		Rows: p.examples, ValidationRows: of.Held(), Untouched: of.Validation != nil && (maximised(given) || given["hyper"] == hyperFixed),
		Settings: given, PriorStds: p.PriorStds(), Notes: notes,
		Facts: []gp.Fact{
			{Name: "parameters", Value: float64(p.Parameters())},
			{Name: "effective parameters", Value: effective},
			{Name: "log marginal likelihood", Value: p.LogMarginalLikelihood()},
		},
	}
	if l := of.Likelihood; maximised(given) && !likelihood.IsGaussian(l) && !likelihood.IsClass(l) {
		r.Notes = append(r.Notes, fmt.Sprintf("The marginal likelihood is Laplace's approximation with the mean curvature of the likelihood %v.", l))
	}
	if p.priors != priorsShared {
		r.Groups = p.Priors()
	}
	return &gp.Fitted{Posterior: p, NoiseVariance: p.NoiseStd() * p.NoiseStd(), Record: r}, nil
}
