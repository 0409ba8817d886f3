package model

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/train/metric"
)

func fit(t testing.TB, m *Model, set *data.Set, o FitOptions) *Model {
	t.Helper()
	f, _, err := Fit(context.Background(), m, set, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFitGivesErrorBarsAndKeepsTheMean(t *testing.T) {
	for _, c := range []struct {
		dt        tensor.Dtype
		optimizer Optimizer
		wider     float64 // the least ratio of the variances outside and amid the data
	}{{tensor.Float64, Adam, 4}, {tensor.Float32, Adam, 4}, {tensor.Float64, Natural, 2}, {tensor.Float32, Natural, 2}} {
		train, how := quickTrain(), quickFit()
		train.Dtype, how.Optimizer = c.dt, c.optimizer
		if c.optimizer == Natural {
			how.Iterations = 60
		}
		set := wave(200, 1)
		m, _, err := Train(context.Background(), train, set)
		if err != nil {
			t.Fatal(err)
		}
		f := fit(t, m, set, how)
		if m.Posterior != nil {
			t.Error("Fit changed its argument")
		}
		x := matrix([]float64{0, 100, 30, 100}, 2, 2) // amid the data, and far outside
		before, after := predict(t, m, x), predict(t, f, x)
		for i := range 2 {
			near(t, "mean", after.Mean[i], before.Mean[i], 1e-6)
		}
		if after.Latent[0] <= 0 || after.Latent[1] < c.wider*after.Latent[0] {
			t.Errorf("%v: latent variance %g amid the data, %g outside", c, after.Latent[0], after.Latent[1])
		}
		again, err := Load(saved(t, f))
		if err != nil {
			t.Fatal(err)
		}
		if p := predict(t, again, x); !slices.Equal(p.Variance, after.Variance) {
			t.Error("the saved model predicts other numbers")
		}
		if len(f.Training) != 2 || f.Training[1].Method != MethodVaLLA || f.Training[1].Inducing != 8 || *f.Training[1].Alpha != 1 || f.Training[1].Optimizer != c.optimizer {
			t.Errorf("recorded %+v", f.Training)
		}
		if refit := fit(t, f, set, how); len(refit.Training) != 2 {
			t.Errorf("fitted again: recorded %+v", refit.Training)
		}
	}
}

func TestFitRestoresTheBestPosterior(t *testing.T) {
	m, set := train600(t)
	o := quickFit()
	o.Optimizer, o.LearningRate, o.Iterations = Adam, 0.1, 500 // Natural's layer lies beside its best value, see valla.Natural
	f, res, err := Fit(context.Background(), m, set, o)
	if err != nil {
		t.Fatal(err)
	}
	_, held := data.Split(set.N(), o.Validation, rand.New(rand.NewPCG(o.Seed, splitStream)))
	v := set.Rows(held)
	p, nll := predict(t, f, v.X), 0.0
	for i, y := range v.Y.Float64s() {
		nll += metric.GaussianNLL(p.Mean[i], p.Variance[i], y) / float64(len(held))
	}
	// The density of y is that of the standardised one divided by the scale.
	near(t, "validation NLL", nll-math.Log(m.Targets.Std[0]), res.BestValue, 1e-9)
	for _, h := range res.History {
		if h.Validation < res.BestValue {
			t.Errorf("%g after %d iterations is better than %g", h.Validation, h.Iteration, res.BestValue)
		}
	}
}

func TestFitOptionsReachTheFit(t *testing.T) {
	m, set := train600(t)
	scale := m.Targets.Std[0]
	o := quickFit()
	o.Iterations, o.PriorStd, o.NoiseStd, o.FixPrior, o.FixNoise = 100, 0.3, 0.5, true, true
	f := fit(t, m, set, o)
	near(t, "prior", layerOf(f).PriorStd(), 0.3, 1e-12)
	near(t, "noise", math.Sqrt(f.Noise)*scale, 0.5, 1e-12)
	near(t, "MAP noise", f.MAPNoise, m.MAPNoise, 0)

	o.FixPrior, o.FixNoise = false, false
	free := fit(t, m, set, o)
	if layerOf(free).PriorStd() == layerOf(f).PriorStd() || free.Noise == f.Noise {
		t.Error("prior or noise stayed as they were")
	}
	for name, change := range map[string]func(*FitOptions){
		"alpha": func(o *FitOptions) { o.Alpha = 0 },
		"init":  func(o *FitOptions) { o.Init = data.RandomPoints },
		"seed":  func(o *FitOptions) { o.Seed = 1 },
		"rate":  func(o *FitOptions) { o.LearningRate = 1e-3 },
		"batch": func(o *FitOptions) { o.BatchSize = 20 },
	} {
		other := o
		change(&other)
		if g := fit(t, m, set, other); slices.Equal(layerOf(g).L.Floats(), layerOf(free).L.Floats()) {
			t.Errorf("%s makes no difference", name)
		}
	}
	if g := fit(t, m, set, o); !slices.Equal(layerOf(g).L.Floats(), layerOf(free).L.Floats()) {
		t.Error("the same options give another posterior")
	}
}

func TestInducingPointsAreDistinctInputs(t *testing.T) {
	m, set := train600(t)
	rows := make([]int, 50)
	for i := range rows {
		rows[i] = i % 4
	}
	o := quickFit()
	o.Validation, o.Patience, o.Iterations = 0, 0, 1
	if f := fit(t, m, set.Rows(rows), o); layerOf(f).Inducing() != 4 {
		t.Errorf("%d inducing points for 4 distinct rows", layerOf(f).Inducing())
	}
	n := maxKMeans + 10
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	z, err := inducing(matrix(x, n, 1), o, rand.New(rand.NewPCG(1, 1)))
	if err != nil || z.Shape()[0] != o.Inducing {
		t.Errorf("inducing points of many rows: %v, error %v", z, err)
	}
}

func TestManyRowsHoldOutNoMoreThanNeeded(t *testing.T) {
	n := 3 * maxValidation
	s, err := divide(&data.Set{X: matrix(make([]float64, n), n, 1), Y: matrix(make([]float64, n), n, 1)}, 0.9, 0)
	if err != nil || s.held() != maxValidation || s.train.N() != n-maxValidation {
		t.Errorf("held out %d of %d, error %v", s.held(), n, err)
	}
}

func TestResumedFitIsTheUninterruptedOne(t *testing.T) {
	m, set := train600(t)
	whole := fit(t, m, set, quickFit())

	o := quickFit()
	o.Checkpoint, o.Resume = filepath.Join(t.TempDir(), "c.zip"), true
	ctx := &endsAfter{Context: context.Background(), calls: 150}
	part, res, err := Fit(ctx, m, set, o)
	if !errors.Is(err, context.Canceled) || part == nil || res.Iterations == 0 || res.Iterations == 300 {
		t.Fatalf("result %+v, error %v", res, err)
	}
	resumed := fit(t, m, set, o)
	for i, p := range layerOf(whole).Params() {
		if !slices.Equal(p.Floats(), layerOf(resumed).Params()[i].Floats()) {
			t.Errorf("%s differs after the resumed run", p.Name)
		}
	}
	if whole.Noise != resumed.Noise {
		t.Errorf("noise %g, after the resumed run %g", whole.Noise, resumed.Noise)
	}
}

// endsAfter is a context that is cancelled after Err was asked some times: the loop
// asks before every step.
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

// TestOptimizers: what each optimizer takes unless told otherwise.
func TestOptimizers(t *testing.T) {
	adam := FitOptions{Optimizer: Adam, Iterations: 40_000, BatchSize: 100, LearningRate: 1e-3, Patience: 10}
	natural := func(steps, batch int) FitOptions {
		return FitOptions{Optimizer: Natural, Iterations: steps, BatchSize: batch, LearningRate: 1e-2}
	}
	for _, c := range []struct {
		rows    int
		classes bool
		want    FitOptions
	}{
		{7, false, natural(1000, 100)}, {20_000, true, natural(2000, 200)}, {1_000_000, false, natural(1000, 400)},
		{1_000_000, false, adam}, {7, true, adam},
	} {
		o := FitOptions{Optimizer: c.want.Optimizer, Patience: 10}
		if got := o.complete(c.rows, c.classes); got != c.want {
			t.Errorf("%s for %d rows, classes %t: %+v, want %+v", o.Optimizer, c.rows, c.classes, got, c.want)
		}
	}
	own := FitOptions{Optimizer: Natural, Iterations: 3, BatchSize: 4, LearningRate: 5}
	if got := own.complete(10, true); got != own {
		t.Errorf("%+v became %+v", own, got)
	}
}

func TestFitErrors(t *testing.T) {
	m, set := train600(t)
	for want, spoil := range map[string]func(*FitOptions){
		"0 inducing":              func(o *FitOptions) { o.Inducing = 0 },
		"alpha 1.5":               func(o *FitOptions) { o.Alpha = 1.5 },
		"alpha NaN":               func(o *FitOptions) { o.Alpha = math.NaN() },
		"prior standard":          func(o *FitOptions) { o.PriorStd = 0 },
		"noise standard":          func(o *FitOptions) { o.NoiseStd = -1 },
		"to resume needs":         func(o *FitOptions) { o.Resume = true },
		"optimizer \"sgd\"":       func(o *FitOptions) { o.Optimizer = "sgd" },
		"-1 iterations":           func(o *FitOptions) { o.Iterations = -1 },
		"batch size -1":           func(o *FitOptions) { o.BatchSize = -1 },
		"validation fraction 1.2": func(o *FitOptions) { o.Validation = 1.2 },
	} {
		o := quickFit()
		spoil(&o)
		f, _, err := Fit(context.Background(), m, set, o)
		oneLine(t, err, "fit: bad option: ", want)
		if f != nil || !errors.Is(err, ErrOption) {
			t.Errorf("%s: model %v, error %v", want, f, err)
		}
	}
	swapped := *set
	swapped.Features = []string{"b", "a"}
	_, _, err := Fit(context.Background(), m, &swapped, quickFit())
	oneLine(t, err, `fit: expected the features "a", "b"`)
	o := quickFit()
	o.Checkpoint = filepath.Join(t.TempDir(), "no", "c.zip")
	_, _, err = Fit(context.Background(), m, set, o)
	oneLine(t, err, "checkpoint")
	if dt := m.Dtype(); dt != tensor.Float64 {
		t.Errorf("element type %v", dt)
	}
}
