package model

import (
	"cmp"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/layers"
)

// TrainOptions say how [Train] makes a network. Start from [TrainDefaults]: fields
// are taken as they are, zero included.
type TrainOptions struct {
	Classes    bool              // the target's values are classes, not numbers
	Hidden     []int             // widths of the hidden layers
	Activation layers.Activation // after each of them
	Dtype      tensor.Dtype      // tensor.Float64 or tensor.Float32

	Iterations   int     // mini-batches at most
	BatchSize    int     // lowered to the number of rows
	LearningRate float64 // of Adam, falling along half a cosine to 0
	WeightDecay  float64 // of Adam; stands for the Gaussian prior of the weights

	Validation float64 // fraction of the rows held out; 0 means none
	Patience   int     // validations without improvement before stopping; 0 means never

	Seed     uint64    // of the split, the initial weights and the mini-batches
	Progress io.Writer // gets a progress bar where it is a terminal
}

// TrainDefaults returns options that suit tables of a few hundred to a million rows.
func TrainDefaults() TrainOptions {
	return TrainOptions{
		Hidden: []int{50, 50}, Activation: "tanh", Dtype: tensor.Float64,
		Iterations: 5000, BatchSize: 100, LearningRate: 1e-2, WeightDecay: 1e-3,
		Validation: 0.1,
	}
}

func (o TrainOptions) check() error {
	for _, w := range o.Hidden {
		if w < 1 {
			return fmt.Errorf("%w: hidden layers %d, expected widths of at least 1", ErrOption, o.Hidden)
		}
	}
	if err := o.Activation.Check(); err != nil && len(o.Hidden) > 0 {
		return fmt.Errorf("%w: %w", ErrOption, err)
	}
	if o.Dtype != tensor.Float32 && o.Dtype != tensor.Float64 {
		return fmt.Errorf("%w: element type %v, expected float32 or float64", ErrOption, o.Dtype)
	}
	if !(o.WeightDecay >= 0) || !finite(o.WeightDecay) {
		return fmt.Errorf("%w: weight decay %g, expected zero or a positive number", ErrOption, o.WeightDecay)
	}
	return checkLoop(o.Iterations, o.BatchSize, o.Patience, o.LearningRate, o.Validation)
}

// checkLoop checks what all training shares.
func checkLoop(iterations, batch, patience int, rate, validation float64) error {
	switch {
	case iterations < 1:
		return fmt.Errorf("%w: %d iterations, expected at least 1", ErrOption, iterations)
	case batch < 1:
		return fmt.Errorf("%w: batch size %d, expected at least 1", ErrOption, batch)
	case !positive(rate):
		return fmt.Errorf("%w: learning rate %g, expected a positive number", ErrOption, rate)
	case !(validation >= 0 && validation < 1):
		return fmt.Errorf("%w: validation fraction %g, expected 0 ≤ fraction < 1", ErrOption, validation)
	case patience < 0:
		return fmt.Errorf("%w: patience %d, expected zero or more", ErrOption, patience)
	case patience > 0 && validation == 0:
		return fmt.Errorf("%w: patience %d needs a validation fraction above 0", ErrOption, patience)
	}
	return nil
}

// Optimizer names how a VaLLA posterior is fitted.
type Optimizer string

const (
	// Natural steps are natural gradients for A; Adam moves the inducing points, and
	// σ₀ is found on the rows held out, see valla.Natural.
	Natural Optimizer = "natural"
	// Adam is the published setting, see valla.Fit.
	Adam Optimizer = "adam"
)

// settings are what an optimizer takes unless told otherwise.
type settings struct {
	iterations, batch int
	rate              float64
}

// settings returns those for so many rows. Those of Natural were measured: on
// Fashion-MNIST with 200 inducing points 1,000 steps leave the NLL 0.0006 and the OOD-AUC
// 0.002 short of what 2,000 reach, which small tables do not need; on 67,109 taxi rides
// mini-batches of 100 leave the NLL 0.04 short of those of 400, which make fits of tables
// of a few hundred rows four times as long and no better.
func (o Optimizer) settings(rows int, classes bool) settings {
	switch o {
	case Natural:
		s := settings{iterations: 1_000, batch: min(max(rows/100, 100), 400), rate: 1e-2}
		if classes {
			s.iterations = 2_000
		}
		return s
	case Adam: // as published
		return settings{iterations: 40_000, batch: 100, rate: 1e-3}
	}
	return settings{}
}

// FitOptions say how [Fit] makes a posterior. Start from [FitDefaults]: where nothing is
// said of it fields are taken as they are, zero included.
type FitOptions struct {
	Inducing int             // M, lowered to the number of distinct training inputs
	Init     data.KMeansInit // how k-means, whose centres they are at first, starts
	Alpha    float64         // of the objective; 1 is the published setting, 0 the ELBO

	PriorStd float64 // σ₀ at the start
	NoiseStd float64 // of y at the start, in its own units; 0 means the network's residual
	FixPrior bool    // keep σ₀
	FixNoise bool    // keep the noise

	Optimizer    Optimizer
	Iterations   int     // mini-batches; 0: natural 1,000, or 2,000 for classes, adam 40,000
	BatchSize    int     // lowered to the number of rows; 0: natural a hundredth of them, from 100 to 400, adam 100
	LearningRate float64 // of Adam; 0: natural 1e-2, adam 1e-3
	Validation   float64 // fraction of the rows held out to keep the best state; 0 means none
	Patience     int     // validations of adam without improvement before stopping; 0 means never
	Seed         uint64  // of the split, the inducing points and the mini-batches

	// Checkpoint is a file from which an interrupted fit goes on where Resume is set
	// and everything else is the same; "" means none.
	Checkpoint string
	Resume     bool

	Progress io.Writer // gets a progress bar where it is a terminal
}

// FitDefaults returns options that suit tables of a few hundred to a million rows.
func FitDefaults() FitOptions {
	return FitOptions{
		Inducing: 100, Init: data.KMeansPlusPlus, Alpha: 1, PriorStd: 1,
		Optimizer: Natural, Validation: 0.1, Patience: 10,
	}
}

// complete fills in what depends on the optimizer, for so many rows.
func (o FitOptions) complete(rows int, classes bool) FitOptions {
	s := o.Optimizer.settings(rows, classes)
	o.Iterations = cmp.Or(o.Iterations, s.iterations)
	o.BatchSize = cmp.Or(o.BatchSize, s.batch)
	o.LearningRate = cmp.Or(o.LearningRate, s.rate)
	if o.Optimizer != Adam {
		o.Patience = 0
	}
	return o
}

func (o FitOptions) check(m *Model) error {
	switch {
	case o.Inducing < 1:
		return fmt.Errorf("%w: %d inducing points, expected at least 1", ErrOption, o.Inducing)
	case !(o.Alpha >= 0 && o.Alpha <= 1):
		return fmt.Errorf("%w: alpha %g, expected 0 ≤ alpha ≤ 1", ErrOption, o.Alpha)
	case !positive(o.PriorStd):
		return fmt.Errorf("%w: prior standard deviation %g, expected a positive number", ErrOption, o.PriorStd)
	case o.NoiseStd != 0 && !positive(o.NoiseStd):
		return fmt.Errorf("%w: noise standard deviation %g, expected a positive number", ErrOption, o.NoiseStd)
	case m.Classes != nil && (o.NoiseStd != 0 || o.FixNoise):
		return fmt.Errorf("%w: noise of the classes of %q, which have none", ErrOption, m.Target)
	case m.Classes != nil && o.Alpha == 0:
		return fmt.Errorf("%w: alpha 0 with classes, expected 0 < alpha ≤ 1", ErrOption)
	case o.Optimizer != Natural && o.Optimizer != Adam:
		return fmt.Errorf("%w: optimizer %q, expected %q or %q", ErrOption, o.Optimizer, Natural, Adam)
	case o.Resume && o.Checkpoint == "":
		return fmt.Errorf("%w: to resume needs the file of the checkpoint", ErrOption)
	}
	return checkLoop(o.Iterations, o.BatchSize, o.Patience, o.LearningRate, o.Validation)
}
