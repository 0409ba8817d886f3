package sngp

import (
	"cmp"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// Method describes SNGP in the table of methods.
var Method = gp.Method{
	Name:    "sngp",
	Title:   "Spectral-normalised neural Gaussian process (SNGP)",
	Summary: "The network is trained further, with bounded norms of its layers and with a Gaussian process of random features as its last layer; predictions change.",
	Formula: "f(x) = φ(x) β,  Q(x,x') = s φ(x) (s I + Σ_n φ_nᵀφ_n)⁻¹ φ(x')ᵀ,  φ = a cos(h W/ℓ + b), of hidden units h whose layers are divided by max(1, σ/c)",
	Symbols: "h are the hidden units, W random frequencies, b random phases, a a factor and ℓ the length scale; β are the weights of the last layer, φ_n is φ at row n, and s is the ridge; σ is the norm of a layer and c its bound.",
	Cost:    "The fit takes training steps, each with one step of power iteration for each layer, and then one pass over the rows with m² operations for each row; a prediction takes one pass of the network and m² operations.",
	Use:     "Choose SNGP if the weights may change and inputs far from the training rows matter; most other methods do not change the network's predictions. SNGP serves Gaussian noise and classes alone.",
	Source:  "Liu, Lin, Padhy, Tran, Bedrax-Weiss and Lakshminarayanan, Simple and Principled Uncertainty Estimation with Deterministic Deep Learning via Distance Awareness, NeurIPS 2020, arXiv 2006.10108",
	Joint:   true,
	New:     func() gp.Settings { return new(Settings) },
	Restore: restore,
}

// Settings are SNGP's settings. The zero value of a field means its default.
type Settings struct {
	Spectral     string  `set:"spectral" choice:"bound always none" help:"divisor of the weights W of a layer with the norm σ: max(1, σ/c) (bound), σ as in PyTorch's spectral_norm (always), or 1 (none)"`
	Bound        float64 `set:"bound" auto:"6, or the largest norm of the network's layers if that is larger" above:"0" help:"bound c of the norm of each layer, with spectral bound"`
	NormLayers   string  `set:"norm-layers" choice:"all top" help:"which dense and convolutional layers are divided: all layers, or only layers outside residual blocks"`
	NormGradient string  `set:"norm-gradient" choice:"stop through" help:"whether the divisor counts as a constant (stop) or has a derivative (through)"`

	Features     int     `set:"features" default:"1024" min:"1" help:"number m of random features"`
	Draws        string  `set:"draws" choice:"orthogonal gaussian" help:"random frequencies: in orthogonal blocks, or Gaussian"`
	LengthScale  float64 `set:"length-scale" auto:"the median distance of the hidden units of two rows, over √2" above:"0" help:"length scale ℓ of the hidden units"`
	FeatureScale float64 `set:"feature-scale" auto:"1 for classification, √(2/m) for regression" above:"0" help:"factor of the features"`
	LayerNorm    bool    `set:"layer-norm" help:"put a layer norm before the random features"`
	Head         string  `set:"head" choice:"map random" help:"start of β: the values that come nearest to the network's outputs, or random"`

	Ridge      float64  `set:"ridge" auto:"1 for classification, the noise variance for regression" above:"0" help:"ridge s of the precision of β"`
	Covariance string   `set:"covariance" choice:"shared per-class joint" help:"covariance of β: one for all outputs, one for each class, or one for all classes together"`
	Precision  string   `set:"precision" choice:"exact average decaying" help:"precision of β: from a pass over all rows after the training, or as a moving average in it, to which the ridge is added (average), or which starts from the ridge (decaying)"`
	Average    *float64 `set:"average" auto:"0.999 without precision exact" min:"0" below:"1" help:"share of the moving average that stays in a step"`

	Probabilities string   `set:"probabilities" choice:"mean-field mc" help:"probabilities of classes: softmax of values over √(1 + λ variance), or its mean over samples of the values"`
	Lambda        *float64 `set:"lambda" auto:"the best on the validation rows, π/8 without any" min:"0" help:"factor λ of the variance, with probabilities mean-field"`
	Samples       int      `set:"samples" auto:"50 with probabilities mc" min:"1" help:"number of samples"`

	Optimizer     string  `set:"optimizer" choice:"adamw sgd" help:"AdamW, or SGD with Nesterov's momentum 0.9"`
	Iterations    int     `set:"iterations" default:"2000" min:"1" help:"number of steps, each on a mini-batch"`
	BatchSize     int     `set:"batch-size" default:"100" min:"1" help:"rows in a mini-batch, at most all"`
	Augment       bool    `set:"augment" help:"move and mirror images of bytes at random in each step"`
	LearningRate  float64 `set:"learning-rate" default:"0.001" above:"0" help:"learning rate at its largest"`
	Schedule      string  `set:"schedule" choice:"cosine constant milestones" help:"course of the learning rate: it falls along half a cosine to 0; stays constant; or rises over 0.4 % of the steps and is multiplied by 0.2 after 30, 60 and 80 % of them"`
	WeightDecay   float64 `set:"weight-decay" default:"0" min:"0" help:"decay of all that is trained: AdamW's, or coupled with sgd"`
	L2            float64 `set:"l2" default:"0" min:"0" help:"factor of the sum of squares of the hidden layers' weights in the objective"`
	BatchNorm     string  `set:"batch-norm" choice:"frozen training" help:"means and variances of batch norm: from the network, or from each mini-batch, with running values that follow"`
	ValidateEvery int     `set:"validate-every" auto:"a twentieth of the iterations" min:"1" help:"steps from one validation to the next"`
	KeepLast      bool    `set:"keep-last" help:"keep the last state instead of the best one on the validation rows"`
}

// Values of settings.
const (
	spectralBound  = "bound"
	spectralAlways = "always"
	spectralNone   = "none"
	topLayers      = "top"
	gradThrough    = "through"
	drawsGaussian  = "gaussian"
	headRandom     = "random"
	exact          = "exact"
	average        = "average"
	decaying       = "decaying"
	optimizerSGD   = "sgd"
	constant       = "constant"
	milestones     = "milestones"
	normTraining   = "training"
)

const (
	// momentum is the momentum of SGD, as published.
	momentum = 0.9
	// paperLambda is λ in the paper.
	paperLambda = math.Pi / 8
	// leastBound is the least bound where none is given, as published for images.
	leastBound = 6
)

// Label implements gp.Settings.
func (s *Settings) Label() string { return label }

// complete returns the settings for a problem with all defaults filled in. Bound and LengthScale
// stay 0 and Lambda nil where they are found in the network and the data. The errors wrap settings.ErrSetting.
func (s Settings) complete(p gp.Problem) (Settings, error) {
	numbers := likelihood.IsGaussian(p.Likelihood)
	if !numbers && !likelihood.IsClass(p.Likelihood) {
		return s, gp.CannotServe(Method.Title, p.Likelihood)
	}
	if err := cmp.Or(settings.Complete(&s), s.check(numbers)); err != nil {
		return s, err
	}
	if s.Augment && p.Augmented == nil {
		return s, settings.Errorf("augment: the inputs are no images of bytes [N,3,H,W]")
	}
	if s.Precision != exact && s.Average == nil {
		s.Average = new(0.999)
	}
	switch {
	case numbers:
		s.Ridge = cmp.Or(s.Ridge, likelihood.NoiseVariance(p.Likelihood))
		s.FeatureScale = cmp.Or(s.FeatureScale, math.Sqrt(2/float64(s.Features)))
	case s.Probabilities == linkSamples:
		s.Samples = cmp.Or(s.Samples, 50)
	case s.Lambda == nil && p.Validation == nil:
		s.Lambda = new(paperLambda)
	}
	s.Ridge, s.FeatureScale = cmp.Or(s.Ridge, 1), cmp.Or(s.FeatureScale, 1)
	s.ValidateEvery = cmp.Or(s.ValidateEvery, max(1, s.Iterations/20))
	s.BatchSize = min(s.BatchSize, p.Train.N())
	return s, nil
}

// check refuses settings that do not go together.
func (s *Settings) check(numbers bool) error {
	switch {
	case s.Bound != 0 && s.Spectral != spectralBound:
		return settings.Errorf("bound %g with spectral %s, expected spectral %s", s.Bound, s.Spectral, spectralBound)
	case s.Average != nil && s.Precision == exact:
		return settings.Errorf("average %g with precision %s, expected precision %s or %s", *s.Average, exact, average, decaying)
	case s.Precision != exact && s.Covariance != formShared:
		return settings.Errorf("precision %s with covariance %s, expected covariance %s", s.Precision, s.Covariance, formShared)
	case numbers && s.Covariance != formShared:
		return settings.Errorf("covariance %s with numbers, expected %s", s.Covariance, formShared)
	case numbers && (s.Lambda != nil || s.Samples != 0 || s.Probabilities != linkMeanField):
		return settings.Errorf("lambda, samples or probabilities with numbers, which have no classes")
	case s.Lambda != nil && s.Probabilities != linkMeanField:
		return settings.Errorf("lambda %g with probabilities %s, expected %s", *s.Lambda, s.Probabilities, linkMeanField)
	case s.Samples != 0 && s.Probabilities != linkSamples:
		return settings.Errorf("%d samples with probabilities %s, expected %s", s.Samples, s.Probabilities, linkSamples)
	}
	return nil
}

// spectral says how weights are divided.
func (s *Settings) spectral() spectral {
	return spectral{bound: s.Bound, always: s.Spectral == spectralAlways, through: s.NormGradient == gradThrough}
}

// optimizer makes the optimizer.
func (s *Settings) optimizer() train.Optimizer {
	if s.Optimizer == optimizerSGD {
		return &train.SGD{LR: s.LearningRate, Momentum: momentum, Nesterov: true, WeightDecay: s.WeightDecay}
	}
	return &train.Adam{Decoupled: true, LR: s.LearningRate, WeightDecay: s.WeightDecay}
}

// course is the schedule of the learning rate.
func (s *Settings) course() train.Schedule {
	switch s.Schedule {
	case constant:
		return train.Constant
	case milestones:
		return train.Milestones(1.0/250, 0.2, 75.0/250, 150.0/250, 200.0/250)
	}
	return train.Cosine(0)
}
