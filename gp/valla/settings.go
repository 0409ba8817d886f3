package valla

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// Method describes VaLLA in the table of methods.
var Method = gp.Method{
	Name:    "valla",
	Title:   "VaLLA",
	Summary: "Variational linearized Laplace approximation: a sparse Gaussian process with the network's tangent kernel, fitted to inducing points by mini-batches.",
	Formula: "Q(x,x') = κ(x,x') − K_xz (A⁻¹ + K_z)⁻¹ K_zx'",
	Symbols: "κ(x,x') = σ₀² J(x) J(x')ᵀ is the tangent kernel, where J is the network's Jacobian in its weights [C,P] and σ₀ is the prior standard deviation of the weights; K_z is κ among the M inducing points z, K_xz is κ between x and z, and A [M,M] is fitted.",
	Cost:    "A step of the fit takes the network's Jacobians at a mini-batch and at M inducing points, and M³ operations; a prediction takes the Jacobians at the input and M² operations, whatever the number of training rows.",
	Use:     "Start with this method: VaLLA works for any network and any number of rows, and its predictions are fast.",
	Source:  "Ortega, Rodríguez Santana and Hernández-Lobato, Variational Linearized Laplace Approximation for Bayesian Deep Learning, ICML 2024",
	Joint:   true,
	Batches: true,
	New:     func() gp.Settings { return &Settings{} },
	Restore: restore,
}

// Settings are VaLLA's settings. The zero value of a field means its default.
type Settings struct {
	Optimizer string   `set:"optimizer" choice:"natural adam" help:"natural gradients, or Adam for all parameters, as published"`
	Inducing  int      `set:"inducing" auto:"100, and 50 or 20 where the fewest steps would take long" min:"1" help:"number of inducing points"`
	Init      string   `set:"init" choice:"kmeans++ random-points greedy" help:"start of the inducing inputs: centres of k-means, whose first centres are chosen by k-means++ or are random points; or training inputs, chosen greedily by the largest remaining prior variance"`
	Weights   []string `set:"weights" auto:"all, or the last layer's, with features for inputs, where the fewest steps take too long" help:"weights that are uncertain: all, last-layer, informative:K for the K layers about which the rows say most, or names of parameters, with * for any letters"`
	Alpha     *float64 `set:"alpha" default:"1" min:"0" max:"1" help:"α of the objective; 0 is the evidence lower bound"`

	PriorStd    float64 `set:"prior-std" default:"1" above:"0" help:"prior standard deviation σ₀ at the start, which fix-prior keeps; natural gradients with rows held out find theirs from 0.0001 to 10,000, whatever the start"`
	NoiseStd    float64 `set:"noise-std" auto:"the network's residual" above:"0" help:"noise standard deviation σ at the start, in the units of the network's outputs; with several targets, in units of the residuals of each"`
	OptimalA    bool    `set:"optimal-a" help:"start Adam from the best matrix A, in closed form; for Gaussian noise only"`
	FixPrior    bool    `set:"fix-prior" help:"keep the prior standard deviation at its start value"`
	FixNoise    bool    `set:"fix-noise" help:"keep the noise standard deviation and other parameters of the likelihood at their start values, as is done where the noise is known"`
	FixInducing bool    `set:"fix-inducing" help:"keep the inducing inputs where they start, as fits of classes that make fewer than 100 steps for their cost do anyway"`

	Iterations    int     `set:"iterations" auto:"natural 2000 for classification, six times over the rows for regression, from 200 to 400, and fewer for networks of which a step takes more than a billion operations, but at least 30 for classification and 100 for regression; adam 40000" min:"1" help:"number of steps, each on a mini-batch"`
	BatchSize     int     `set:"batch-size" auto:"natural 100, for regression a twentieth of the rows, from 100 to 500; adam 100" min:"1" help:"rows in a mini-batch, at most all"`
	LearningRate  float64 `set:"learning-rate" auto:"natural 0.01, up to 0.03 for regression in less than 1000 steps; adam 0.001" above:"0" help:"learning rate of Adam at the start"`
	Schedule      string  `set:"schedule" choice:"constant cosine" auto:"natural cosine, adam constant" help:"course of the learning rate: it stays constant, or falls along half a cosine to 0"`
	ValidateEvery int     `set:"validate-every" auto:"natural a twentieth of the iterations, for costly networks up to a fifth; adam 100" min:"1" help:"steps from one validation to the next"`
	Patience      *int    `set:"patience" default:"10" min:"0" help:"validations in a row without improvement that end a fit; 0 means that none do"`
	KeepLast      bool    `set:"keep-last" help:"keep the last state instead of the best one on the validation rows"`

	gp.LikeliestClasses
}

// The names of the optimizers, of the starts of the inducing inputs and of the schedules.
const (
	optimizerNatural = "natural"
	optimizerAdam    = "adam"
	initGreedy       = "greedy"
	scheduleConstant = "constant"
	scheduleCosine   = "cosine"
)

// kMeansInits are the starts of k-means by name.
var kMeansInits = map[string]data.KMeansInit{"kmeans++": data.KMeansPlusPlus, "random-points": data.RandomPoints}

// schedules are the schedules of the learning rate by name.
var schedules = map[string]train.Schedule{scheduleConstant: train.Constant, scheduleCosine: train.Cosine(0)}

// Label implements gp.Settings: VaLLA 100, or VaLLA 100 Adam.
func (s *Settings) Label() string {
	label := fmt.Sprintf("VaLLA %d", cmp.Or(s.Inducing, usualInducing))
	if s.Optimizer == optimizerAdam {
		label += " Adam"
	}
	return label
}

// loop says how the settings want the steps made.
func (s *Settings) loop() train.Config {
	c := train.Config{
		Iterations: s.Iterations, Optimizer: &train.Adam{LR: s.LearningRate}, Schedule: schedules[s.Schedule],
		ValidateEvery: s.ValidateEvery, Patience: *s.Patience, KeepLast: s.KeepLast, CheckpointEvery: naturalCheckpoint,
	}
	if s.Optimizer == optimizerAdam {
		c.CheckpointEvery = adamCheckpoint
	}
	return c
}

// resolve returns the settings for a problem with all defaults filled in, the problem whose network has the uncertain
// weights alone as parameters, and notes on the choice of weights.
func (s Settings) resolve(ctx context.Context, p gp.Problem, r gp.Run) (_ Settings, _ gp.Problem, notes []string, err error) {
	if err := s.check(p); err != nil {
		return s, p, nil, err
	}
	f := &fitting{p: p, s: s}
	if f.still, err = still(p); err == nil {
		_, err = firstPlan(len(f.points()), r) // the defaults depend on the graph of a step, which takes memory of its own
	}
	if err != nil {
		return s, p, nil, err
	}
	if s.Weights, notes, err = gp.InformativeWeights(ctx, p, r, s.Weights); err != nil {
		return s, p, nil, err
	}
	net := p.Net
	if p.Net, err = chosen(net, s.Weights); err != nil {
		return s, p, nil, settings.Errorf("weights: %w", err)
	}
	full, fits, err := s.complete(p, r.Limit())
	if open := s.Weights == nil && s.Inducing == 0; !fits && err == nil && open && len(layers.ByLayer(net)) > 1 {
		s.Weights = []string{layers.LastLayerWeights}
		if p.Net, err = chosen(net, s.Weights); err != nil {
			return s, p, nil, settings.Errorf("weights: %w", err)
		}
		full, _, err = s.complete(p, r.Limit())
	}
	return full, p, notes, err
}

// complete returns the settings for a problem with all defaults filled in, and whether the steps that they make are
// few enough, see affordable. NoiseStd stays 0 where it is the network's residual. The errors wrap settings.ErrSetting.
func (s Settings) complete(p gp.Problem, limit int64) (_ Settings, fits bool, err error) {
	if err := s.check(p); err != nil {
		return s, false, err
	}
	patient := s.Patience != nil
	if err := settings.Complete(&s); err != nil {
		return s, false, err
	}
	if fits = true; s.Optimizer == optimizerAdam {
		s.Inducing = cmp.Or(s.Inducing, usualInducing)
		s.fill(40_000, 100, 1e-3, scheduleConstant, 100)
	} else if fits, err = s.natural(p, limit); err != nil {
		return s, false, err
	}
	s.BatchSize = min(s.BatchSize, p.Train.N())
	s.FixNoise = s.FixNoise || p.KnownNoise && s.NoiseStd == 0
	if !patient && (s.KeepLast || p.Validation == nil) {
		s.Patience = new(0)
	}
	return s, fits, nil
}

const (
	// classSteps is the number of steps for classes, and classBatch the rows of a mini-batch. On
	// Fashion-MNIST with 200 inducing points 1,000 leave the NLL 0.0006 and the OOD-AUC 0.002
	// short of what 2,000 reach.
	classSteps, classBatch = 2000, 100
	// A fit for regression goes epochs times over the rows, in fewestSteps to mostSteps. Six
	// small tables of UCI are fitted as well in 200 steps as in 1,000, and flights and taxi rides in 400.
	epochs, fewestSteps, mostSteps = 6, 200, 400
	// For regression a mini-batch has 1/batches of the rows, from smallestBatch to largestBatch
	// rows. On 67,109 taxi rides mini-batches of 100 leave the NLL 0.04 short of mini-batches of
	// 400. Mini-batches of 400 make fits of a few hundred rows longer and no better.
	batches, smallestBatch, largestBatch = 20, 100, 500
	// naturalRate is the learning rate for classes and for naturalSteps. Where a fit for regression
	// makes fewer steps the rate is larger, at most largestRate: with 0.01 a fit of 100 steps ended
	// at an NLL higher by up to 0.4 (yacht).
	naturalRate, naturalSteps, largestRate = 1e-2, 1000, 3e-2
	// A fit validates validations times. A fit of fewer steps for their cost does so less often, but costlyValidations
	// times at least.
	validations, costlyValidations = 20, 5
)

// natural fills in the defaults of a fit by natural gradients, and returns whether its steps are short enough.
func (s *Settings) natural(p gp.Problem, limit int64) (fits bool, err error) {
	rate, times := naturalRate, validations
	batch, steps := usualSteps(p, s.BatchSize)
	if fits = true; s.Iterations == 0 || s.ValidateEvery == 0 || s.Inducing == 0 {
		var most int
		if most, fits, err = s.shorten(p, batch, limit); err != nil {
			return false, err
		}
		if most < steps {
			steps, times = most, min(max(most/validations, costlyValidations), validations)
		}
	}
	if steps = cmp.Or(s.Iterations, steps); !likelihood.IsClass(p.Likelihood) {
		rate = min(naturalRate*math.Sqrt(naturalSteps/float64(steps)), largestRate)
	}
	s.fill(steps, batch, rate, scheduleCosine, max(1, steps/times))
	return fits, nil
}

// usualSteps returns the rows of a mini-batch, which are batch where this is not 0, and the steps of a fit that need not
// be short.
func usualSteps(p gp.Problem, batch int) (rows, steps int) {
	n := p.Train.N()
	if likelihood.IsClass(p.Likelihood) {
		return min(cmp.Or(batch, classBatch), n), classSteps
	}
	rows = min(cmp.Or(batch, min(max(n/batches, smallestBatch), largestBatch)), n)
	return rows, min(max(epochs*n/rows, fewestSteps), mostSteps)
}

// fill gives the settings that depend on the optimizer their defaults.
func (s *Settings) fill(iterations, batch int, rate float64, schedule string, every int) {
	s.Iterations = cmp.Or(s.Iterations, iterations)
	s.BatchSize = cmp.Or(s.BatchSize, batch)
	s.LearningRate = cmp.Or(s.LearningRate, rate)
	s.Schedule = cmp.Or(s.Schedule, schedule)
	s.ValidateEvery = cmp.Or(s.ValidateEvery, every)
}

// check refuses values out of range and combinations that make no sense, before defaults
// are filled in.
func (s *Settings) check(p gp.Problem) error {
	err := cmp.Or(settings.Check(s), gp.CheckNoiseStd(s.NoiseStd, p.Likelihood), gp.CheckTrainable("fix-noise", s.FixNoise, p.Likelihood), gp.CheckLikeliest(s.Likeliest, p.Likelihood))
	if err != nil {
		return err
	}
	patient := s.Patience != nil && *s.Patience > 0
	switch {
	case s.OptimalA && likelihood.IsClass(p.Likelihood):
		return settings.Errorf("optimal-a with classes, expected targets with Gaussian noise")
	case s.OptimalA && !likelihood.IsGaussian(p.Likelihood):
		return settings.Errorf("optimal-a with the likelihood %v, expected targets with Gaussian noise", p.Likelihood)
	case likelihood.IsClass(p.Likelihood) && alphaOf(s.Alpha) == 0:
		return settings.Errorf("alpha 0 with classes, expected a number above 0")
	case s.OptimalA && s.Optimizer != optimizerAdam:
		return settings.Errorf("optimal-a with natural gradients, which start without A; expected optimizer adam")
	case patient && p.Validation == nil:
		return settings.Errorf("patience %d without validation rows", *s.Patience)
	case patient && s.KeepLast:
		return settings.Errorf("patience %d together with keep-last, expected one of them", *s.Patience)
	}
	return nil
}
