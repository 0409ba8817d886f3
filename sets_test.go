package valla

import (
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/holdout"
)

// Sets whose parts do not belong together are errors everywhere, with and without rows
// held out.
func TestSetsThatMakeNoSense(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 0, 3)
	path := weightFile(t, m)
	for want, spoil := range map[string]func(s *data.Set){
		"20 inputs and 19 targets": func(s *data.Set) { s.Y = denseOf(make([]float64, 19), 19, 1) },
		"19 inputs and 20 targets": func(s *data.Set) { s.X = denseOf(make([]float64, 38), 19, 2) },
		"without targets":          func(s *data.Set) { s.Y = nil },
		"without inputs":           func(s *data.Set) { s.X = nil },
		"expected both":            func(s *data.Set) { *s = data.Set{} },
	} {
		set := wave(20, 1)
		spoil(set)
		_, err := Train(t.Context(), set, quickTrain())
		oneLine(t, err, "train: ", want)
		o := quickTrain()
		o.Training.Validation = new(0.0)
		_, err = Train(t.Context(), set, o)
		oneLine(t, err, "train: ", want)
		o.Held = set
		_, err = Train(t.Context(), wave(20, 1), o)
		oneLine(t, err, "train: ", want)
		_, err = m.Fit(t.Context(), set, FitOptions{})
		oneLine(t, err, "fit: ", want)
		_, err = m.Fit(t.Context(), wave(20, 1), FitOptions{Held: set})
		oneLine(t, err, "fit: ", want)
		_, err = m.Evaluate(t.Context(), set, PredictOptions{})
		oneLine(t, err, "evaluate: ", want)
		_, err = FromWeights(t.Context(), path, set, WeightOptions{})
		oneLine(t, err, path, want)
		_, _, err = holdout.Split(set, 0.5, 0)
		oneLine(t, err, want)
	}
	_, err := Train(t.Context(), nil, quickTrain())
	oneLine(t, err, "train: a set without inputs")
	flat := wave(20, 1)
	flat.X = denseOf(make([]float64, 20), 20)
	_, err = Train(t.Context(), flat, quickTrain())
	oneLine(t, err, "train: ")
	for _, targets := range [][]string{nil, {"y", "z"}} {
		odd := wave(20, 1)
		odd.Targets = targets
		_, err = Train(t.Context(), odd, quickTrain())
		oneLine(t, err, "train: ", "targets")
	}
}
