package valla

import (
	"fmt"
	"math"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
)

// TestExportTransforms: targets with transforms, around 0 and far from it, with every law that can be exported.
func TestExportTransforms(t *testing.T) {
	own := []law.Law{{Family: law.Mixture, Weights: []float64{0.75, 0.25}, Shifts: []float64{-0.25, 0.75}, Scales: []float64{0.5, 1.5}}}
	for _, of := range []task.Transform{
		{Name: task.Log}, {Name: task.Log1p}, {Name: task.YeoJohnson}, {Name: task.YeoJohnson, Exponent: 0.4}, {Name: task.YeoJohnson, Exponent: 2},
	} {
		for _, scale := range [][2]float64{{0.3, 0.5}, {-2, 0.1}, {0, 20}} {
			if of.Name == task.YeoJohnson && scale[1] > 2 {
				continue
			}
			for _, laws := range [][]law.Law{nil, own, {{Family: law.StudentT, DoF: 5, Scale: 0.8}}, {{Family: law.StudentT, DoF: 40, Scale: 0.8}}} {
				if of.Name == task.YeoJohnson && laws != nil && laws[0].Family == law.StudentT {
					continue
				}
				m := newTestModel(t, tensor.Float64, 4, 4)
				r := *m.Task.Outputs.(*task.Regression)
				r.Transforms, r.Mean, r.Std = []task.Transform{of}, []float64{scale[0]}, []float64{scale[1]}
				m.Task.Outputs, m.Laws = &r, laws
				t.Run(fmt.Sprint(of, scale, laws), func(t *testing.T) {
					checkExported(t, m, ExportOptions{Quantiles: []float64{0.1, 0.9}})
				})
			}
		}
	}
}

// TestExportLikelihoods: every observation model has its mean, its standard deviation and probabilities.
func TestExportLikelihoods(t *testing.T) {
	for name, of := range map[string]struct {
		y         func(v float64) []float64
		quantiles bool
	}{
		"bernoulli":         {func(v float64) []float64 { return []float64{math.Round(min(max(v-4, 0), 1))} }, true},
		"ordinal":           {func(v float64) []float64 { return []float64{math.Round(min(max(v-4, 0), 3))} }, true},
		"poisson":           {func(v float64) []float64 { return []float64{math.Round(max(v, 0))} }, false},
		"negative-binomial": {func(v float64) []float64 { return []float64{math.Round(max(v*v/3, 0))} }, false},
		"censored":          {func(v float64) []float64 { return []float64{min(v, 6), min(v, 6)} }, true},
		"heteroscedastic":   {func(v float64) []float64 { return []float64{v, v / 10} }, true},
		"student-t":         {func(v float64) []float64 { return []float64{v} }, false},
		"mixture":           {func(v float64) []float64 { return []float64{v} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := wave(30, 5)
			var y []float64
			for _, v := range set.Y.Float64s() {
				y = append(y, of.y(v)...)
			}
			set.Y = denseOf(y, 30, len(y)/30)
			set.Targets = []string{"y", "more"}[:len(y)/30]
			m := observed(t, set, name)
			o := ExportOptions{}
			if of.quantiles {
				o.Quantiles = []float64{0.2, 0.6}
			}
			checkExported(t, m, o)
			if !of.quantiles {
				_, err := m.Export(t.Context(), t.TempDir()+"/net.onnx", ExportOptions{Quantiles: []float64{0.2}})
				oneLine(t, err, "quantiles", name)
			}
		})
	}
}

// observed returns a small model with an observation model and a posterior of VaLLA.
func observed(t *testing.T, set *data.Set, name string, values ...string) *Model {
	t.Helper()
	s, err := likelihood.Named(name, values...)
	if err != nil {
		t.Fatal(err)
	}
	o := TrainOptions{Network: Network{Hidden: []int{4}}, Training: Training{Iterations: 20, BatchSize: 10}, Likelihood: s}
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return fit(t, m, set, FitOptions{Settings: &vallagp.Settings{Inducing: 4, Iterations: 3}, Validation: new(0.0)})
}

// TestExportHeavy: noise without a variance has an infinite standard deviation in the file, too, and transformed targets with a
// model whose quantiles have no closed form are refused in one line.
func TestExportHeavy(t *testing.T) {
	set := wave(30, 5)
	for i, y := range set.Y.Float64s() {
		set.Y.Float64s()[i] = math.Exp(y / 4)
	}
	checkExported(t, observed(t, set, "student-t", "nu=1.5"), ExportOptions{})
	for _, name := range []string{"student-t", "mixture"} {
		s, err := likelihood.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		o := TrainOptions{Network: Network{Hidden: []int{4}}, Training: Training{Iterations: 20, BatchSize: 10}, Likelihood: s, TargetTransform: task.Log}
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Export(t.Context(), t.TempDir()+"/net.onnx", ExportOptions{})
		oneLine(t, err, "the target transform log with this likelihood cannot be exported")
	}
}
