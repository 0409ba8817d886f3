package laplace

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// Settings are the settings of the LLA family, see [Method]. The zero value is full LLA
// of all weights. Its hyper-parameters maximise the marginal likelihood; for classes and for
// networks that may have been trained on the rows, those are taken that are best on the
// validation rows.
type Settings struct {
	Structure string   `set:"structure" choice:"full kfac diag lowrank" help:"form of the weights' curvature matrix, exact or approximate"`
	Weights   []string `set:"weights" default:"all" help:"weights that are uncertain: all, last-layer, informative:K for the K layers about which the rows say most, or names of parameters, with * for any letters"`
	Rank      int      `set:"rank" auto:"100 with the structure lowrank" min:"1" help:"number of eigenvectors that the structure lowrank keeps"`

	Hyper    string  `set:"hyper" choice:"marglik grid fixed" auto:"grid on validation rows for classification, for kfac and diag, and for networks from elsewhere; otherwise marglik" help:"choice of prior std and noise std: by the marginal likelihood, by the validation rows, or fixed"`
	Priors   string  `set:"priors" choice:"shared per-layer per-parameter" help:"which weights share a prior standard deviation"`
	PriorStd float64 `set:"prior-std" auto:"found" above:"0" help:"prior standard deviation of each weight"`
	NoiseStd float64 `set:"noise-std" auto:"found, or the network's residual where hyper is fixed" above:"0" help:"noise standard deviation, in the units of the network's outputs; with several targets, in units of the residuals of each"`

	Subset int `set:"subset" auto:"all rows" min:"1" help:"number of training rows, drawn at random, that the fit uses as if they were all"`

	Exact bool `set:"exact" help:"with kfac and diag, for observation models other than gaussian, and convolutions: also sum the many small terms, which change the result by less than a thousandth"`

	AscentSteps int     `set:"ascent-steps" auto:"none: the exact maximum; 100 where ascent-rate is given" min:"1" help:"number of steps of Adam by which the marginal likelihood is increased"`
	AscentRate  float64 `set:"ascent-rate" auto:"none: the exact maximum; 0.1 where ascent-steps is given" above:"0" help:"learning rate of these steps"`
}

// Names of the choices in Settings.
const (
	hyperMarglik = "marglik"
	hyperGrid    = "grid"
	hyperFixed   = "fixed"
)

// Label implements gp.Settings. A posterior whose rank was lowered has the smaller one
// in its own name.
func (s *Settings) Label() string {
	c := *s
	c.fill()
	choice := ""
	switch {
	case len(c.Weights) == 1 && (c.Weights[0] == layers.LastLayerWeights || strings.HasPrefix(c.Weights[0], gp.Informative)):
		choice = c.Weights[0]
	case len(c.Weights) > 0 && !slices.Equal(c.Weights, []string{layers.AllWeights}):
		choice = arrayCount(len(c.Weights))
	}
	return labelOf(choice, c.structure(), c.Rank)
}

// fill fills in the defaults that depend on other settings.
func (s *Settings) fill() {
	if s.structure() == kindLowRank && s.Rank == 0 {
		s.Rank = defaultRank
	}
	if s.AscentSteps > 0 || s.AscentRate > 0 {
		a := s.ascent().complete()
		s.AscentSteps, s.AscentRate = a.Steps, a.Rate
	}
}

// complete returns the settings with every default filled in, for a problem.
func (s *Settings) complete(p gp.Problem) (*Settings, error) {
	c := *s
	if err := settings.Complete(&c); err != nil {
		return nil, err
	}
	c.Hyper = cmp.Or(c.Hyper, c.hyper(p))
	if err := c.check(p); err != nil {
		return nil, err
	}
	c.fill()
	return &c, nil
}

// hyper is the default of Hyper. The marginal likelihood makes many classifiers worse than
// they are without error bars, and so it makes networks that may have been trained on the
// rows; a grid on validation rows does not, see docs/honest.md. That of KFAC and of the
// diagonal takes few rows to determine more weights than they can, and makes up for it by
// noise, see docs/uncertainty.md. The marginal likelihood is left where only it can do what
// the other settings ask for.
func (s *Settings) hyper(p gp.Problem) string {
	ascent := s.AscentSteps > 0 || s.AscentRate > 0
	if p.Validation == nil || likelihood.Noisy(p.Likelihood) && !p.KnownNoise && !s.approximate() || s.PriorStd > 0 || s.priors() != priorsShared || ascent {
		return hyperMarglik
	}
	return hyperGrid
}

// check refuses settings that contradict each other or the problem.
func (s *Settings) check(p gp.Problem) error {
	ascent := s.AscentSteps > 0 || s.AscentRate > 0
	switch {
	case s.Rank > 0 && s.structure() != kindLowRank:
		return settings.Errorf("rank %d with the structure %s, expected lowrank", s.Rank, s.Structure)
	case s.Subset > p.Train.N():
		return settings.Errorf("subset %d, expected at most the %d training rows", s.Subset, p.Train.N())
	case s.Hyper == hyperFixed && s.PriorStd == 0:
		return settings.Errorf("hyper %s needs a prior-std", s.Hyper)
	case s.Hyper == hyperFixed && ascent:
		return settings.Errorf("hyper %s with ascent-steps or ascent-rate, expected no ascent", s.Hyper)
	case s.Hyper == hyperGrid && (s.PriorStd > 0 || s.priors() != priorsShared || ascent):
		return settings.Errorf("hyper %s, which finds one prior-std, with a prior-std, priors %s or an ascent", s.Hyper, s.Priors)
	case s.Hyper == hyperGrid && p.Validation == nil:
		return settings.Errorf("hyper %s needs validation rows, found none", s.Hyper)
	case len(s.Weights) == 0:
		return settings.Errorf("weights: no parameters are named, expected one at least")
	}
	if _, err := layers.Choose(p.Net, s.Weights...); err != nil {
		return settings.Errorf("weights: %w", err)
	}
	return gp.CheckNoiseStd(s.NoiseStd, p.Likelihood)
}

func (s *Settings) structure() structureKind {
	return structureKind(s.Structure)
}

// priors returns the name of Priors in files, which has spaces.
func (s *Settings) priors() priorsKind {
	return priorsKind(strings.ReplaceAll(s.Priors, "-", " "))
}

// Uncertain implements gp.Local.
func (s *Settings) Uncertain(net layers.Network) ([]*graph.Param, error) {
	if len(s.Weights) == 0 || strings.HasPrefix(s.Weights[0], gp.Informative) {
		return nil, nil
	}
	return layers.Choose(net, s.Weights...)
}

// ascent is nil where the maximum is exact.
func (s *Settings) ascent() *ascent {
	if s.AscentSteps == 0 && s.AscentRate == 0 {
		return nil
	}
	return &ascent{Rate: s.AscentRate, Steps: s.AscentSteps}
}

// start returns the standard deviations of the first fit; 0 stands for those that are to
// be found.
func (s *Settings) start(p gp.Problem) (prior, noise float64) {
	if s.Hyper != hyperFixed && s.Hyper != hyperGrid {
		return s.PriorStd, s.NoiseStd
	}
	prior, noise = s.PriorStd, s.NoiseStd
	if s.Hyper == hyperGrid {
		prior = 1
	}
	return prior, cmp.Or(noise, math.Sqrt(likelihood.NoiseVariance(p.Likelihood)))
}

// Fit implements gp.Settings. It passes over the examples once, in batches; its memory does not
// grow with their number, except in function space. The error is a *graph.MemoryError where the
// matrices do not fit into the memory, wraps a *graph.NotPositiveDefiniteError where σ²/σ₀² is too
// small for float64, and wraps settings.ErrSetting for settings that contradict each other or the
// problem.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	c, q, notes, err := s.fit(ctx, p, r)
	if err != nil {
		return nil, err
	}
	return q.fitted(ctx, p, settings.Map(c), append(notes, c.notes(p, q)...))
}

// Posterior returns the posterior of Fit without a record, whose number of effective parameters
// takes about as much as a factorisation.
func (s *Settings) Posterior(ctx context.Context, p gp.Problem, r gp.Run) (gp.Stored, error) {
	_, q, _, err := s.fit(ctx, p, r)
	if err != nil {
		return nil, err
	}
	return q, nil
}

// fit returns the complete settings, the posterior and notes.
func (s *Settings) fit(ctx context.Context, p gp.Problem, r gp.Run) (*Settings, *posterior, []string, error) {
	if err := p.Check(); err != nil {
		return nil, nil, nil, err
	}
	c, notes, err := s.settled(ctx, p, r)
	if err != nil {
		return nil, nil, nil, err
	}
	o := c.options(p)
	q, err := fit(ctx, p, r, o)
	if err == nil && c.Hyper == hyperGrid {
		q, err = q.gridSearch(ctx, *p.Validation, gridOf(p, c.NoiseStd))
	}
	return c, q, notes, err
}

// settled returns the complete settings with the weights that the training rows choose, and a
// note that says which these are.
func (s *Settings) settled(ctx context.Context, p gp.Problem, r gp.Run) (*Settings, []string, error) {
	c := *s
	byRows := len(c.Weights) == 1 && strings.HasPrefix(c.Weights[0], gp.Informative)
	if byRows {
		c.Weights = nil
	}
	done, err := c.complete(p)
	if err != nil || !byRows {
		return done, nil, err
	}
	var notes []string
	done.Weights, notes, err = gp.InformativeWeights(ctx, p, r, s.Weights)
	return done, notes, err
}

// options returns the options of the function Fit, for complete settings s of the problem p.
func (s *Settings) options(p gp.Problem) options {
	prior, noise := s.start(p)
	return options{
		Weights: s.Weights, Structure: s.structure(), Rank: s.Rank,
		Priors: s.priors(), PriorStd: prior, NoiseStd: noise, Ascent: s.ascent(),
		Subset: s.Subset, Exact: s.Exact,
	}
}
