package runner

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/train"
)

// Reliability, at points by hand.
func TestReliability(t *testing.T) {
	p := &valla.Prediction{Classes: []float64{5, 7}, Probs: []float64{0.9, 0.1, 0.2, 0.8, 0.95, 0.05}}
	got := reliability(p, []float64{5, 5, 5}, 2)
	// All three confidences fall into the upper bin: their mean is 0.8833, two are right.
	if len(got) != 1 || math.Abs(got[0].X-2.65/3) > 1e-12 || math.Abs(got[0].Y-2.0/3) > 1e-12 {
		t.Errorf("reliability %+v", got)
	}
	// With 20 bins 0.95 is the upper end of its bin, (0.9, 0.95].
	if got := reliability(p, []float64{7, 7, 7}, 20); len(got) != 3 || got[0] != (result.XY{X: 0.8, Y: 1}) || got[2].Y != 0 {
		t.Errorf("reliability of 20 bins %+v", got)
	}
}

func TestHistogram(t *testing.T) {
	if h := histogram([]float64{0, 0.4, 0.9, 1}, 1, 2); h[0] != 1 || h[1] != 1 {
		t.Errorf("histogram %v", h)
	}
	// Rounding may put an entropy just outside; it counts in the outer bins.
	if h := histogram([]float64{-1e-17, 2.0000001}, 2, 4); !slices.Equal(h, []float64{1, 0, 0, 1}) {
		t.Errorf("histogram %v", h)
	}
}

func TestAround(t *testing.T) {
	if got := around([]float64{3, 1, 2}, 0.5, 5); !slices.Equal(got, []float64{0, 1, 2, 3, 4}) {
		t.Errorf("grid %v", got)
	}
}

func TestInUnits(t *testing.T) {
	z := []float64{-1, 2}
	if got := inUnits(task.Inputs{Mean: []float64{10}, Std: []float64{3}}, z); !slices.Equal(got, []float64{7, 16}) || z[0] != -1 {
		t.Errorf("%v, of %v", got, z)
	}
	if got := inUnits(task.Inputs{}, z); !slices.Equal(got, z) {
		t.Errorf("%v without scaling", got)
	}
}

func TestNotANumber(t *testing.T) {
	scores := map[string]result.Scores{"mc": {"NLL": result.Number(math.Inf(1)), "ACC": 1}, "": {"CQM": result.Number(math.NaN())}}
	if got := notANumber(scores); got != "CQM" {
		t.Errorf("%q is NaN, expected CQM", got)
	}
	delete(scores, "")
	if got := notANumber(scores); got != "" {
		t.Errorf("%q is NaN, expected none", got)
	}
	scores["mc"]["ECE"] = result.Number(math.NaN())
	if got := notANumber(scores); got != "mc ECE" {
		t.Errorf("%q is NaN, expected mc ECE", got)
	}
}

func TestFacts(t *testing.T) {
	r := gp.Record{PriorStds: []float64{0.5, 2}, Result: &train.Result{
		Iterations: 9, BestIteration: 6, Stopped: train.Early, History: []train.Validation{{Iteration: 3, Loss: math.NaN(), Validation: 2, Seconds: 1}},
	}}
	want := result.Facts{PriorStd: 0.5, Steps: 9, Best: 6, Stopped: string(train.Early)}
	if got := facts(r); !reflect.DeepEqual(got, want) {
		t.Errorf("facts %+v", got)
	}
	last := *r.Result
	last.KeptLast, want.Best, want.Found = true, 9, map[string]result.Number{"jitter": 0.25}
	if got := facts(gp.Record{PriorStds: r.PriorStds, Result: &last, Facts: []gp.Fact{{Name: "jitter", Value: 0.25}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("facts %+v of a fit that keeps its last state", got)
	}
	if h := history(r); len(h) != 1 || h[0].Step != 3 || h[0].Validation != 2 || h[0].Seconds != 1 || !math.IsNaN(float64(h[0].Loss)) {
		t.Errorf("history %+v", h)
	}
	if got, h := facts(gp.Record{}), history(gp.Record{}); !reflect.DeepEqual(got, result.Facts{}) || h != nil {
		t.Errorf("facts %+v and history %v of an empty record", got, h)
	}
}

// curve trains a network on one input, with a posterior.
func curve(t *testing.T) (*problem, *valla.Model) {
	t.Helper()
	set := data.Toy(1)
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{5}}, Training: valla.Training{Iterations: 50}})
	if err != nil {
		t.Fatal(err)
	}
	p := &problem{name: "toy", train: set.Rows(dense.Indices(150)), held: set.Rows(dense.Indices(7)), test: data.Toy(2), model: m}
	fitted, err := m.Fit(t.Context(), set, valla.FitOptions{Settings: &gpvalla.Settings{Inducing: 3, Iterations: 4}})
	if err != nil {
		t.Fatal(err)
	}
	return p, fitted
}

// The band is the prediction on its grid, in the units of the data.
func TestBand(t *testing.T) {
	p, m := curve(t)
	b, err := Band(t.Context(), m, p.train, p.held)
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.New(tensor.WithShape(len(b.Grid), 1), tensor.WithBacking(slices.Clone(b.Grid)))
	want, err := m.Predict(t.Context(), x, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Grid {
		if b.Mean[i] != want.Mean[i] || b.Std[i] != math.Sqrt(want.Variance[i]) || b.Latent[i] != math.Sqrt(want.Latent[i]) {
			t.Fatalf("point %d: %v, %v, %v", i, b.Mean[i], b.Std[i], b.Latent[i])
		}
	}
	if len(b.X) != 150 || len(b.HeldX) != 7 || len(b.After) != 3 || len(b.Before) != 3 || slices.Equal(b.Before, b.After) {
		t.Errorf("band of %d and %d rows, inducing inputs %v and %v", len(b.X), len(b.HeldX), b.Before, b.After)
	}
	low, high := slices.Min(b.X), slices.Max(b.X)
	for _, z := range b.Before { // k-means of the training inputs
		if z < low || z > high {
			t.Errorf("the inducing input %v is outside of [%v, %v]", z, low, high)
		}
	}
	if b, err = Band(t.Context(), m.MAP(), p.train, nil); err != nil || b.After != nil || b.HeldX != nil || slices.Max(b.Latent) != 0 {
		t.Errorf("MAP's band %+v, error %v", b, err)
	}
}

// Scores of numbers equal the scores of Evaluate.
func TestScoreNumbers(t *testing.T) {
	p, m := curve(t)
	cell := &result.Cell{}
	if err := score(t.Context(), p, m, spec.Scoring{MonteCarlo: 3}, cell, "", nil); err != nil {
		t.Fatal(err)
	}
	want, err := m.Evaluate(t.Context(), p.test, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range want.List {
		if float64(cell.Scores[""][v.Name]) != v.Value {
			t.Errorf("%s %v, expected %v", v.Name, cell.Scores[""][v.Name], v.Value)
		}
	}
	if len(cell.Scores) != 1 || float64(cell.Facts.NoiseStd) != m.NoiseStds()[0] || cell.Curves.Band == nil || !slices.Equal(cell.Curves.Coverage, want.Coverage) {
		t.Errorf("cell %+v", cell)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := score(ended, p, m, spec.Scoring{}, cell, "", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}

// A table is loaded with the rows held out that holdout.Split gives, or with its own.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	p, err := load("boston", dir, 0.25, 1)
	if err != nil {
		t.Fatal(err)
	}
	boston, err := sets.Lookup("boston")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := boston.Table(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows, held, err := holdout.Split(parts.Train, 0.25, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.train.Y.Float64s(), rows.Y.Float64s()) || !slices.Equal(p.held.Y.Float64s(), held.Y.Float64s()) || p.test.N() != 3 || p.classes {
		t.Errorf("%d rows, %d held out, %d to test", p.train.N(), p.held.N(), p.test.N())
	}
	if p, err = load("boston", dir, 0, 0); err != nil || p.held != nil || p.train.N() != 117 {
		t.Errorf("problem %+v, error %v", p, err)
	}
	if p, err = load("sine", "", 0.5, 0); err != nil || p.held == nil || p.held.N() == p.train.N() {
		t.Errorf("problem %+v, error %v", p, err)
	}
	for name, want := range map[string]string{"nothing": "unknown data set", "mnist": "valla data get mnist", "yacht": "yacht"} {
		if _, err := load(name, dir, 0, 0); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
