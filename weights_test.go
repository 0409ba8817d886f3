package valla

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/layers"
)

// weightFile writes the weights of a model.
func weightFile(t *testing.T, m *Model) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.npz")
	if err := layers.Save(path, m.Net); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFromWeights(t *testing.T) {
	m, set := trained(t)
	path := weightFile(t, m)
	got, err := FromWeights(t.Context(), path, set, WeightOptions{Standardize: true})
	if err != nil {
		t.Fatal(err)
	}
	e := got.History[0]
	if got.fingerprint() != m.fingerprint() || got.Form.String() != "2-10-1 tanh" || e.Action != ActionWeights || e.Rows != 200 || e.Settings["form"] != "mlp" {
		t.Errorf("%v, history %+v", got.Form, e)
	}
	if got, err = FromWeights(t.Context(), path, set, WeightOptions{}); err != nil {
		t.Fatal(err)
	}
	// A network in the units of the data sees them as they are.
	scale, r := m.Task.Inputs, m.Task.Outputs.(*task.Regression)
	z := denseOf([]float64{0.5*scale.Std[0] + scale.Mean[0], -0.25*scale.Std[1] + scale.Mean[1]}, 1, 2)
	want := (predict(t, m, z).Mean[0] - r.Mean[0]) / r.Std[0]
	near(t, "mean without scaling", predict(t, got, denseOf([]float64{0.5, -0.25}, 1, 2)).Mean[0], want, 1e-12)
	s, err := got.Evaluate(t.Context(), set, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rmse, _ := s.Get("RMSE")
	near(t, "noise without scaling", got.NoiseStds()[0], rmse, 1e-12)
	f := fit(t, got, set, FitOptions{Settings: quickFit(), Validation: new(0.0)})
	comesBack(t, f, set.X)
}

func TestFromWeightsOfImagesAndClasses(t *testing.T) {
	c := formCases[1]
	m := c.build(t, taskCases[2].outputs, tensor.Float32)
	set := examples(12, c.shape, taskCases[2].outputs, 1)
	n := c.network
	n.Dtype = "float32"
	got, err := FromWeights(t.Context(), weightFile(t, m), set, WeightOptions{Network: n, Classes: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(numbers(predict(t, got, set.X)), numbers(predict(t, m, set.X))) || got.NoiseVariance() != 0 {
		t.Error("the network with the same weights predicts other probabilities")
	}
	n.Mean, n.Std = []float64{0.5}, []float64{2}
	if got, err = FromWeights(t.Context(), weightFile(t, m), set, WeightOptions{Network: n, Classes: true}); err != nil {
		t.Fatal(err)
	}
	x := set.X.Clone().(*tensor.Dense)
	for i, v := range x.Float64s() {
		x.Float64s()[i] = v*2 + 0.5
	}
	a, b := predict(t, got, x), predict(t, m, set.X)
	for i := range a.Probs {
		near(t, "probability", a.Probs[i], b.Probs[i], 1e-5)
	}
}

func TestFromWeightsErrors(t *testing.T) {
	m, set := trained(t)
	path := weightFile(t, m)
	from := func(path string, set *data.Set, o WeightOptions) error {
		got, err := FromWeights(t.Context(), path, set, o)
		if err != nil && got != nil {
			t.Errorf("a model came with the error %v", err)
		}
		return err
	}
	narrow := wave(200, 1)
	narrow.Features, narrow.X = narrow.Features[:1], denseOf(make([]float64, 200), 200, 1)
	oneLine(t, from(path, narrow, WeightOptions{}), path, "maps 2 inputs to 1 outputs", `expected 1 inputs (the features ["a"])`)
	oneLine(t, from(path, twins(50, 1), WeightOptions{}), path, "expected 2 inputs", "and 2 outputs")
	oneLine(t, from(path, set, WeightOptions{Network: Network{Hidden: []int{11}}}), path, "dense1")
	oneLine(t, from(path, set, WeightOptions{Network: Network{Hidden: []int{-1}}}), path, "hidden")
	oneLine(t, from(path, thirds(200, 1), WeightOptions{Classes: true}), path, "and 3 outputs")
	oneLine(t, from(path, set, WeightOptions{Classes: true}), path, "200 different values in 200 rows", "leave out classes")
	err := from(path+"x", set, WeightOptions{})
	if oneLine(t, err, "w.npzx"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	err = from(path, set, WeightOptions{Network: Network{Filters: []int{2}}})
	if oneLine(t, err, path, "filters"); !errors.Is(err, ErrSetting) {
		t.Errorf("filters of a perceptron: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FromWeights(ctx, path, set, WeightOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, p := range m.Net.Params() {
		p.Value.Zero()
	}
	zero := *set
	zero.Y = denseOf(make([]float64, set.N()), set.N(), 1)
	path = weightFile(t, m)
	oneLine(t, from(path, &zero, WeightOptions{}), path, "mean squared residual is 0, expected a positive number")
}

// Weights that do not belong to the network are refused, whatever the form.
func TestFromWeightsOfAnotherForm(t *testing.T) {
	for _, f := range formCases[1:] {
		m := f.build(t, taskCases[0].outputs, tensor.Float64)
		path, set := weightFile(t, m), examples(6, f.shape, taskCases[0].outputs, 1)
		n := f.network
		if f.text != "" {
			n.Form = filepath.Join(t.TempDir(), "form.json")
			if err := os.WriteFile(n.Form, fmt.Appendf(nil, f.text, 1), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := FromWeights(t.Context(), path, set, WeightOptions{Network: n})
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		} else if got.fingerprint() != m.fingerprint() {
			t.Errorf("%s: other weights", f.name)
		}
		twoOutputs := examples(6, f.shape, taskCases[1].outputs, 1)
		_, err = FromWeights(t.Context(), path, twoOutputs, WeightOptions{Network: n})
		oneLine(t, err)
	}
}

// TestFromWeightsOfMoreClasses: a set that lacks one of 20 numbered classes has the 20 classes of the network.
func TestFromWeightsOfMoreClasses(t *testing.T) {
	set := &data.Set{Features: []string{"a"}, Targets: []string{"k"}, X: denseOf(make([]float64, 80), 80, 1), Y: denseOf(make([]float64, 80), 80, 1)}
	var some []int
	for i := range 80 {
		set.X.Float64s()[i], set.Y.Float64s()[i] = float64(i%20)/10, float64(i%20)
		if i%20 != 7 {
			some = append(some, i)
		}
	}
	o := TrainOptions{Classes: true, Network: Network{Hidden: []int{4}, Activation: "tanh"}, Training: Training{Iterations: 20}}
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := FromWeights(t.Context(), weightFile(t, m), set.Rows(some), WeightOptions{Network: Network{Activation: "tanh"}, Classes: true})
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Task.Outputs.(*task.Classification); len(c.Classes) != 20 || c.Classes[7] != 7 {
		t.Errorf("classes %v", c.Classes)
	}
}
