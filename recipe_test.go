package valla

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train"
)

// quickly trains with a search of shorter trials.
func quickly(ctx context.Context, t testing.TB, set *data.Set, o TrainOptions) (*Model, error) {
	t.Helper()
	tr, err := newTraining(set, o)
	if err != nil {
		t.Fatal(err)
	}
	tr.search.steps, tr.search.most = 200, 800
	return tr.result(ctx)
}

// openRecipe trains a small network whose recipe is open.
func openRecipe() TrainOptions {
	return TrainOptions{Network: Network{Hidden: []int{20}}, Training: Training{BatchSize: 8, LearningRate: 0.1, ValidateEvery: 50}, Seed: 4}
}

// recipeOf returns the number of steps and the weight decay of a model's training.
func recipeOf(t testing.TB, m *Model) (int, float64) {
	t.Helper()
	s := m.History[0].Settings
	steps, _ := s["iterations"].(int)
	decay, ok := s["weight-decay"].(*float64)
	if !ok {
		t.Fatalf("settings %v", s)
	}
	return steps, *decay
}

// The network is that of the recipe that a slow search chooses, trained on all training rows. The rows held out choose
// nothing: other targets there change nothing.
func TestRowsChooseTheRecipe(t *testing.T) {
	o, set := openRecipe(), wave(80, 1)
	m, err := quickly(t.Context(), t, set, o)
	if err != nil {
		t.Fatal(err)
	}
	steps, decay := recipeOf(t, m)
	rows, held, err := holdout.Split(set, 0.1, o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	best, unseen := slowRecipe(t, rows, o)
	if steps != best.steps || decay != best.decay {
		t.Errorf("%d steps, weight decay %g; want %+v", steps, decay, best)
	}
	if best.tried == 200 && decay == 1e-3 || best.steps == best.tried {
		t.Fatalf("%+v: the first trial is the best, or its last step: the test shows little", best)
	}
	o.Held, o.Training.KeepLast, o.Training.Iterations, o.Training.WeightDecay = held, true, steps, &decay
	all, err := Train(t.Context(), rows, o)
	if err != nil {
		t.Fatal(err)
	}
	if all.fingerprint() != m.fingerprint() || m.History[0].Rows != rows.N() || m.History[0].ValidationRows != held.N() {
		t.Errorf("another network than by the recipe on %d training rows: %+v", rows.N(), m.History[0])
	}
	near(t, "noise variance", m.NoiseVariance(), (all.NoiseVariance()+max(unseen, all.NoiseVariance()))/2, 1e-9)
	_, out, err := holdout.Indices(set.N(), 0.1, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range out {
		set.Y.Float64s()[i] = 1e3
	}
	other, err := quickly(t.Context(), t, set, openRecipe())
	if err != nil || other.fingerprint() != m.fingerprint() || other.NoiseVariance() != m.NoiseVariance() {
		t.Errorf("the targets of rows held out have changed the network, error %v", err)
	}
}

// chosenRecipe is what a slow search finds.
type chosenRecipe struct {
	tried, steps int // of the best trial, and of the training on all rows
	decay        float64
}

// slowRecipe searches by trainings of their own. It also returns the mean squared residual on the choosing rows.
func slowRecipe(t *testing.T, rows *data.Set, o TrainOptions) (best chosenRecipe, noise float64) {
	t.Helper()
	part, choosing, err := holdout.Split(rows, 0.2, o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	o.Held = choosing
	once := o
	once.Training.Iterations = 1
	whole, err := newTraining(rows, once)
	if err != nil {
		t.Fatal(err)
	}
	var least []float64
	try := func(n int, d float64) bool {
		o.Training.Iterations, o.Training.WeightDecay = n, &d
		res, losses := slowTrial(t, part, o, whole.model.Task)
		if least != nil {
			if m, e := kernel.MeanDifference(losses, least); m >= -2*e {
				return false
			}
		}
		rates, all := 0.0, 0.0
		for i := range n {
			rate := (1 + math.Cos(math.Pi*float64(i)/float64(n))) / 2
			if all += rate; i < res.BestIteration {
				rates += rate
			}
		}
		least, best = losses, chosenRecipe{tried: n, steps: int(math.Round(rates / all * float64(n))), decay: d}
		return true
	}
	for _, d := range []float64{1e-3, 1e-2, 1e-4, 0} {
		try(200, d)
	}
	for n := 400; n <= 800 && try(n, best.decay); n *= 2 {
	}
	return best, kernel.Mean(least)
}

// slowTrial trains a network whose task has the scaling of all training rows, and returns the squared errors of the
// choosing rows o.Held.
func slowTrial(t *testing.T, part *data.Set, o TrainOptions, of task.Task) (*train.Result, []float64) {
	t.Helper()
	s, err := newTraining(part, o)
	if err != nil {
		t.Fatal(err)
	}
	s.model.Task = of
	for e, set := range map[*gp.Examples]*data.Set{&s.train: part, &s.held: o.Held} {
		if *e, err = of.Examples(set, s.model.Dtype()); err != nil {
			t.Fatal(err)
		}
	}
	res, err := s.steps(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mean, std := predict(t, s.model, o.Held.X).Mean, of.Outputs.(*task.Regression).Std[0]
	losses := make([]float64, len(mean))
	for i, y := range o.Held.Y.Float64s() {
		losses[i] = (y - mean[i]) * (y - mean[i]) / (std * std)
	}
	return res, losses
}

// A training that was interrupted in a trial gives a network, and goes on to the network of an uninterrupted training.
func TestInterruptedSearchGoesOn(t *testing.T) {
	o, set := openRecipe(), wave(80, 1)
	o.Training.WeightDecay = new(0.01) // three trials at least
	whole, err := quickly(t.Context(), t, set, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Checkpoint, o.Resume = filepath.Join(t.TempDir(), "c"), true
	for _, calls := range []int{100, 500} {
		m, err := quickly(&endsAfter{t.Context(), calls}, t, set, o)
		if !errors.Is(err, context.Canceled) || m == nil || !(m.NoiseVariance() > 0) {
			t.Fatalf("model %v, error %v", m, err)
		}
		if n := m.History[0].Rows; n != 58 {
			t.Errorf("%d rows of a trial, want 58", n)
		}
	}
	first := 0
	o.OnProgress = func(p train.Progress) {
		if first == 0 {
			first = p.Done
		}
	}
	m, err := quickly(t.Context(), t, set, o)
	if err != nil || m.fingerprint() != whole.fingerprint() || m.NoiseVariance() != whole.NoiseVariance() {
		t.Errorf("another network after the resumed training, error %v", err)
	}
	if first < 50 {
		t.Errorf("the training went on after %d steps", first)
	}
	if left, _ := filepath.Glob(o.Checkpoint + ".*"); left != nil {
		t.Errorf("checkpoints of trials are left: %q", left)
	}
	if _, err := os.Stat(o.Checkpoint); err != nil {
		t.Error(err)
	}
}

// The usual recipe is taken where rows cannot choose well or where this takes long, and a given recipe is taken.
func TestUsualRecipe(t *testing.T) {
	images := examples(60, []int{1, 4, 4}, taskCases[0].outputs, 1)
	for name, c := range map[string]struct {
		set   *data.Set
		spoil func(*TrainOptions)
		steps int
		decay float64
	}{
		"few rows":   {wave(40, 1), func(*TrainOptions) {}, 5000, 1e-3},
		"images":     {images, func(*TrainOptions) {}, 5000, 1e-3},
		"costly":     {wave(80, 1), func(o *TrainOptions) { o.Network.Hidden, o.Training.BatchSize = []int{3000, 1000}, 60 }, 5000, 1e-3},
		"patience":   {wave(80, 1), func(o *TrainOptions) { o.Training.Patience = 3 }, 5000, 1e-3},
		"keep-last":  {wave(80, 1), func(o *TrainOptions) { o.Training.KeepLast = true }, 5000, 1e-3},
		"iterations": {wave(80, 1), func(o *TrainOptions) { o.Training.Iterations = 70 }, 70, 1e-3},
		"both":       {wave(80, 1), func(o *TrainOptions) { o.Training.Iterations, o.Training.WeightDecay = 70, new(0.0) }, 70, 0},
	} {
		o := openRecipe()
		c.spoil(&o)
		tr, err := newTraining(c.set, o)
		if err != nil {
			t.Fatal(err)
		}
		if s := tr.o.Training; tr.search != nil || s.Iterations != c.steps || *s.WeightDecay != c.decay {
			t.Errorf("%s: search %v, %d steps, weight decay %v", name, tr.search, s.Iterations, *s.WeightDecay)
		}
	}
}

// A trial that diverges is not better, unless there is no other.
func TestTrialDiverges(t *testing.T) {
	o := openRecipe()
	o.Training.LearningRate = 1e300
	tr, err := newTraining(wave(80, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	var diverged *train.NonFiniteError
	if err := tr.search.choose(t.Context()); !errors.As(err, &diverged) {
		t.Errorf("first trial: error %v", err)
	}
	sound := &trial{training: tr}
	tr.search.best = sound
	if better, err := tr.search.try(t.Context(), 10, new(0.0)); better || err != nil || tr.search.best != sound {
		t.Errorf("later trial: better %t, error %v", better, err)
	}
}

// A note says that the loss was still falling.
func TestFalling(t *testing.T) {
	result := func(stopped train.Stopped, values ...float64) *train.Result {
		r := &train.Result{Stopped: stopped, Iterations: 100 * len(values), BestValue: math.Inf(1)}
		for i, v := range values {
			r.History = append(r.History, train.Validation{Iteration: 100 * (i + 1), Validation: v})
			if v < r.BestValue {
				r.BestIteration, r.BestValue = 100*(i+1), v
			}
		}
		return r
	}
	for name, c := range map[string]struct {
		res  *train.Result
		want string
	}{
		"falls":       {result(train.Finished, 4, 3, 2, 1.5), "fell by 25 %"},
		"hardly":      {result(train.Finished, 4, 3, 2, 1.95), ""},
		"rises":       {result(train.Finished, 4, 3, 2, 2.5), ""},
		"interrupted": {result(train.Interrupted, 4, 3, 2, 1), ""},
		"one":         {result(train.Finished, 4), ""},
		"none":        {&train.Result{Stopped: train.Finished, Iterations: 50}, ""},
	} {
		got := fmt.Sprint((&training{}).falling(c.res))
		if (c.want == "") != (got == "[]") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, settled := range []bool{true, false} { // whether twice the steps were tried
		s := &search{settled: settled, best: &trial{training: &training{o: TrainOptions{Training: Training{Iterations: 5000}}}}}
		if got := (&training{search: s}).falling(result(train.Finished)); (got == nil) != settled {
			t.Errorf("settled %t: %q", settled, got)
		}
	}
}
