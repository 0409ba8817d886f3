package valla

import (
	"cmp"

	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// Training holds the settings with which a network is trained to its maximum a posteriori
// (MAP) weights. The zero value of a field means its default.
type Training struct {
	Iterations    int      `set:"iterations" auto:"chosen on a part of the training rows of a table, at most 40000; 5000 for images, costly networks, few rows, and with patience or keep-last" min:"1" help:"number of steps, each on a mini-batch"`
	BatchSize     int      `set:"batch-size" default:"100" min:"1" help:"rows of a mini-batch, at most all"`
	Optimizer     string   `set:"optimizer" choice:"adam sgd" help:"algorithm that updates the weights in a step"`
	LearningRate  float64  `set:"learning-rate" default:"0.01" above:"0" help:"learning rate of the optimizer at the start"`
	Momentum      float64  `set:"momentum" min:"0" below:"1" help:"momentum of sgd"`
	WeightDecay   *float64 `set:"weight-decay" auto:"0.001; where the iterations are chosen, 0.001, 0.01, 0.0001 or 0, chosen with them" min:"0" help:"weight decay of the optimizer, which stands for the Gaussian prior of the weights"`
	ClipNorm      float64  `set:"clip-norm" min:"0" help:"largest Euclidean norm of the gradient of all weights together, to which a larger gradient is scaled; 0 means none"`
	Schedule      string   `set:"schedule" choice:"cosine constant" help:"course of the learning rate: it falls along half a cosine to 0, or stays constant"`
	Validation    *float64 `set:"validation" default:"0.1" min:"0" below:"1" help:"fraction of the rows that is held out, at most 10,000 rows; 0 means none"`
	ValidateEvery int      `set:"validate-every" default:"100" min:"1" help:"steps from one validation to the next; the weights of the best one are kept"`
	Patience      int      `set:"patience" min:"0" help:"validations in a row without improvement that end the training; 0 means that none do"`
	KeepLast      bool     `set:"keep-last" help:"keep the last weights instead of the best ones on the rows held out"`
	Networks      int      `set:"networks" auto:"1" min:"1" help:"number of networks with different initial weights and mini-batches, whose mean is the prediction: an ensemble"`
	Augment       bool     `set:"augment" help:"move and mirror images of bytes at random in each step"`
}

// schedules are the schedules of the learning rate by name.
var schedules = map[string]train.Schedule{"cosine": train.Cosine(0), "constant": train.Constant}

// optimizer returns the optimizer that complete settings describe.
func (t Training) optimizer() train.Optimizer {
	if t.Optimizer == "sgd" {
		return &train.SGD{LR: t.LearningRate, Momentum: t.Momentum, WeightDecay: *t.WeightDecay}
	}
	return &train.Adam{LR: t.LearningRate, WeightDecay: *t.WeightDecay}
}

// usual fills in the number of steps and the weight decay where no rows choose them.
func (t Training) usual() Training {
	t.Iterations = cmp.Or(t.Iterations, usualIterations)
	if t.WeightDecay == nil {
		t.WeightDecay = new(usualDecay)
	}
	return t
}

// complete fills in the defaults of all settings but the number of steps and the weight decay. It returns an error for settings that do not go together.
func (t Training) complete() (Training, error) {
	if err := settings.Complete(&t); err != nil {
		return t, err
	}
	if t.Momentum > 0 && t.Optimizer != "sgd" {
		return t, settings.Errorf("momentum %g of the optimizer %s, expected sgd", t.Momentum, t.Optimizer)
	}
	if t.Patience > 0 && t.KeepLast {
		return t, settings.Errorf("patience %d with keep-last, expected one of the two", t.Patience)
	}
	return t, nil
}

// checkResume returns an error if a run is to be resumed and no checkpoint is named.
func checkResume(resume bool, checkpoint string) error {
	if resume && checkpoint == "" {
		return settings.Errorf("resume without the file of a checkpoint")
	}
	return nil
}
