package model

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// Streams of random numbers that one seed starts.
const (
	splitStream = iota
	weightStream
	inducingStream
)

// maxValidation bounds the rows held out for validation, which is made often.
const maxValidation = 10_000

// Train makes a model without a posterior: a network trained on a set to its maximum
// a posteriori weights under squared error, and the noise variance that is the mean
// squared residual on the training rows; or with Classes under the cross-entropy of the
// classes that the target's values are. A fraction of the rows, the same that [Fit]
// holds out with the same seed, is kept for validation; the weights of the smallest
// validation error are restored.
//
// Where ctx ends the model of the best state so far comes with an error that wraps
// ctx's. On every other error the model is nil.
func Train(ctx context.Context, o TrainOptions, set *data.Set) (*Model, *train.Result, error) {
	if err := o.check(); err != nil {
		return nil, nil, fmt.Errorf("train: %w", err)
	}
	s, err := divide(set, o.Validation, o.Seed)
	if err != nil {
		return nil, nil, fmt.Errorf("train: %w", err)
	}
	m, err := newModel(o, set, s.train)
	if err != nil {
		return nil, nil, fmt.Errorf("train: %w", err)
	}
	res, err := m.trainMAP(ctx, o, s)
	if err != nil && !interrupted(res) {
		return nil, res, err
	}
	if noiseErr := m.estimateNoise(ctx, s.train); noiseErr != nil {
		return nil, res, fmt.Errorf("train: %w", noiseErr)
	}
	m.Training = []Run{Run{
		Method: MethodMAP, Rows: s.train.N(), Validation: s.held(), Seed: o.Seed,
		BatchSize: min(o.BatchSize, s.train.N()), LearningRate: o.LearningRate, WeightDecay: o.WeightDecay,
	}.ended(res)}
	return m, res, err
}

// interrupted says whether a run left a state that is worth keeping.
func interrupted(res *train.Result) bool { return res != nil && res.Stopped == train.Interrupted }

// newModel returns a model with random weights, scaled by the training rows, with the
// classes of the whole set.
func newModel(o TrainOptions, set, rows *data.Set) (*Model, error) {
	m := &Model{
		Network:  layers.MLP{Inputs: len(set.Features), Hidden: o.Hidden, Outputs: 1, Activation: o.Activation},
		Features: set.Features, Target: set.Target,
	}
	var err error
	if o.Classes {
		if m.Classes, err = classesOf(set); err != nil {
			return nil, err
		}
		m.Network.Outputs = len(m.Classes)
	} else if m.Targets, err = data.FitStandardizer(rows.Y); err != nil {
		return nil, err
	}
	if m.Inputs, err = data.FitStandardizer(rows.X); err != nil {
		return nil, err
	}
	m.Net, err = m.Network.New(o.Dtype, rand.New(rand.NewPCG(o.Seed, weightStream)))
	return m, err
}

func (m *Model) trainMAP(ctx context.Context, o TrainOptions, s split) (*train.Result, error) {
	x, y, err := m.examples(s.train)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	loss, validate := train.Loss(train.SquaredError), m.meanSquared
	if m.Classes != nil {
		loss, validate = train.CrossEntropy, m.crossEntropy
	}
	cfg := train.Config{
		Iterations: o.Iterations, Patience: o.Patience,
		Optimizer: &train.Adam{LR: o.LearningRate, WeightDecay: o.WeightDecay},
		Schedule:  train.Cosine(0),
		Progress:  o.Progress, Label: "MAP",
	}
	if s.validation != nil {
		cfg.Validate = func(ctx context.Context) (float64, error) { return validate(ctx, s.validation) }
	}
	t := train.MAP{Net: m.Net, Loss: loss, BatchSize: o.BatchSize, Seed: o.Seed, Config: cfg}
	return t.Train(ctx, x, y)
}

// standardized returns inputs and targets as the network sees them.
func (m *Model) standardized(s *data.Set) (x, y *tensor.Dense, err error) {
	if x, err = m.scaledInputs(s); err != nil {
		return nil, nil, err
	}
	if y, err = m.Targets.Apply(s.Y); err != nil {
		return nil, nil, err
	}
	return x, graph.Convert(y, m.Dtype()), nil
}

// scaledInputs returns the inputs of a set as the network sees them.
func (m *Model) scaledInputs(s *data.Set) (*tensor.Dense, error) {
	x, err := m.Inputs.Apply(s.X)
	if err != nil {
		return nil, err
	}
	return graph.Convert(x, m.Dtype()), nil
}

// meanSquared returns the mean squared residual of the network in standardised units.
func (m *Model) meanSquared(ctx context.Context, s *data.Set) (float64, error) {
	x, y, err := m.standardized(s)
	if err != nil {
		return 0, err
	}
	g, err := gp.Point{Net: m.Net, Dtype: m.Dtype()}.Predict(ctx, x)
	if err != nil {
		return 0, err
	}
	sum, target := 0.0, graph.Floats(y)
	for i, f := range g.Mean.Float64s() {
		sum += (target[i] - f) * (target[i] - f)
	}
	return sum / float64(len(target)), nil
}

// crossEntropy returns the mean negative log-likelihood of the network's classes.
func (m *Model) crossEntropy(ctx context.Context, s *data.Set) (float64, error) {
	scores, err := m.MAP().EvaluateClasses(ctx, s, Probit)
	return scores.NLL, err
}

// estimateNoise sets the noise to the mean squared residual, also where ctx has ended;
// classes have none.
func (m *Model) estimateNoise(ctx context.Context, s *data.Set) error {
	if m.Classes != nil {
		return nil
	}
	v, err := m.meanSquared(context.WithoutCancel(ctx), s)
	if err != nil {
		return err
	}
	if !positive(v) {
		return fmt.Errorf("the mean squared residual is %g, expected a positive number to take for the noise variance", v)
	}
	m.MAPNoise, m.Noise = v, v
	return nil
}

// split is a set divided at random.
type split struct{ train, validation *data.Set } // validation may be nil

// held returns how many rows are held out.
func (s split) held() int {
	if s.validation == nil {
		return 0
	}
	return s.validation.N()
}

// divide holds out a fraction of the rows, at most maxValidation.
func divide(set *data.Set, fraction float64, seed uint64) (split, error) {
	if fraction == 0 {
		return split{train: set}, nil
	}
	n := set.N()
	fraction = min(fraction, maxValidation/float64(n))
	rows, held := data.Split(n, fraction, rand.New(rand.NewPCG(seed, splitStream)))
	if len(rows) == 0 || len(held) == 0 {
		return split{}, fmt.Errorf("a validation fraction of %g of %d rows leaves %d rows to train and %d to validate, expected some of each",
			fraction, n, len(rows), len(held))
	}
	return split{set.Rows(rows), set.Rows(held)}, nil
}

// WeightOptions say how [FromWeights] reads a network.
type WeightOptions struct {
	Activation layers.Activation // after each hidden layer
	Layout     layers.Layout     // of the weights in the file; the zero value finds out
	Dtype      tensor.Dtype
	// Standardize says that the network was trained on standardised inputs and
	// targets; the moments are then taken from the set. Otherwise it works in the
	// units of the data.
	Standardize bool
	Classes     bool // the target's values are classes, ascending by output; its units stay
}

// FromWeights makes a model without a posterior of weights that were trained elsewhere,
// see [layers.Load]; their shapes give the architecture. The noise variance is the mean
// squared residual on the set, which should be the one that the network was trained on.
func FromWeights(ctx context.Context, path string, o WeightOptions, set *data.Set) (*Model, error) {
	load := layers.LoadOptions{Layout: o.Layout}
	mlp, err := layers.InferMLP(path, o.Activation, load)
	if err != nil {
		return nil, err
	}
	t := TrainOptions{Hidden: mlp.Hidden, Activation: o.Activation, Dtype: o.Dtype, Classes: o.Classes}
	m, err := newModel(t, set, set)
	if err != nil {
		return nil, err
	}
	if want := m.Network; mlp.Inputs != want.Inputs || mlp.Outputs != want.Outputs {
		return nil, fmt.Errorf("%s: the network maps %d inputs to %d outputs, expected %d inputs (the features %s) and %d outputs",
			path, mlp.Inputs, mlp.Outputs, want.Inputs, list(set.Features), want.Outputs)
	}
	if !o.Standardize {
		m.Inputs = identity(mlp.Inputs)
	}
	if !o.Standardize && !o.Classes {
		m.Targets = identity(1)
	}
	if err := layers.Load(path, m.Net, load); err != nil {
		return nil, err
	}
	if err := m.estimateNoise(ctx, set); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.Training = []Run{{Method: MethodWeights, Program: Version(), Rows: set.N()}}
	return m, nil
}
