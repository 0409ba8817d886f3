package mfvi

import (
	"cmp"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// Method describes MF-VI in the table of methods.
var Method = gp.Method{
	Name:    "mfvi",
	Title:   "Mean-field variational inference from a trained network (MF-VI)",
	Summary: "The weights become independent Gaussians around the trained weights, and the network is trained further with weights drawn from these Gaussians; predictions are means over draws instead of the network's outputs.",
	Formula: "q(θ) = N(μ, diag e^{2ψ});  p(y|x) = mean over K draws of p(y | f_θ(x))",
	Symbols: "θ are the weights, μ their means and e^ψ their standard deviations; f_θ is the network with the weights θ.",
	Cost:    "A step takes two to three times as long as a training step of the network, and twice the memory for parameters and momentum; a prediction takes K passes of the network.",
	Use:     "Choose MF-VI to compare with the literature. With the published settings MF-VI is further training at a small learning rate, and the standard deviations stay at their start.",
	Source:  "Deng and Zhu, BayesAdapter: Being Bayesian, Inexpensively and Reliably, via Bayesian Fine-tuning, ACML 2023",
	Joint:   true,
	Batches: true,
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are MF-VI's settings. The zero value of a field means its default. The defaults are
// the settings of the published runs on CIFAR-10.
type Settings struct {
	Estimator string  `set:"estimator" choice:"flipout single per-example local none" help:"how weights are drawn in training: one draw for a mini-batch with random signs for each example (flipout), without these (single), a draw for each example, or noise in the outputs of layers (local); none trains the means without noise, as a control"`
	Samples   int     `set:"samples" default:"20" min:"1" max:"1000000" help:"number K of draws of the weights in predictions"`
	LogStd    float64 `set:"log-std" default:"-5.5" below:"0" help:"centre of the log standard deviations ψ at the start, which are uniform within ½ of it"`
	Decay     float64 `set:"decay" auto:"5e-4" above:"0" help:"weight decay of the prior, whose standard deviation s₀ is 1/√(decay·N)"`
	PriorStd  float64 `set:"prior-std" auto:"that of decay" above:"0" help:"prior standard deviation s₀ of the weights"`

	Epochs       int      `set:"epochs" default:"12" min:"1" help:"passes over the rows"`
	Iterations   int      `set:"iterations" auto:"as many as the epochs take" min:"1" help:"number of steps, each on a mini-batch"`
	BatchSize    int      `set:"batch-size" default:"256" min:"1" help:"rows in a mini-batch, at most all"`
	Augment      bool     `set:"augment" help:"move and mirror images of bytes at random in each step"`
	LearningRate float64  `set:"learning-rate" default:"1e-4" above:"0" help:"learning rate of the means"`
	LogStdRate   *float64 `set:"log-std-rate" default:"1e-3" min:"0" help:"learning rate of ψ at the start; 0 leaves ψ as it starts"`
	Schedule     string   `set:"schedule" choice:"cosine constant" help:"course of the learning rate of ψ: it falls along half a cosine to the learning rate of the means, or stays constant"`
	Momentum     float64  `set:"momentum" default:"0.9" above:"0" below:"1" help:"momentum of SGD"`
	Nesterov     bool     `set:"nesterov" help:"SGD with Nesterov's momentum"`
	WeightDecay  float64  `set:"weight-decay" default:"0" min:"0" help:"further weight decay of the means in the optimizer, beside the weight decay of the prior"`

	NoiseStd   float64 `set:"noise-std" auto:"the network's residual" above:"0" help:"noise standard deviation σ, in the units of the network's outputs; with several targets, in units of the residuals of each"`
	LearnNoise bool    `set:"learn-noise" help:"train log σ² and other parameters of the likelihood, by Adam"`
	NoiseRate  float64 `set:"noise-rate" auto:"1e-4 with learn-noise" above:"0" help:"learning rate of log σ² and other parameters of the likelihood"`

	ValidateEvery int `set:"validate-every" auto:"an epoch" min:"1" help:"steps from one validation to the next, which is that of the means and chooses nothing"`
}

// Label implements gp.Settings.
func (s *Settings) Label() string { return label(s.Estimator == none) }

// label names a posterior, or the control without noise.
func label(control bool) string {
	if control {
		return "MF-VI, no noise"
	}
	return "MF-VI"
}

// complete returns the settings for a problem with all defaults filled in. NoiseStd stays 0
// where it is the network's. The errors wrap settings.ErrSetting.
func (s Settings) complete(p gp.Problem) (Settings, error) {
	err := cmp.Or(settings.Complete(&s), gp.CheckNoiseStd(s.NoiseStd, p.Likelihood), gp.CheckTrainable("learn-noise", s.LearnNoise, p.Likelihood))
	switch {
	case err != nil:
		return s, err
	case s.Decay != 0 && s.PriorStd != 0:
		return s, settings.Errorf("decay %g and prior-std %g, expected one of them", s.Decay, s.PriorStd)
	case !s.LearnNoise && s.NoiseRate != 0:
		return s, settings.Errorf("noise-rate %g without learn-noise", s.NoiseRate)
	case s.Augment && p.Augmented == nil:
		return s, settings.Errorf("augment: the inputs are no images of bytes [N,3,H,W]")
	}
	n := p.Train.N()
	if s.PriorStd == 0 {
		s.PriorStd, s.Decay = 1/math.Sqrt(cmp.Or(s.Decay, 5e-4)*float64(p.All())), 0
	}
	if s.LearnNoise {
		s.NoiseRate = cmp.Or(s.NoiseRate, 1e-4)
	}
	s.BatchSize = min(s.BatchSize, n)
	epoch := (n + s.BatchSize - 1) / s.BatchSize
	s.Iterations, s.ValidateEvery = cmp.Or(s.Iterations, s.Epochs*epoch), cmp.Or(s.ValidateEvery, epoch)
	return s, nil
}

// trainsStds says whether ψ is trained.
func (s *Settings) trainsStds() bool { return s.Estimator != none && *s.LogStdRate > 0 }

// optimizer returns the optimizer of means arrays of means, of as many arrays of ψ where ψ is
// trained, and of noise parameters of the likelihood.
func (s *Settings) optimizer(means, noise int) train.Optimizer {
	sgd := func(rate, decay float64) train.Optimizer {
		return &train.SGD{LR: rate, Momentum: s.Momentum, Nesterov: s.Nesterov, WeightDecay: decay}
	}
	groups := train.Groups{{Size: means, Optimizer: sgd(s.LearningRate, s.WeightDecay), Constant: true}}
	if s.trainsStds() {
		groups = append(groups, train.Group{Size: means, Optimizer: sgd(*s.LogStdRate, 0)})
	}
	if noise > 0 {
		groups = append(groups, train.Group{Size: noise, Optimizer: &train.Adam{LR: s.NoiseRate}, Constant: true})
	}
	return groups
}

// course is the schedule of the learning rate of ψ, as a factor of that at the start.
func (s *Settings) course() train.Schedule {
	if s.Schedule == "constant" || !s.trainsStds() {
		return train.Constant
	}
	return train.Cosine(s.LearningRate / *s.LogStdRate)
}
