package sampled

import (
	"cmp"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
)

// Method describes Sampled LLA in the table of methods.
var Method = gp.Method{
	Name:    "sampled-lla",
	Title:   "Linearized Laplace approximation by samples (Sampled LLA)",
	Summary: "LLA of all weights, by samples of the weights instead of matrices; expectation maximisation finds the prior.",
	Formula: "Q(x,x') = (1/S) Σ_s J(x) ζ_s (J(x') ζ_s)ᵀ,  ζ_s = (Σ_n J_nᵀ Λ_n J_n + λI)⁻¹ (√λ z_s + Σ_n J_nᵀ R_n ε_sn)",
	Symbols: "J is the network's Jacobian in its weights [C,P], and J_n is J at row n; ζ_s is one of S samples of the weights, made of standard normal z_s and ε_sn; λ = 1/σ₀², where σ₀ is the prior standard deviation of the weights; Λ_n is the curvature of the negative log-likelihood of row n in the outputs, averaged over targets of the observation model: 1/σ² with Gaussian noise σ, diag(p) − ppᵀ with the probabilities p of classes, and R_n is a root of it.",
	Cost:    "A fit takes some hundred passes over the data, each with a forward and a reverse derivative for each sample, and memory for some ten times S·P numbers; a prediction takes S derivatives.",
	Use:     "Choose Sampled LLA for the covariances of full LLA, up to the error of S samples, if the matrices of full LLA are too large.",
	Source:  "Antorán, Padhy, Barbano, Nalisnick, Janz and Hernández-Lobato 2023, Sampling-based inference for large linear models, with application to linearised Laplace",
	Joint:   true,
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are the settings of Sampled LLA. The zero value of a field means its default.
type Settings struct {
	Samples int `set:"samples" default:"64" min:"1" help:"number S of samples of the weights; a variance has the relative error √(2/S)"`

	PriorStd float64 `set:"prior-std" auto:"found by em-steps" above:"0" help:"prior standard deviation σ₀ of the weights"`
	NoiseStd float64 `set:"noise-std" auto:"the network's residual" above:"0" help:"noise standard deviation, in the units of the network's outputs; with several targets, in units of the residuals of each"`

	EMSteps    int     `set:"em-steps" auto:"8 without prior-std" min:"1" help:"steps of expectation and maximisation that find the prior standard deviation"`
	EMSamples  int     `set:"em-samples" auto:"8 with em-steps, or all samples where there are fewer" min:"1" help:"samples in each of these steps"`
	EMPriorStd float64 `set:"em-prior-std" auto:"0.0316, the precision 1000, with em-steps" above:"0" help:"prior standard deviation from which they start"`

	Solver     string  `set:"solver" choice:"cg sgd" help:"how samples are found: by conjugate gradients with a Nyström preconditioner, or by stochastic gradients with momentum 0.9 as published"`
	Tolerance  float64 `set:"tolerance" default:"0.1" above:"0" below:"1" help:"error of samples, in standard deviations of the posterior, at which conjugate gradients stop; relative error of the linear model's weights"`
	Iterations int     `set:"iterations" auto:"100 with cg" min:"1" help:"most passes of conjugate gradients for each step and for the samples in the end"`

	Rows int `set:"rows" auto:"all" min:"1" help:"number of training rows that stand for all in the curvature: the rows of uncertain outputs, and a random part of the others with larger weights"`
	Rank int `set:"rank" auto:"128 with cg" min:"1" help:"number of random directions from which the preconditioner is made; at most all weights"`

	Epochs       int     `set:"epochs" auto:"20 with sgd" min:"1" help:"passes of stochastic gradients for each step and for the samples in the end"`
	BatchSize    int     `set:"batch-size" auto:"1000 with sgd" min:"1" help:"rows in a mini-batch of stochastic gradients; at most all"`
	LearningRate float64 `set:"learning-rate" auto:"0.2 with sgd" above:"0" help:"learning rate of stochastic gradients, for the loss per row and output"`
	Schedule     string  `set:"schedule" choice:"constant linear" help:"course of the learning rate; linear falls to a 330th over 95 % of the steps"`
	Clip         float64 `set:"clip" auto:"not bounded" above:"0" help:"bound of the length of the gradients of all samples together"`
	Average      float64 `set:"average" auto:"no average" above:"0" below:"1" help:"weight of the newest step in a running average, which is the result"`
}

const (
	solverSGD      = "sgd"
	scheduleLinear = "linear"
)

// Label implements gp.Settings.
func (s *Settings) Label() string { return label(cmp.Or(s.Samples, 64)) }

// label names a posterior by its number of samples.
func label(samples int) string { return fmt.Sprintf("Sampled LLA %d", samples) }

// complete returns the settings for a problem with all defaults filled in. The errors wrap
// settings.ErrSetting.
func (s Settings) complete(p gp.Problem) (Settings, error) {
	if err := cmp.Or(settings.Complete(&s), s.check(p)); err != nil {
		return s, err
	}
	if s.PriorStd == 0 {
		s.EMSteps = cmp.Or(s.EMSteps, 8)
		s.EMSamples = cmp.Or(s.EMSamples, min(8, s.Samples))
		s.EMPriorStd = cmp.Or(s.EMPriorStd, math.Sqrt(1.0/1000))
	}
	if s.Solver == solverSGD {
		s.Epochs = cmp.Or(s.Epochs, 20)
		s.BatchSize = cmp.Or(s.BatchSize, min(1000, p.Train.N()))
		s.LearningRate = cmp.Or(s.LearningRate, 0.2)
	} else {
		s.Iterations = cmp.Or(s.Iterations, 100)
		s.Rank = cmp.Or(s.Rank, 128)
	}
	if variance := likelihood.NoiseVariance(p.Likelihood); variance > 0 {
		s.NoiseStd = cmp.Or(s.NoiseStd, math.Sqrt(variance))
	}
	return s, nil
}

// check refuses settings that contradict each other or the problem.
func (s *Settings) check(p gp.Problem) error {
	em := s.EMSteps > 0 || s.EMSamples > 0 || s.EMPriorStd > 0
	sgd := s.Epochs > 0 || s.BatchSize > 0 || s.LearningRate > 0 || s.Schedule == scheduleLinear || s.Clip > 0 || s.Average > 0
	switch {
	case s.PriorStd != 0 && em:
		return settings.Errorf("prior-std %g together with em-steps, em-samples or em-prior-std, which find one", s.PriorStd)
	case s.EMSamples > s.Samples:
		return settings.Errorf("em-samples %d, expected at most the %d samples", s.EMSamples, s.Samples)
	case s.Solver != solverSGD && sgd:
		return settings.Errorf("epochs, batch-size, learning-rate, schedule, clip or average with the solver %s, expected %s", s.Solver, solverSGD)
	case s.Solver == solverSGD && (s.Iterations > 0 || s.Rank > 0 || s.Rows > 0):
		return settings.Errorf("iterations, rank or rows with the solver %s, expected epochs", s.Solver)
	case s.BatchSize > p.Train.N():
		return settings.Errorf("batch-size %d, expected at most the %d training rows", s.BatchSize, p.Train.N())
	}
	return gp.CheckNoiseStd(s.NoiseStd, p.Likelihood)
}
