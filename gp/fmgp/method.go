package fmgp

import (
	"cmp"
	"fmt"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// Method describes FMGP in the table of methods.
var Method = gp.Method{
	Name:    "fmgp",
	Title:   "Fixed-mean Gaussian process (FMGP)",
	Summary: "A sparse Gaussian process with the network as its mean, and with a kernel of the inputs, or of the inputs and the features of the last layer.",
	Formula: "Q(x,x') = K(x,x') − K_xz (A⁻¹ + K_z)⁻¹ K_zx',  K = a exp(−½ Σ_d (x_d − x'_d)²/ℓ_d²) S, with features also × (f·f' + δ)",
	Symbols: "a is the amplitude, ℓ_d the length scale of input d, S a covariance of the outputs [C,C] and f the inputs of the last dense layer; δ is 1 for one output and 0 between two; K_z is K among the M inducing points z, K_xz is K between x and z, and A [M,M] is fitted.",
	Cost:    "A fit takes one pass of the network over the rows and keeps the outputs and features. Then a step takes M distances for each row of a mini-batch and M³ operations, whatever the network and the number of rows; a prediction takes one pass of the network, M distances and M² operations.",
	Use:     "Choose FMGP if a fit must be fast, for instance for deep networks; on deep networks VaLLA detects out-of-distribution inputs better.",
	Source:  "Ortega, Rodríguez Santana and Hernández-Lobato, Fixed-Mean Gaussian Processes for Post-hoc Bayesian Deep Learning, arXiv 2412.04177, 2024",
	Joint:   true,
	Batches: true,
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are FMGP's settings. The zero value of a field means its default.
type Settings struct {
	Kernel   string   `set:"kernel" choice:"rbf embedding" auto:"embedding for classification, rbf for regression" help:"the kernel: rbf, the squared exponential of the inputs, or embedding, its product with the kernel of the last dense layer"`
	Inducing int      `set:"inducing" default:"100" min:"1" help:"number of inducing points"`
	Init     string   `set:"init" choice:"kmeans++ random-points random-rows" help:"start of the inducing inputs: centres of k-means, whose first centres are chosen by k-means++ or are random points; or random rows"`
	Alpha    *float64 `set:"alpha" default:"1" min:"0" max:"1" help:"α of the objective; 0 is the evidence lower bound"`

	Amplitude   float64 `set:"amplitude" auto:"1, and 0.001 with more than 100 classes, as published for 1,000" above:"0" help:"amplitude a of the kernel at the start, a variance"`
	LengthScale float64 `set:"length-scale" auto:"the median distance of two rows, over √2" above:"0" help:"length scale ℓ of all inputs at the start, in the units of the network's inputs"`
	NoiseStd    float64 `set:"noise-std" auto:"the network's residual" above:"0" help:"noise standard deviation σ at the start, in the units of the network's outputs; with several targets, in units of the residuals of each"`
	FixNoise    bool    `set:"fix-noise" help:"keep the noise standard deviation and other parameters of the likelihood at their start values, as is done where the noise is known"`

	Iterations    int     `set:"iterations" default:"5000" min:"1" help:"number of steps of Adam, each on a mini-batch"`
	BatchSize     int     `set:"batch-size" default:"100" min:"1" help:"rows in a mini-batch, at most all"`
	LearningRate  float64 `set:"learning-rate" default:"0.01" above:"0" help:"learning rate at the start"`
	Schedule      string  `set:"schedule" choice:"cosine constant steps" help:"course of the learning rate: it falls along half a cosine to 0, stays constant, or is multiplied by decay after every decay-every steps"`
	Decay         float64 `set:"decay" auto:"0.85 with schedule steps" above:"0" max:"1" help:"factor of the learning rate"`
	DecayEvery    int     `set:"decay-every" auto:"1000 with schedule steps" min:"1" help:"steps from one decay to the next"`
	ValidateEvery int     `set:"validate-every" auto:"a twentieth of the iterations" min:"1" help:"steps from one validation to the next"`
	KeepLast      bool    `set:"keep-last" help:"keep the last state instead of the best one on the validation rows"`
}

// Values of settings.
const (
	kernelEmbedding  = "embedding"
	kernelRBF        = "rbf"
	initRandomRows   = "random-rows"
	scheduleConstant = "constant"
	scheduleSteps    = "steps"
)

// kMeansInits are the starts of k-means by name.
var kMeansInits = map[string]data.KMeansInit{"kmeans++": data.KMeansPlusPlus, "random-points": data.RandomPoints}

// Label implements gp.Settings.
func (s *Settings) Label() string { return label(cmp.Or(s.Inducing, 100)) }

// label names a posterior by its number of inducing points.
func label(inducing int) string { return fmt.Sprintf("FMGP %d", inducing) }

// complete returns the settings for a problem with all defaults filled in. NoiseStd and
// LengthScale stay 0 where they are found in the data. The errors wrap settings.ErrSetting.
func (s Settings) complete(p gp.Problem) (Settings, error) {
	classes := likelihood.IsClass(p.Likelihood)
	if s.Kernel == "" && classes {
		s.Kernel = kernelEmbedding
	}
	s.Kernel = cmp.Or(s.Kernel, kernelRBF)
	err := cmp.Or(settings.Complete(&s), gp.CheckNoiseStd(s.NoiseStd, p.Likelihood), gp.CheckTrainable("fix-noise", s.FixNoise, p.Likelihood))
	switch {
	case err != nil:
		return s, err
	case classes && *s.Alpha == 0:
		return s, settings.Errorf("alpha 0 with classes, expected a number above 0")
	case s.Schedule != scheduleSteps && (s.Decay != 0 || s.DecayEvery != 0):
		return s, settings.Errorf("decay or decay-every with schedule %s, expected schedule %s", s.Schedule, scheduleSteps)
	}
	if s.Schedule == scheduleSteps {
		s.Decay, s.DecayEvery = cmp.Or(s.Decay, 0.85), cmp.Or(s.DecayEvery, 1000)
	}
	s.Amplitude = cmp.Or(s.Amplitude, s.firstAmplitude(p))
	s.ValidateEvery = cmp.Or(s.ValidateEvery, max(1, s.Iterations/20))
	s.BatchSize = min(s.BatchSize, p.Train.N())
	s.FixNoise = s.FixNoise || p.KnownNoise && s.NoiseStd == 0
	return s, nil
}

// firstAmplitude returns the amplitude at the start. With many classes the variances S_cc at the start are large, as R has
// 1/e everywhere below its diagonal.
func (s *Settings) firstAmplitude(p gp.Problem) float64 {
	if likelihood.IsClass(p.Likelihood) && p.Outputs() > 100 {
		return 0.001
	}
	return 1
}

// course is the schedule of the learning rate.
func (s *Settings) course() train.Schedule {
	switch s.Schedule {
	case scheduleConstant:
		return train.Constant
	case scheduleSteps:
		return train.StepDecay(s.DecayEvery, s.Decay)
	}
	return train.Cosine(0)
}
