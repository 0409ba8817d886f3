package valla

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// TrainOptions say how [Train] makes a network. The zero value trains a perceptron for a regression.
type TrainOptions struct {
	Network  Network   // form of the network
	Training Training  // settings of the training
	Classes  bool      // classification: the values of the target are classes
	Held     *data.Set // rows to validate with instead of a fraction of the set; nil if there are none
	Seed     uint64    // for the rows held out, the initial weights and the mini-batches

	// Likelihood is the observation model of a regression, see [likelihood.Models]: a pointer to settings, which do not
	// change. The loss is then −log p(target | outputs), and the parameters of the model are trained along with the
	// weights. nil means Gaussian noise, for which the loss is the squared error.
	Likelihood likelihood.Settings
	// TargetTransform is the name of a function of the targets, which the network learns instead of the targets, see
	// [task.Transform]; "" means none. Predictions and scores are in the units of the data.
	TargetTransform string
	// NoiseHead task.LogVariance trains a network that tells the noise of each row: it has a second output for each target of
	// a regression, the logarithm of the noise variance, and the loss is the Gaussian −log p(target | outputs). The network
	// must end in a dense layer. The second outputs then are the Scale of the task, whose weights are certain: posteriors are
	// of the first outputs. "" means one noise for all rows.
	NoiseHead task.ScaleOf

	Checkpoint string // path of a file that keeps the state of the training; "" means none
	Resume     bool   // go on from the Checkpoint of an interrupted training with the same options and data

	OnProgress func(train.Progress) // if not nil, it is called after each step

	member uint64 // number of the network, counting from 0, of several: it changes the initial weights and the mini-batches
	more   bool   // networks follow, and the checkpoints of the trials stay for a training that goes on
	head   *head  // of the network; nil: it has one output for each target
	chosen bool   // rows have chosen the steps and the weight decay, see Model.Trained
	by     *head  // head with which they have chosen
}

// Train makes a model without a posterior: it trains a network on a set to its maximum a
// posteriori (MAP) weights. The loss is the squared error of the targets, or with Classes
// the cross-entropy of the classes that are the target's values. With a Likelihood the loss is the negative
// log density of the targets, and targets that the model refuses are an error.
//
// The columns of a table, which is a set that has Features, are standardised; other inputs
// such as images are taken as they are, bytes divided by 255, unless Network gives a Mean
// and a Std. The targets of a regression are standardised, unless they are counts, labels or ordered classes, and the
// noise variance of Gaussian noise is the mean squared residual on the training rows. A fraction of the rows is held
// out, see [Training]. If the settings leave the number of steps open, training rows of a table choose it and the weight
// decay, see docs/training.md, and OnProgress counts the steps of each trial from 1 on. Otherwise the weights with the
// smallest loss on the held-out rows are restored.
//
// With Training.Networks above 1 the result is an ensemble, see [Combine], of networks that differ in their initial
// weights and mini-batches. The first network chooses the number of steps and the weight decay, and its noise is the
// noise of the ensemble.
//
// If ctx ends early, Train returns the model of the best weights so far together with an
// error that wraps ctx's; of several networks, those that are trained to their end. With any other error, and with none
// of several networks, the model is nil.
func Train(ctx context.Context, set *data.Set, o TrainOptions) (*Model, error) {
	if o.Training.Networks > 1 {
		return trainSeveral(ctx, set, o)
	}
	t, err := newTraining(set, o)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return t.result(ctx)
}

// result trains the network and returns the model.
func (t *training) result(ctx context.Context) (*Model, error) {
	start := time.Now()
	res, runErr := t.run(ctx)
	if runErr != nil && (res == nil || res.Stopped != train.Interrupted) {
		return nil, runErr
	}
	if err := t.adopt(context.WithoutCancel(ctx)); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	t.model.History = []Event{t.event(res, time.Since(start))}
	return t.model, runErr
}

// training is a network that is being trained.
type training struct {
	o           TrainOptions // completed
	model       *Model       // has the network that is trained
	form        layers.Form  // of the network, where it has no head
	raw         *data.Set    // training rows in the units of the data
	train, held gp.Examples  // training rows and held-out rows in the units of the network
	rowsHeld    int          // number of held-out rows
	learner     learner      // observation model that is trained with the network
	search      *search      // of the number of steps and the weight decay; nil: they are known
}

// complete fills in the defaults of all settings, and refuses those that do not go together.
func (o TrainOptions) complete() (TrainOptions, error) {
	o, err := o.headed()
	if err != nil {
		return o, err
	}
	if o.Training, err = o.Training.complete(); err != nil {
		return o, err
	}
	if o.Network, err = o.Network.complete(); err != nil {
		return o, err
	}
	return o, checkResume(o.Resume, o.Checkpoint)
}

func newTraining(set *data.Set, o TrainOptions) (*training, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if err := task.CheckRows(set); err != nil {
		return nil, err
	}
	rows, held, err := o.divide(set)
	if err != nil {
		return nil, err
	}
	t := &training{o: o, raw: rows}
	if t.model, err = newModel(o, set, rows); err != nil {
		return nil, err
	}
	if err := t.widen(); err != nil {
		return nil, err
	}
	t.learner = newLearner(t.model, o.head)
	if t.train, err = t.model.Task.Examples(rows, t.model.Dtype()); err != nil {
		return nil, err
	}
	if held != nil {
		if t.held, err = t.model.Task.Examples(held, t.model.Dtype()); err != nil {
			return nil, err
		}
		t.rowsHeld = held.N()
	}
	if t.search, err = t.newSearch(); err != nil || t.search != nil {
		return t, err
	}
	t.o.Training = t.o.Training.usual()
	return t, nil
}

// divide returns the training rows of a set and the rows to validate with, nil for none.
func (o TrainOptions) divide(set *data.Set) (rows, held *data.Set, err error) {
	if o.Held != nil {
		return set, o.Held, nil
	}
	rows, held, err = holdout.Split(set, *o.Training.Validation, o.Seed)
	if err == nil && held == nil && o.Training.Patience > 0 {
		err = settings.Errorf("patience %d without rows to validate with", o.Training.Patience)
	}
	return rows, held, err
}

// Encode makes a set of a table whose columns may hold text, dates and gaps, see
// [data.Table.Encode]. The encoding depends only on the rows on which [Train] with the options o trains.
func Encode(t *data.Table, c data.ColumnOptions, o TrainOptions) (*data.Set, error) {
	training, err := o.Training.complete()
	if err != nil {
		return nil, err
	}
	if o.Held == nil {
		c.Rows = func(n int) ([]int, error) {
			rows, _, err := holdout.Indices(n, *training.Validation, o.Seed)
			return rows, err
		}
	}
	c.Classes = o.Classes
	return t.Encode(c)
}

// newModel returns a model with random weights. The training rows give the scaling, and the whole set gives the
// classes.
func newModel(o TrainOptions, set, rows *data.Set) (*Model, error) {
	m, n := &Model{}, o.Network
	n.ends = linkEnds(o.Classes, o.Likelihood)
	var err error
	if m.Task.Inputs, err = n.inputs(rows); err != nil {
		return nil, err
	}
	if m.Task.Outputs, err = o.targetsOf(set, rows); err != nil {
		return nil, err
	}
	return m, m.build(n, o.Seed+o.member)
}

// build gives a model the network that n describes, with random weights.
func (m *Model) build(n Network, seed uint64) error {
	err := m.Task.Check()
	if err != nil {
		return err
	}
	if m.Form, err = n.Describe(m.Task.Inputs.Shape, m.Task.Size()); err != nil {
		return err
	}
	if f := m.Task.Inputs.Features; f != nil && !slices.Equal(m.Form.InputShape(), []int{len(f)}) {
		takes := strings.ReplaceAll(strings.Trim(fmt.Sprint(m.Form.InputShape()), "[]"), " ", "×")
		return fmt.Errorf("the network takes %s inputs, the data have %d%s: is the target, or a column that is no input, among them?", takes, len(f), named(f))
	}
	if err := checkOrder(m.Form, m.Task.Inputs.Features); err != nil {
		return err
	}
	m.Task.Inputs.Shape, m.Task.Inputs.Whole = m.Form.InputShape(), layers.WholeInputs(m.Form)
	if m.Net, err = layers.Build(m.Form, dtypes[n.Dtype], holdout.Rand(seed, holdout.Weights)); err != nil {
		return err
	}
	return m.check()
}

// inputs returns the scaling of the rows: columns of a table are standardised and other arrays stay as they are,
// unless Mean and Std are given.
func (n Network) inputs(rows *data.Set) (task.Inputs, error) {
	if n.Mean == nil && n.Std == nil && rows.Features != nil {
		return task.Standardized(rows)
	}
	return n.scaled(rows), nil
}

// scaled returns the scaling of the rows by Mean and Std. A single number is repeated for each column or channel.
func (n Network) scaled(rows *data.Set) task.Inputs {
	shape := rows.X.Shape()[1:].Clone()
	each := func(v []float64) []float64 {
		if len(v) == 1 && len(shape) > 0 {
			return slices.Repeat(v, shape[0])
		}
		return v
	}
	return task.Inputs{
		Features: rows.Features, Shape: shape, Mean: each(n.Mean), Std: each(n.Std), Encoding: rows.Encoding, Paddings: rows.Paddings,
		Bytes: rows.X.Dtype() == tensor.Uint8,
	}
}

// run trains the network. If the recipe is open, it is chosen first; where ctx ends meanwhile, the network is that of
// the best trial so far.
func (t *training) run(ctx context.Context) (*train.Result, error) {
	s := t.search
	if s == nil {
		return t.steps(ctx)
	}
	if err := s.choose(ctx); err != nil {
		if s.best == nil {
			return nil, err
		}
		t.keep(s.best)
		res := *s.best.res
		if ctx.Err() != nil {
			res.Stopped = train.Interrupted
		}
		return &res, err
	}
	t.o.Training.Iterations, t.o.Training.WeightDecay, t.o.Training.KeepLast = s.best.stepsToBest(), s.best.o.Training.WeightDecay, true
	res, err := t.steps(ctx)
	switch {
	case err == nil && !t.o.more:
		s.removeCheckpoints()
	case res != nil && res.Stopped == train.Interrupted:
		t.keep(s.best) // it is trained to its end
	}
	return res, err
}

// keep takes the network of a trial for the result of the training.
func (t *training) keep(best *trial) {
	t.model, t.learner, t.train = best.model, best.learner, best.train
}

// adopt gives the task of the model what was learned beside the weights: the noise, or the parameters of the
// observation model.
func (t *training) adopt(ctx context.Context) error {
	if !t.learner.none() {
		if err := t.learner.adopt(t.model); err != nil || t.model.Task.Size() == 1 {
			return err
		}
	}
	if err := t.noise(ctx, t.model, t.train); err != nil || t.search == nil || !t.learner.none() {
		return err
	}
	return t.search.raiseNoise(ctx, t.model)
}

// steps makes the steps.
func (t *training) steps(ctx context.Context) (*train.Result, error) {
	s := t.o.Training
	source, err := t.source()
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	c := train.Config{
		Iterations: s.Iterations, Patience: s.Patience, Optimizer: s.optimizer(), Schedule: schedules[s.Schedule], ClipNorm: s.ClipNorm,
		Checkpoint: t.o.Checkpoint, Resume: t.o.Resume, OnProgress: t.o.OnProgress,
	}
	if c.Checkpoint != "" {
		c.CheckpointEvery = checkpointEvery
	}
	if t.held.X != nil && !s.KeepLast {
		c.ValidateEvery = s.ValidateEvery
		one := t.learner.one(t.model.Task)
		c.Validate = func(ctx context.Context) (float64, error) { return t.model.meanLoss(ctx, t.held, one) }
	}
	m := train.MAP{
		Net: t.model.Net, Loss: t.learner.loss(t.model.Task, t.train.N()), Also: t.learner.also(), Identity: t.learner.identity(),
		BatchSize: min(s.BatchSize, t.train.N()), Seed: t.o.Seed + t.o.member, Config: c,
	}
	return m.Train(ctx, source, t.train.Y)
}

// checkpointEvery is how many iterations lie between two checkpoints.
const checkpointEvery = 1000

// event records the training.
func (t *training) event(res *train.Result, took time.Duration) Event {
	all := settings.Map(&t.o.Network)
	for name, v := range settings.Map(&t.o.Training) {
		all[name] = v
	}
	if t.o.Likelihood != nil {
		all["likelihood"] = t.model.Task.Likelihood().String()
	}
	if t.o.NoiseHead != "" {
		all["noise-head"] = string(t.o.NoiseHead)
	}
	if t.o.TargetTransform != "" {
		all["target-transform"] = t.o.TargetTransform
	}
	return Event{
		Action: ActionTrain, Label: "MAP", Program: Version(), Seed: t.o.Seed, Seconds: took.Seconds(), Marks: marksOf(t.raw), Inputs: t.raw.Profile(),
		Record: gp.Record{Rows: t.train.N(), ValidationRows: t.rowsHeld, Settings: all, Result: res, Notes: slices.Concat(t.model.outlierNotes(t.raw), t.model.tailNotes(t.raw), t.falling(res)), Facts: t.chosen()},
	}
}

// outputs returns the network's outputs [N,C] for inputs [N,…] in the network's units.
func (m *Model) outputs(ctx context.Context, x *tensor.Dense) ([]float64, error) {
	var net layers.Network = m.network()
	cut, err := m.cut()
	if err != nil {
		return nil, err
	}
	if cut != nil {
		if x, err = cut.Features(ctx, x, gp.Run{}); err != nil {
			return nil, err
		}
		net = cut.Rest
	}
	mean, err := gp.Point{Net: net, Dtype: m.Dtype()}.Mean(ctx, x)
	if err != nil {
		return nil, err
	}
	return mean.Float64s(), nil
}

// heldLoss returns the mean loss of the network on examples.
func (m *Model) heldLoss(ctx context.Context, e gp.Examples) (float64, error) {
	_, one := m.Task.Loss()
	return m.meanLoss(ctx, e, one)
}

// meanLoss returns the mean of losses.
func (m *Model) meanLoss(ctx context.Context, e gp.Examples, one func(y, f []float64) float64) (float64, error) {
	all, err := m.losses(ctx, e, one)
	sum := 0.0
	for _, l := range all {
		sum += l
	}
	return sum / float64(e.N()), err
}

// losses returns the loss one of the targets [W·T] and the network's outputs [C] for each of N examples [N].
func (m *Model) losses(ctx context.Context, e gp.Examples, one func(y, f []float64) float64) ([]float64, error) {
	f, err := m.outputs(ctx, e.X)
	if err != nil {
		return nil, err
	}
	all, y, c, w := make([]float64, e.N()), graph.Floats(e.Y), len(f)/e.N(), e.Y.Shape()[1]
	for i := range all {
		all[i] = one(y[i*w:(i+1)*w], f[i*c:(i+1)*c])
	}
	return all, nil
}
