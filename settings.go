package valla

import (
	"fmt"
	"math/rand/v2"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// Training holds the settings with which a network is trained to its maximum a posteriori
// (MAP) weights. The zero value of a field means its default.
type Training struct {
	Iterations    int      `set:"iterations" default:"5000" min:"1" help:"number of steps, each on a mini-batch"`
	BatchSize     int      `set:"batch-size" default:"100" min:"1" help:"rows of a mini-batch, at most all"`
	Optimizer     string   `set:"optimizer" choice:"adam sgd" help:"algorithm that updates the weights in a step"`
	LearningRate  float64  `set:"learning-rate" default:"0.01" above:"0" help:"learning rate of the optimizer at the start"`
	Momentum      float64  `set:"momentum" min:"0" below:"1" help:"momentum of sgd"`
	WeightDecay   *float64 `set:"weight-decay" default:"0.001" min:"0" help:"weight decay of the optimizer, which stands for the Gaussian prior of the weights"`
	Schedule      string   `set:"schedule" choice:"cosine constant" help:"course of the learning rate: it falls along half a cosine to 0, or stays constant"`
	Validation    *float64 `set:"validation" default:"0.1" min:"0" below:"1" help:"fraction of the rows that is held out, at most 10,000 rows; 0 means none"`
	ValidateEvery int      `set:"validate-every" default:"100" min:"1" help:"steps from one validation to the next; the weights of the best one are kept"`
	Patience      int      `set:"patience" min:"0" help:"validations in a row without improvement that end the training; 0 means that none do"`
	KeepLast      bool     `set:"keep-last" help:"keep the last weights instead of the best ones on the rows held out"`
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

// complete fills in the defaults. It returns an error for settings that do not go together.
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

// Streams of random numbers that one seed starts.
const (
	splitStream = iota
	weightStream
	judgeStream
	sampleStream
)

func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// maxValidation is the largest number of rows held out. It keeps the validation, which runs
// often, fast.
const maxValidation = 10_000

// Holdout divides a set at random into rows to train on and rows to validate with. The
// validation rows are a fraction of all rows, from 0 to below 1, but 10,000 rows at most. With
// the fraction 0 there are none, and the second set is nil. [Train] and [Model.Fit] hold out
// the same rows if they have the same seed and fraction.
func Holdout(set *data.Set, fraction float64, seed uint64) (train, validation *data.Set, err error) {
	if err := task.CheckRows(set); err != nil {
		return nil, nil, err
	}
	rows, held, err := holdoutRows(set.N(), fraction, seed)
	if err != nil {
		return nil, nil, err
	}
	if held == nil {
		return set, nil, nil
	}
	return set.Rows(rows), set.Rows(held), nil
}

// holdoutRows is Holdout for the numbers of n rows.
func holdoutRows(n int, fraction float64, seed uint64) (rows, held []int, err error) {
	if !(fraction >= 0 && fraction < 1) {
		return nil, nil, settings.Errorf("validation fraction %g, expected a number from 0 to below 1", fraction)
	}
	if fraction == 0 {
		return upTo(0, n), nil, nil
	}
	rows, held = data.Split(n, min(fraction, maxValidation/float64(n)), newRand(seed, splitStream))
	if len(rows) == 0 || len(held) == 0 {
		return nil, nil, fmt.Errorf("a validation fraction of %g of %d rows leaves %d rows to train and %d to validate, expected some of each",
			fraction, n, len(rows), len(held))
	}
	return rows, held, nil
}
