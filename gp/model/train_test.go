package model

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

func TestTrainLearns(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		o := quickTrain()
		o.Dtype = dt
		set := wave(200, 1)
		m, res, err := Train(context.Background(), o, set)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Evaluate(context.Background(), wave(200, 2))
		if err != nil {
			t.Fatal(err)
		}
		// The noise has standard deviation 0.2, the targets about 1.7.
		if s.RMSE > 0.4 {
			t.Errorf("%v: RMSE %g on new data", dt, s.RMSE)
		}
		run := m.Training[0]
		if run.Rows != 180 || run.Validation != 20 || run.Method != MethodMAP || run.Iterations != 600 ||
			run.BestIteration != res.BestIteration || *run.BestValidation != res.BestValue {
			t.Errorf("recorded %+v, result %+v", run, res)
		}
	}
}

func TestNoiseIsTheMeanSquaredResidualOfTheTrainingRows(t *testing.T) {
	o, set := quickTrain(), wave(100, 1)
	o.Validation = 0
	m, _, err := Train(context.Background(), o, set)
	if err != nil {
		t.Fatal(err)
	}
	mean, sum := predict(t, m, set.X).Mean, 0.0
	for i, y := range set.Y.Float64s() {
		sum += (y - mean[i]) * (y - mean[i]) / 100
	}
	near(t, "noise", m.Noise*m.Targets.Std[0]*m.Targets.Std[0], sum, 1e-12)
	if m.MAPNoise != m.Noise {
		t.Errorf("noise %g and %g", m.MAPNoise, m.Noise)
	}
}

func TestTrainIsReproducible(t *testing.T) {
	a, set := train600(t)
	b, _ := train600(t)
	if a.Fingerprint() != b.Fingerprint() {
		t.Error("the same seed gives other weights")
	}
	o := quickTrain()
	o.Seed = 1
	c, _, err := Train(context.Background(), o, set)
	if err != nil {
		t.Fatal(err)
	}
	if a.Fingerprint() == c.Fingerprint() {
		t.Error("another seed gives the same weights")
	}
}

func TestTrainRestoresTheBestWeights(t *testing.T) {
	o, set := quickTrain(), wave(30, 1)
	o.Validation, o.WeightDecay, o.Iterations = 0.5, 0, 2000 // 15 rows: overfits
	m, res, err := Train(context.Background(), o, set)
	if err != nil {
		t.Fatal(err)
	}
	if res.BestIteration == 2000 {
		t.Fatal("no overfitting: the test shows nothing")
	}
	_, held := data.Split(30, 0.5, rand.New(rand.NewPCG(o.Seed, splitStream)))
	validation := set.Rows(held)
	mean, sum, scale := predict(t, m, validation.X).Mean, 0.0, m.Targets.Std[0]
	for i, y := range validation.Y.Float64s() {
		sum += (y - mean[i]) * (y - mean[i]) / (scale * scale) / float64(len(held))
	}
	near(t, "squared error of the held-out rows", sum, res.BestValue, 1e-9)
}

func TestInterruptedTrainKeepsWhatIsThere(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m, res, err := Train(ctx, quickTrain(), wave(50, 1))
	if !errors.Is(err, context.Canceled) || m == nil || res.Stopped != train.Interrupted {
		t.Fatalf("model %v, result %+v, error %v", m, res, err)
	}
	if err := m.Save(filepath.Join(t.TempDir(), "m.valla")); err != nil {
		t.Error(err)
	}
	f, res, err := Fit(ctx, m, wave(50, 1), quickFit())
	if !errors.Is(err, context.Canceled) || f == nil || f.Posterior == nil || res.Stopped != train.Interrupted {
		t.Fatalf("model %v, result %+v, error %v", f, res, err)
	}
}

func TestTrainErrors(t *testing.T) {
	for want, spoil := range map[string]func(*TrainOptions){
		"hidden layers [3 0]":       func(o *TrainOptions) { o.Hidden = []int{3, 0} },
		`unknown activation "step"`: func(o *TrainOptions) { o.Activation = "step" },
		"element type":              func(o *TrainOptions) { o.Dtype = tensor.Int },
		"0 iterations":              func(o *TrainOptions) { o.Iterations = 0 },
		"batch size -1":             func(o *TrainOptions) { o.BatchSize = -1 },
		"learning rate NaN":         func(o *TrainOptions) { o.LearningRate = math.NaN() },
		"weight decay -1":           func(o *TrainOptions) { o.WeightDecay = -1 },
		"validation fraction 1":     func(o *TrainOptions) { o.Validation = 1 },
		"patience -1":               func(o *TrainOptions) { o.Patience = -1 },
		"patience 3 needs":          func(o *TrainOptions) { o.Patience, o.Validation = 3, 0 },
	} {
		o := quickTrain()
		spoil(&o)
		m, _, err := Train(context.Background(), o, wave(50, 1))
		oneLine(t, err, "train: bad option: ", want)
		if m != nil || !errors.Is(err, ErrOption) {
			t.Errorf("%s: model %v, error %v", want, m, err)
		}
	}
	o := quickTrain()
	_, _, err := Train(context.Background(), o, wave(3, 1))
	oneLine(t, err, "validation fraction of 0.1 of 3 rows leaves 3 rows to train and 0 to validate")
	o.LearningRate = 1e300
	m, _, err := Train(context.Background(), o, wave(50, 1))
	var diverged *train.NonFiniteError
	if m != nil || !errors.As(err, &diverged) {
		t.Errorf("divergence: model %v, error %v", m, err)
	}
}

func TestFromWeights(t *testing.T) {
	m, set := train600(t)
	path := filepath.Join(t.TempDir(), "w.npz")
	if err := layers.Save(path, m.Net); err != nil {
		t.Fatal(err)
	}
	o := WeightOptions{Activation: "tanh", Dtype: tensor.Float64, Standardize: true}
	got, err := FromWeights(context.Background(), path, o, set)
	if err != nil {
		t.Fatal(err)
	}
	if got.Fingerprint() != m.Fingerprint() || !slices.Equal(got.Network.Hidden, []int{10}) {
		t.Errorf("network %+v", got.Network)
	}
	o.Standardize = false
	if got, err = FromWeights(context.Background(), path, o, set); err != nil {
		t.Fatal(err)
	}
	// A network in the units of the data sees them as they are.
	x := matrix([]float64{0.5, -0.25}, 1, 2)
	z, err := m.Inputs.Invert(x)
	if err != nil {
		t.Fatal(err)
	}
	want := (predict(t, m, z).Mean[0] - m.Targets.Mean[0]) / m.Targets.Std[0]
	near(t, "mean without scaling", predict(t, got, x).Mean[0], want, 1e-12)
	if s, err := got.Evaluate(context.Background(), set); err != nil {
		t.Error(err)
	} else {
		near(t, "noise without scaling", got.Noise, s.RMSE*s.RMSE, 1e-12)
	}

	for _, p := range m.Net.Params() {
		p.Value.Zero()
	}
	if err := layers.Save(path, m.Net); err != nil {
		t.Fatal(err)
	}
	zero := *set
	zero.Y = matrix(make([]float64, set.N()), set.N(), 1)
	_, err = FromWeights(context.Background(), path, o, &zero)
	oneLine(t, err, path, "mean squared residual is 0, expected a positive number")

	set.Features = set.Features[:1]
	set.X = matrix(make([]float64, set.N()), set.N(), 1)
	_, err = FromWeights(context.Background(), path, o, set)
	oneLine(t, err, path, "maps 2 inputs to 1 outputs", "expected 1 inputs")
	_, err = FromWeights(context.Background(), path+"x", o, set)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}
