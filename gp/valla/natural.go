package valla

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Natural fits a layer as [Fit] does, to the same objective, in a thousand steps
// instead of 40,000:
//
//   - A by natural gradients, which are averages of natural parameters,
//     T ← (1−ρ) T + ρ Σ_b Σ_c w_b λ_bc v_bc v_bcᵀ with K̂_z = RRᵀ, v = R⁻¹ k̂,
//     K_z A K_z = σ₀⁴ R T Rᵀ and λ_bc = −2 ∂ℓ_b/∂Q_cc (Khan and Rue 2023; Adam, Chang, Khan
//     and Solin 2021), with ρ = 2/(t+2), which weighs step t by t, down to an average over
//     an epoch or two while Z moves, and less where a step would go too far. Prop. 2 of the
//     paper is the fixed point for Gaussian noise and α = 0; one step over all of the data
//     is there.
//   - σ₀ by comparison: the fit goes on at several σ₀ at once, which share the network's
//     Jacobians, and the best on held-out examples is kept (see ladder).
//   - Z by Adam, as in Fit, and so the likelihood's parameters.
//   - mini-batches drawn with probability by |λ|, since most λ are near 0.
//
// The algebra is in float64 whatever the network holds. The layer starts from its Z and
// σ₀, which need only be right to a factor of some hundred; its L is not used.
//
// The code, in the order of a step: draws.go deals a mini-batch, whiten.go turns the network's
// outputs and the kernel into whitened rows, natural_step.go makes the step of A, ladder.go
// holds what it changes, validation.go compares the σ₀, and natural_inputs.go has the
// gradient for Z. The formulas are in basis.go.
type Natural struct {
	Net        layers.Network
	Layer      *Layer
	Likelihood likelihood.Likelihood
	Alpha      *float64 // see Objective

	// FixInducing keeps Z, and then no step takes second derivatives of the network;
	// FixPrior keeps σ₀, FixLikelihood the likelihood's parameters.
	FixInducing, FixPrior, FixLikelihood bool

	BatchSize int    // 0 means 100
	Seed      uint64 // of the mini-batches
	// MemoryLimit is how many bytes a step may need, and the validation beside it half
	// as many; 0 means as many as it takes. Where a mini-batch needs more it is computed
	// in parts.
	MemoryLimit int64

	// ValidationX [n,…] and ValidationY [n,C] are examples held out, by whose mean
	// negative log predictive density σ₀ and the best state are chosen. The layer's σ₀ lies
	// at the lowest point between the best one tried, whose value the result has, and its
	// neighbours. Without examples held out σ₀ minimises the objective, which is known to
	// make it too small.
	ValidationX, ValidationY *tensor.Dense

	// Config is the training loop's; its Validate is the fit's own. Iterations 0 means
	// 1,000, a nil Optimizer Adam with the step 1e-2, a nil Schedule half a cosine to 0,
	// and ValidateEvery 0 a twentieth of the iterations.
	Config train.Config
}

// NaturalResult describes a natural-gradient fit.
type NaturalResult struct {
	*train.Result
	// Jitter is the most that was added to the diagonal of K_z to factor it, as a
	// fraction of its mean: 1e-6 or more in float32.
	Jitter float64
}

// Run minimises the objective over inputs x [N,…] and targets y [N,C] of the network's
// element type. It sets the layer's Z, L and σ₀ and the likelihood's parameters, to those
// of the smallest validation value where there are validation examples. Errors are those
// of [train.Run], and one that wraps [ErrJitter] where K_z cannot be factored.
func (f Natural) Run(ctx context.Context, x, y *tensor.Dense) (*NaturalResult, error) {
	f, err := f.complete()
	if err != nil {
		return nil, err
	}
	n, err := newNatural(ctx, f, x, y)
	if err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	if f.ValidationX != nil {
		f.Config.Validate = n.validate
	}
	res, err := train.Run(ctx, n, f.Config)
	if res == nil {
		return nil, err
	}
	if res.Stopped != train.Failed {
		if exportErr := n.export(); exportErr != nil {
			return nil, errors.Join(err, exportErr)
		}
	}
	return &NaturalResult{Result: res, Jitter: n.jitter}, err
}

// complete fills in the defaults.
func (f Natural) complete() (Natural, error) {
	if f.Config.Validate != nil {
		return f, errors.New("valla: a natural-gradient fit validates by itself; expected Config.Validate nil")
	}
	f.BatchSize = cmp.Or(f.BatchSize, 100)
	f.Config.Iterations = cmp.Or(f.Config.Iterations, 1000)
	f.Config.ValidateEvery = cmp.Or(f.Config.ValidateEvery, max(1, f.Config.Iterations/20))
	if f.Config.Optimizer == nil {
		f.Config.Optimizer = &train.Adam{LR: 1e-2}
	}
	if f.Config.Schedule == nil {
		f.Config.Schedule = train.Cosine(0)
	}
	return f, nil
}
