package valla

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

func TestTrainLearns(t *testing.T) {
	for _, dt := range bothTypes {
		o := quickTrain()
		o.Network.Dtype = dt.String()
		m, err := Train(t.Context(), wave(200, 1), o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Evaluate(t.Context(), wave(200, 2), PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// The noise has standard deviation 0.2, the targets about 1.7.
		if rmse, _ := s.Get("RMSE"); rmse > 0.4 || s.N != 200 {
			t.Errorf("%v: RMSE %g on %d new rows", dt, rmse, s.N)
		}
		e := m.History[0]
		if len(m.History) != 1 || e.Action != ActionTrain || e.Label != "MAP" || e.Rows != 180 || e.ValidationRows != 20 ||
			e.Result.Iterations != 600 || e.Result.Stopped != train.Finished || m.Dtype() != dt || m.String() != "MAP" {
			t.Errorf("%v: recorded %+v", m, e)
		}
	}
}

// The record holds the settings as they were completed, and none that the form lacks.
func TestTrainRecordsItsSettings(t *testing.T) {
	o := quickTrain()
	o.Training.Iterations = 1
	m, err := Train(t.Context(), wave(20, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"activation":"tanh","batch-size":50,"dtype":"float64","form":"mlp","hidden":[10],"iterations":1,"learning-rate":0.01,` +
		`"optimizer":"adam","schedule":"cosine","validate-every":100,"validation":0.1,"weight-decay":0.001}`
	if got := inJSON(t, m.History[0].Settings); got != want {
		t.Errorf("settings %s, want %s", got, want)
	}
	o.Network = Network{Form: "resnet8"}
	set := examples(8, []int{3, 4, 4}, taskCases[0].outputs, 1)
	if m, err = Train(t.Context(), set, o); err != nil {
		t.Fatal(err)
	}
	if s := m.History[0].Settings; s["hidden"] != nil || s["activation"] != nil || s["filters"] != nil || s["shortcut"] != "projection" {
		t.Errorf("settings of a ResNet %v", s)
	}
}

func TestNoiseIsTheMeanSquaredResidualOfTheTrainingRows(t *testing.T) {
	o, set := quickTrain(), twins(100, 1)
	o.Training.Validation = new(0.0)
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	r, squares := m.Task.Outputs.(*task.Regression), [2]float64{}
	mean := predict(t, m, set.X).Mean
	for i, y := range set.Y.Float64s() {
		squares[i%2] += (y - mean[i]) * (y - mean[i]) / 100
	}
	near(t, "noise variance in the units of the residuals", m.NoiseVariance(), 1, 0)
	for k, std := range m.NoiseStds() {
		near(t, "noise std of "+r.Names[k], std, math.Sqrt(squares[k]), 1e-12)
	}
	if m.History[0].ValidationRows != 0 || m.History[0].Result.History != nil {
		t.Errorf("recorded %+v", m.History[0])
	}
}

// A network learns the three thirds.
func TestTrainClasses(t *testing.T) {
	o := quickTrain()
	o.Classes = true
	m, err := Train(t.Context(), thirds(200, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := m.Task.Outputs.(*task.Classification)
	if !ok || !slices.Equal(c.Classes, []float64{1, 2, 4}) || layers.OutputSize(m.Form) != 3 {
		t.Fatalf("outputs %+v of %v", m.Task.Outputs, m.Form)
	}
	s, err := m.Evaluate(t.Context(), thirds(200, 2), PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The thirds of other data lie a little elsewhere. Guessing gives 1/3 and log 3 = 1.1.
	if acc, _ := s.Get("ACC"); acc < 0.75 || s.NLL() > 0.6 {
		t.Errorf("%+v", s)
	}
}

func TestTrainIsReproducible(t *testing.T) {
	a, set := trained(t)
	b, _ := trained(t)
	if a.fingerprint() != b.fingerprint() {
		t.Error("the same seed gives other weights")
	}
	o := quickTrain()
	o.Seed = 1
	c, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if a.fingerprint() == c.fingerprint() {
		t.Error("another seed gives the same weights")
	}
}

func TestTrainRestoresTheBestWeights(t *testing.T) {
	o, set := quickTrain(), wave(30, 1)
	o.Training.Validation, o.Training.WeightDecay, o.Training.Iterations = new(0.5), new(0.0), 2000 // 15 rows: overfits
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	res := m.History[0].Result
	if res.BestIteration == 2000 {
		t.Fatal("no overfitting: the test shows nothing")
	}
	loss := func(m *Model) float64 {
		_, held, err := holdout.Split(set, 0.5, o.Seed)
		if err != nil {
			t.Fatal(err)
		}
		mean, sum, scale := predict(t, m, held.X).Mean, 0.0, m.Task.Outputs.(*task.Regression).Std[0]
		for i, y := range held.Y.Float64s() {
			sum += (y - mean[i]) * (y - mean[i]) / (scale * scale) / float64(held.N())
		}
		return sum
	}
	near(t, "squared error of the held-out rows", loss(m), res.BestValue, 1e-9)
	o.Training.KeepLast = true
	last, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if loss(last) <= loss(m) || last.History[0].Result.BestIteration != 0 {
		t.Errorf("keep-last: loss %g, of the best weights %g", loss(last), loss(m))
	}
}

// Rows that are given take the place of a fraction of the set.
func TestTrainOnGivenRows(t *testing.T) {
	o, set := quickTrain(), wave(60, 1)
	o.Training.Iterations, o.Held = 100, wave(7, 2)
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if e := m.History[0]; e.Rows != 60 || e.ValidationRows != 7 {
		t.Errorf("recorded %d and %d rows", e.Rows, e.ValidationRows)
	}
	x := set.X.Float64s()
	near(t, "mean of the first feature", m.Task.Inputs.Mean[0], mean(x, 0, 2), 1e-12)
	o.Held.Features = []string{"b", "a"}
	_, err = Train(t.Context(), set, o)
	oneLine(t, err, `train: expected the features ["a" "b"], found ["b" "a"]`)
}

// mean returns the mean of column k of v, whose rows have the given width.
func mean(v []float64, k, width int) float64 {
	sum := 0.0
	for i := k; i < len(v); i += width {
		sum += v[i]
	}
	return sum / float64(len(v)/width)
}

func TestInterruptedTrainKeepsWhatIsThere(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := Train(ctx, wave(50, 1), quickTrain())
	if !errors.Is(err, context.Canceled) || m == nil || m.History[0].Result.Stopped != train.Interrupted {
		t.Fatalf("model %v, error %v", m, err)
	}
	loaded(t, written(t, m))
	f, err := m.Fit(ctx, wave(50, 1), FitOptions{})
	if !errors.Is(err, context.Canceled) || f == nil || f.Posterior == nil || f.History[1].Result.Stopped != train.Interrupted {
		t.Fatalf("model %v, error %v", f, err)
	}
	loaded(t, written(t, f))
}

// endsAfter is a context that ends after Err was asked some times: the loop asks before
// every step.
type endsAfter struct {
	context.Context
	calls int
}

func (e *endsAfter) Err() error {
	if e.calls--; e.calls < 0 {
		return context.Canceled
	}
	return nil
}

func TestResumedTrainIsTheUninterruptedOne(t *testing.T) {
	whole, set := trained(t)
	o := quickTrain()
	o.Checkpoint, o.Resume = filepath.Join(t.TempDir(), "c.zip"), true
	part, err := Train(&endsAfter{t.Context(), 250}, set, o)
	if !errors.Is(err, context.Canceled) || part == nil || part.History[0].Result.Iterations < 1 || part.History[0].Result.Iterations > 599 {
		t.Fatalf("model %v, error %v", part, err)
	}
	steps := 0
	o.OnProgress = func(p train.Progress) { steps = max(steps, p.Done) }
	resumed, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if resumed.fingerprint() != whole.fingerprint() || resumed.NoiseVariance() != whole.NoiseVariance() || steps != 600 {
		t.Errorf("another network after the resumed run, %d steps", steps)
	}
	o.Training.LearningRate = 0.02
	o.Seed = 2
	if _, err := Train(t.Context(), set, o); err == nil {
		t.Error("a checkpoint of another run was taken")
	}
}

func TestTrainErrors(t *testing.T) {
	for want, spoil := range map[string]func(*TrainOptions){
		"hidden":                            func(o *TrainOptions) { o.Network.Hidden = []int{3, 0} },
		"activation: expected one of":       func(o *TrainOptions) { o.Network.Activation = "step" },
		"dtype: expected one of":            func(o *TrainOptions) { o.Network.Dtype = "int" },
		"mean":                              func(o *TrainOptions) { o.Network.Mean = []float64{math.Inf(1), 0} },
		"iterations":                        func(o *TrainOptions) { o.Training.Iterations = -1 },
		"batch-size":                        func(o *TrainOptions) { o.Training.BatchSize = -1 },
		"learning-rate":                     func(o *TrainOptions) { o.Training.LearningRate = math.NaN() },
		"weight-decay":                      func(o *TrainOptions) { o.Training.WeightDecay = new(-1.0) },
		"validation":                        func(o *TrainOptions) { o.Training.Validation = new(1.0) },
		"patience: expected":                func(o *TrainOptions) { o.Training.Patience = -1 },
		"patience 3 without rows":           func(o *TrainOptions) { o.Training.Patience, o.Training.Validation = 3, new(0.0) },
		"patience 3 with keep-last":         func(o *TrainOptions) { o.Training.Patience, o.Training.KeepLast = 3, true },
		"momentum 0.5 of the optimizer":     func(o *TrainOptions) { o.Training.Momentum = 0.5 },
		"resume without":                    func(o *TrainOptions) { o.Resume = true },
		"augment: inputs are float64":       func(o *TrainOptions) { o.Training.Augment = true },
		"form \"cnn\" takes images":         func(o *TrainOptions) { o.Network = Network{Form: "cnn"} },
		"filters for a network of the form": func(o *TrainOptions) { o.Network.Filters = []int{3} },
	} {
		o := quickTrain()
		spoil(&o)
		m, err := Train(t.Context(), wave(50, 1), o)
		oneLine(t, err, "train: ", want)
		if m != nil || !errors.Is(err, ErrSetting) {
			t.Errorf("%s: model %v, error %v", want, m, err)
		}
	}
	o := quickTrain()
	_, err := Train(t.Context(), wave(3, 1), o)
	oneLine(t, err, "train: ", "a validation fraction of 0.1 of 3 rows leaves 3 rows to train and 0 to validate")
	o.Network.Mean = []float64{1, 2, 3}
	_, err = Train(t.Context(), wave(50, 1), o)
	oneLine(t, err, "train: inputs: 3 means and 0 standard deviations, expected 2 of each")
	o = quickTrain()
	o.Training.LearningRate = 1e300
	m, err := Train(t.Context(), wave(50, 1), o)
	var diverged *train.NonFiniteError
	if m != nil || !errors.As(err, &diverged) {
		t.Errorf("divergence: model %v, error %v", m, err)
	}
	o = quickTrain()
	o.Training.Iterations, o.Classes = 1, true
	_, err = Train(t.Context(), &data.Set{Features: []string{"a"}, Targets: []string{"y"}, X: denseOf(make([]float64, 5), 5, 1), Y: denseOf(make([]float64, 5), 5, 1)}, o)
	oneLine(t, err, `train: the target "y" has 1 different values, expected 2 to 1000 classes`)
	_, err = Train(t.Context(), twins(50, 1), o)
	oneLine(t, err, "train: 2 targets of classes, expected one")
	o.Classes = false
	set := wave(50, 1)
	set.Targets = nil
	_, err = Train(t.Context(), set, o)
	oneLine(t, err, "train: a regression without targets")
	set = wave(50, 1)
	set.Y.Float64s()[7] = math.NaN()
	_, err = Train(t.Context(), set, o)
	oneLine(t, err, "train: ")
}

// The setting clip-norm clips gradients: a bound that no gradient reaches changes nothing, a small bound does.
func TestTrainClipsGradients(t *testing.T) {
	var prints []string
	for _, limit := range []float64{0, 1e9, 1e-3} {
		o := quickTrain()
		o.Training.Iterations, o.Training.ClipNorm = 50, limit
		o.Training.Optimizer = "sgd"
		m, err := Train(t.Context(), wave(60, 1), o)
		if err != nil {
			t.Fatal(err)
		}
		prints = append(prints, m.fingerprint())
	}
	if prints[0] != prints[1] || prints[0] == prints[2] {
		t.Errorf("weights %q without a bound, with a large one and a small one", prints)
	}
}

// A target of one value is refused: there is nothing to learn.
func TestTrainOnAConstantTarget(t *testing.T) {
	o, set := quickTrain(), twins(50, 1)
	o.Training.Iterations = 1
	for i := 1; i < 100; i += 2 {
		set.Y.Float64s()[i] = 3
	}
	m, err := Train(t.Context(), set, o)
	oneLine(t, err, `train: the target "z" is 3 in each of the 45 training rows, expected different numbers`)
	if m != nil {
		t.Errorf("model %v", m)
	}
	gaussian, err := likelihood.Lookup(gaussianName)
	if err != nil {
		t.Fatal(err)
	}
	o.Likelihood = gaussian.New()
	_, err = Train(t.Context(), set, o)
	oneLine(t, err, `train: the target "z" is 3`)
}

func TestTrainOnImagesOfBytes(t *testing.T) {
	pixels := make([]uint8, 20*28*28)
	for i := range pixels {
		pixels[i] = uint8(i * i)
	}
	labels := make([]float64, 20)
	for i := range labels {
		labels[i] = float64(i % 3)
	}
	set := &data.Set{Targets: []string{"label"}, X: tensor.New(tensor.WithShape(20, 28, 28), tensor.WithBacking(pixels)), Y: denseOf(labels, 20, 1)}
	o := TrainOptions{Network: Network{Hidden: []int{5}, Dtype: "float32"}, Training: Training{Iterations: 3}, Classes: true}
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if m.Form.String() != "784-5-3 tanh" || !slices.Equal(m.Task.Inputs.Shape, []int{784}) || m.Task.Inputs.Mean != nil {
		t.Errorf("%v with inputs %+v", m.Form, m.Task.Inputs)
	}
	scaled := make([]float64, len(pixels))
	for i, b := range pixels {
		scaled[i] = float64(b) / 255
	}
	a, b := predict(t, m, set.X), predict(t, m, denseOf(scaled, 20, 784))
	for i := range a.Probs {
		near(t, "probability", a.Probs[i], b.Probs[i], 1e-5)
	}
}
