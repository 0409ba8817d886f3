package model

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
)

// Hyper says how the hyper-parameters of an LLA posterior are found.
type Hyper string

const (
	MarginalLikelihood Hyper = "marglik" // they maximise it
	GridSearch         Hyper = "grid"    // they have the smallest NLL of the rows held out
	FixedHyper         Hyper = "fixed"   // they are given
)

// LLAOptions say how [FitLLA] makes a posterior. Start from [LLADefaults].
type LLAOptions struct {
	Structure laplace.Structure
	Rank      int             // of laplace.LowRank; 0 means 100
	Weights   laplace.Weights // the uncertain ones; nil means all
	Subset    int             // rows that are taken for all, drawn at random; 0 means all

	Hyper    Hyper
	Priors   laplace.Priors  // which weights share a σ₀
	PriorStd float64         // σ₀; 0 means to find it
	NoiseStd float64         // of y, in its own units; 0 means to find it, or with FixedHyper the network's residual
	Ascent   *laplace.Ascent // how the marginal likelihood is maximised

	// Validation is the fraction of the rows that is held out: those that [Train] held
	// out with the same seed, so that the posterior is of the data of the network.
	Validation float64
	Seed       uint64 // of the split and the subset

	MemoryLimit int64     // bytes; 0 means 4 GiB
	Progress    io.Writer // gets a progress bar where it is a terminal
}

// LLADefaults returns the options of full LLA with its marginal likelihood.
func LLADefaults() LLAOptions { return LLAOptions{Hyper: MarginalLikelihood, Validation: 0.1} }

func (o LLAOptions) check(m *Model) error {
	switch {
	case !slices.Contains([]Hyper{MarginalLikelihood, GridSearch, FixedHyper}, o.Hyper):
		return fmt.Errorf("%w: hyper-parameters by %q, expected %q, %q or %q", ErrOption, o.Hyper, MarginalLikelihood, GridSearch, FixedHyper)
	case o.PriorStd != 0 && !positive(o.PriorStd):
		return fmt.Errorf("%w: prior standard deviation %g, expected a positive number", ErrOption, o.PriorStd)
	case o.NoiseStd != 0 && !positive(o.NoiseStd):
		return fmt.Errorf("%w: noise standard deviation %g, expected a positive number", ErrOption, o.NoiseStd)
	case o.NoiseStd != 0 && m.Classes != nil:
		return fmt.Errorf("%w: a noise standard deviation for the classes of %q, which have none", ErrOption, m.Target)
	case o.Hyper == FixedHyper && o.PriorStd == 0:
		return fmt.Errorf("%w: fixed hyper-parameters need a prior standard deviation", ErrOption)
	case o.Hyper == GridSearch && (o.PriorStd != 0 || o.Priors != laplace.Shared || o.Ascent != nil):
		return fmt.Errorf("%w: a grid is of one free prior standard deviation", ErrOption)
	case o.Hyper == GridSearch && !(o.Validation > 0):
		return fmt.Errorf("%w: a grid needs a validation fraction above 0", ErrOption)
	case o.Rank < 0 || o.Rank > 0 && o.Structure != laplace.LowRank:
		return fmt.Errorf("%w: rank %d for the structure %v, expected a positive number with %v", ErrOption, o.Rank, o.Structure, laplace.LowRank)
	case o.Subset < 0:
		return fmt.Errorf("%w: a subset of %d rows, expected a positive number", ErrOption, o.Subset)
	case !(o.Validation >= 0 && o.Validation < 1):
		return fmt.Errorf("%w: validation fraction %g, expected 0 ≤ fraction < 1", ErrOption, o.Validation)
	}
	return nil
}

// FitLLA returns the model with a posterior of the LLA family, fitted on a set in one
// pass; weights and mean stay as they are, and a posterior that m has is not used. What
// it needs of memory is checked before: errors then are a *graph.MemoryError.
func FitLLA(ctx context.Context, m *Model, set *data.Set, o LLAOptions) (*Model, error) {
	start := time.Now()
	fitted, s, err := m.fitLLA(ctx, set, o)
	if err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	p := fitted.Posterior.(LLA)
	fitted.Training = append(fitted.Training, Run{
		Method: MethodLLA, Program: Version(), Rows: p.State().Examples, Validation: s.held(), Seed: o.Seed,
		PriorStd: p.PriorStd(), LLA: recordLLA(p, o), Seconds: time.Since(start).Seconds(),
	})
	return fitted, nil
}

func recordLLA(p LLA, o LLAOptions) *LLARun {
	s := p.State()
	return &LLARun{
		Structure: s.Structure, Weights: s.Weights, Parameters: p.Parameters(), Rank: s.Rank, Subset: o.Subset,
		Hyper: o.Hyper, Priors: p.Priors(), PriorStds: p.PriorStds(),
		EffectiveParameters: p.EffectiveParameters(), LogMarginalLikelihood: p.LogMarginalLikelihood(),
	}
}

func (m *Model) fitLLA(ctx context.Context, set *data.Set, o LLAOptions) (*Model, split, error) {
	if err := o.check(m); err != nil {
		return nil, split{}, err
	}
	if err := m.checkSet(set); err != nil {
		return nil, split{}, err
	}
	s, err := divide(set, o.Validation, o.Seed)
	if err != nil {
		return nil, s, err
	}
	if n := s.train.N(); o.Subset > n {
		return nil, s, fmt.Errorf("%w: a subset of %d rows, expected at most %d", ErrOption, o.Subset, n)
	}
	p, err := m.laplace(ctx, s, o)
	if err != nil {
		return nil, s, err
	}
	fitted := m.MAP()
	return fitted, s, fitted.AttachLLA(p, m.Fingerprint())
}

// laplace fits to the rows of a split.
func (m *Model) laplace(ctx context.Context, s split, o LLAOptions) (*laplace.Posterior, error) {
	x, y, err := m.examples(s.train)
	if err != nil {
		return nil, err
	}
	prior, noise := m.startLLA(o)
	p, err := laplace.Fit(ctx, m.Net, x, y, laplace.Options{
		Weights: o.Weights, Structure: o.Structure, Rank: o.Rank, Likelihood: m.likelihood(),
		Priors: o.Priors, PriorStd: prior, NoiseStd: noise, Ascent: o.Ascent,
		Subset: o.Subset, Seed: o.Seed, MemoryLimit: o.MemoryLimit, Progress: ShowPass(o.Progress, "LLA"),
	})
	if err != nil || o.Hyper != GridSearch {
		return p, err
	}
	if x, y, err = m.examples(s.validation); err != nil {
		return nil, err
	}
	best, _, err := p.GridSearch(ctx, x, y, laplace.Grid{NoiseStds: o.noises(noise)})
	return best, err
}

// startLLA returns the standard deviations to fit with, the noise in standardised units;
// 0 where they are free.
func (m *Model) startLLA(o LLAOptions) (prior, noise float64) {
	prior = o.PriorStd
	if m.Classes == nil && o.NoiseStd != 0 {
		noise = o.NoiseStd / m.Targets.Std[0]
	}
	if o.Hyper == MarginalLikelihood {
		return prior, noise
	}
	if m.Classes == nil && noise == 0 {
		noise = math.Sqrt(m.MAPNoise)
	}
	if o.Hyper == GridSearch {
		prior = 1
	}
	return prior, noise
}

// noises are the noises of a grid around the network's residual, or the given one.
func (o LLAOptions) noises(noise float64) []float64 {
	if o.NoiseStd != 0 || noise == 0 {
		return nil
	}
	return laplace.LogSpaced(noise/4, 4*noise, 9)
}

// examples returns inputs and targets as the network sees them, classes one-hot.
func (m *Model) examples(s *data.Set) (x, y *tensor.Dense, err error) {
	if m.Classes == nil {
		return m.standardized(s)
	}
	if x, err = m.scaledInputs(s); err != nil {
		return nil, nil, err
	}
	y, err = m.oneHot(s)
	return x, y, err
}
