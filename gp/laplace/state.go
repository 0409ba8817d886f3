package laplace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// header is the header of a Posterior's State: what a file holds beside the arrays.
type header struct {
	Weights    []string      `json:"weights"`    // names of the uncertain parameters
	Structure  structureKind `json:"structure"`  // of H
	Space      spaceKind     `json:"space"`      // of the structure Full
	Likelihood string        `json:"likelihood"` // name of the observation model
	Priors     priorsKind    `json:"priors"`     // which weights share a σ₀
	PriorStds  []float64     `json:"prior_stds"` // σ₀ by group of weights
	NoiseStd   float64       `json:"noise_std"`  // 0 where there is no noise

	Rank     int   `json:"rank,omitempty"`  // of the structure LowRank
	Exact    bool  `json:"exact,omitempty"` // see Options
	Examples int   `json:"examples"`        // number of examples in H
	Input    []int `json:"input"`           // shape of one
	Outputs  int   `json:"outputs"`         // C
	Batch    int   `json:"batch"`           // size; the last bits of predictions depend on it
	Limit    int64 `json:"memory_limit"`    // bytes

	Residuals     float64 `json:"squared_residuals"` // with Gaussian noise: sum over examples and outputs
	LogLikelihood float64 `json:"log_likelihood"`    // with other likelihoods: sum over examples
}

// maxStateBatch bounds the memory that the batch of a header may ask for.
const maxStateBatch = 4096

// header returns the header of the posterior's State.
func (p *posterior) Header() header {
	h := header{
		Structure: kindFull, Space: spaceSmaller, Likelihood: p.evidence.likelihood.String(), Priors: p.priors,
		PriorStds: p.PriorStds(), NoiseStd: p.NoiseStd(),
		Examples: p.examples, Input: p.scan.x.Shape()[1:].Clone(), Outputs: p.scan.outputs,
		Batch: min(p.scan.batch, maxStateBatch), Limit: p.limit, Exact: p.exact,
		Residuals: p.evidence.residuals, LogLikelihood: p.evidence.logLikelihood(p.hyper.noise),
	}
	h.Weights = layers.Names(p.scan.weights)
	p.structure.describe(&h)
	return h
}

// State implements gp.Stored. The header is a Header, and the arrays, which are not to be
// changed, are in float64:
//
//	Full      the lower triangle of H [P(P+1)/2], or in function space the inputs
//	          [N,…], from which the Jacobian is computed again
//	KFAC      eigenvalues [p] and eigenvectors [p,p] of each factor
//	Diagonal  the diagonal by parameter, [P] in all
//	LowRank   the eigenvectors, each times the root of its eigenvalue [Rank,P]
func (p *posterior) State() (gp.State, error) {
	s := gp.State{Header: p.Header()}
	err := p.structure.fields(func(name string, v *[]float64, shape ...int) error {
		s.Arrays = append(s.Arrays, gp.Array{Name: name, Value: dense.Of(*v, shape...)})
		return nil
	})
	return s, err
}

// restorePosterior returns the posterior that State took apart, on the same network and with the
// same kind of likelihood: it has the same predictions, bit for bit on the same kind of
// machine, and every method. It takes a factorisation, and in function space also a pass
// over the examples. A header or an array that no posterior has is an error.
func restorePosterior(ctx context.Context, net layers.Network, l likelihood.Likelihood, s gp.Saved) (*posterior, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	if err := h.check(l); err != nil {
		return nil, err
	}
	p, err := unfitted(net, h.Input, h.Outputs, h.Examples, h.options(l))
	if err != nil {
		return nil, err
	}
	at := hyper{slices.Clone(h.PriorStds), h.NoiseStd}
	if !noisy(l) {
		at.noise = 1
	}
	if len(at.prior) != len(p.prior.names) || at.free() {
		return nil, fmt.Errorf("laplace: prior standard deviations %s and noise standard deviation %g, expected positive ones for %q",
			list(h.PriorStds), h.NoiseStd, p.prior.names)
	}
	p.evidence.residuals, p.evidence.logLik = h.Residuals, h.LogLikelihood
	if err := p.fill(ctx, s); err != nil {
		return nil, err
	}
	return p.with(ctx, at)
}

// fill gives a new posterior its sums over weights and data.
func (p *posterior) fill(ctx context.Context, s gp.Saved) error {
	if err := p.addWeights(); err != nil {
		return err
	}
	err := p.structure.fields(func(name string, v *[]float64, shape ...int) error {
		t, err := s.Array(name, tensor.Float64, shape...)
		if err == nil {
			*v = t.Float64s()
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.rebuild(ctx)
}

// rebuild computes what is not among the fields.
func (p *posterior) rebuild(ctx context.Context) error {
	if f, ok := p.structure.(*functionSpace); ok {
		f.allocate()
		x := dense.Of(f.x, append([]int{p.examples}, p.scan.x.Shape()[1:]...)...)
		if err := p.sum(ctx, gp.Examples{X: x}, func(batch, []float64) {}); err != nil {
			return err
		}
		return f.finish(ctx)
	}
	return p.structure.(interface{ rebuild(context.Context) error }).rebuild(ctx)
}

// check refuses a header that no fit gives, or a header of another likelihood.
func (h header) check(l likelihood.Likelihood) error {
	const most = 1 << 30
	size := h.Outputs
	for _, v := range h.Input {
		size = min(most+1, size*min(most, max(0, v)))
	}
	switch {
	case l == nil || l.String() != h.Likelihood:
		return fmt.Errorf("laplace: the posterior has the likelihood %v, expected %v", h.Likelihood, l)
	case h.Examples < 1 || h.Examples > 1<<40 || h.Rank < 0 || h.Limit < 1:
		return fmt.Errorf("laplace: %d examples, rank %d and a memory limit of %d bytes, expected positive numbers", h.Examples, h.Rank, h.Limit)
	case len(h.Input) == 0 || slices.Min(h.Input) < 1 || h.Outputs < 1 || size > most:
		return fmt.Errorf("laplace: inputs of shape %v and %d outputs, expected positive numbers", h.Input, h.Outputs)
	case h.Batch < 1 || h.Batch > maxStateBatch:
		return fmt.Errorf("laplace: batches of %d, expected 1 to %d", h.Batch, maxStateBatch)
	case !(h.Residuals >= 0) || !kernel.Finite(h.Residuals) || !kernel.Finite(h.LogLikelihood):
		return fmt.Errorf("laplace: squared residuals %g and log likelihood %g, expected finite numbers", h.Residuals, h.LogLikelihood)
	case len(h.Weights) == 0:
		return errors.New("laplace: no uncertain weights, expected the names of some")
	case h.Structure == kindLowRank && h.Rank == 0:
		return fmt.Errorf("laplace: rank 0 for the structure %v", h.Structure)
	case h.Structure == kindFull && h.Space == spaceSmaller:
		return fmt.Errorf("laplace: space %v for the structure %v, expected %v or %v", h.Space, h.Structure, spaceWeights, spaceFunctions)
	}
	if err := h.options(l).check(); err != nil {
		return err
	}
	return hyper{h.PriorStds, h.NoiseStd}.check(noisy(l))
}

func (h header) options(l likelihood.Likelihood) options {
	return options{
		Weights: h.Weights, Structure: h.Structure, Space: h.Space, Likelihood: l,
		Priors: h.Priors, Rank: h.Rank, Exact: h.Exact, BatchSize: h.Batch, MemoryLimit: h.Limit, stored: true,
	}
}
