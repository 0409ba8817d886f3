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

// Natural fits a layer as [Fit] does, to the same objective, in some hundred to 2,000 steps
// instead of 40,000. It treats each unknown in its own way.
//
//   - A follows natural gradients, which average natural parameters over mini-batches. With
//     K̂_z = RRᵀ, whitened rows v = R⁻¹ k̂ and K_z A K_z = σ₀⁴ R T Rᵀ, a step is
//     T ← (1−ρ) T + ρ Σ_b Σ_c w_b λ_bc v_bc v_bcᵀ,   λ_bc = −2 ∂ℓ_b/∂Q_cc
//     (Khan and Rue 2023; Adam, Chang, Khan and Solin 2021). ρ is 2/(t+2), which weighs
//     step t by t. It does not fall below what averages over an epoch or two, since Z moves,
//     and it is smaller where a step would go too far. For Gaussian noise and α = 0 the
//     fixed point is that of Prop. 2 of the paper, and one step over all data reaches it.
//   - σ₀ is found by comparison: the fit runs at several values of σ₀ at once, which share the
//     network's Jacobians, and keeps the one that predicts held-out examples best.
//   - Z and the likelihood's parameters follow Adam, as in Fit.
//   - Mini-batches prefer examples with a large |λ|, since most λ are near 0. The weights w_b
//     make up for that.
//
// The algebra is in float64 whatever the network holds. The layer starts from its Z and its
// σ₀, which may be wrong by a factor of some hundred. Its L at the start is not used.
type Natural struct {
	Net        layers.Network
	Layer      *Layer
	Likelihood likelihood.Likelihood
	Alpha      *float64 // see Objective

	// FixInducing keeps Z at its start values, FixPrior keeps σ₀, and FixLikelihood keeps
	// the likelihood's parameters. With Z fixed no step takes second derivatives of the
	// network.
	FixInducing, FixPrior, FixLikelihood bool

	BatchSize int    // 0 means 100
	Outputs   int    // of an example that a step looks at; 0 means 3, or all if there are fewer or the mini-batch is all examples
	Seed      uint64 // of the mini-batches
	// MemoryLimit is the largest number of bytes that a step may need. The validation may
	// need half as many in addition. 0 means no limit. A mini-batch that needs more is
	// computed in parts.
	MemoryLimit int64

	// ValidationX [n,…] and ValidationY [n,C] are examples held out. Their mean negative
	// log predictive density, each output by itself, decides on the best state and, with a
	// weak preference for a σ₀ near 1 where they cannot tell, on σ₀. Where all of them would
	// cost more than half of what the steps do, it is estimated from some. The result has the
	// value of the best σ₀ that was tried. The layer's σ₀ is where a parabola through the values
	// of this σ₀ and its two neighbours is lowest. Without examples held out σ₀ minimises the
	// objective, which is known to make it too small.
	ValidationX, ValidationY *tensor.Dense

	// Beside and ValidationBeside [N,C] are variances that another posterior adds to the
	// layer's at each of the examples, and at those held out; nil means none. The objective
	// is that of the sum, whose mean is the network's outputs.
	Beside, ValidationBeside *tensor.Dense

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
// element type. At its end it sets the layer's Z, L and σ₀ and the likelihood's parameters,
// to those of the smallest validation value where there are validation examples and
// Config.KeepLast is not set. Where the fit fails they are of no use. Errors are those of
// [train.Run], and one that wraps [ErrJitter] where K_z cannot be factored.
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
			return nil, cmp.Or(err, exportErr)
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
