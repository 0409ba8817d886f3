package valla

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/onnxfile"

	"gorgonia.org/tensor"
)

// fromPyTorch is a model of an exported perceptron, with rows around its outputs.
func fromPyTorch(t *testing.T, o WeightOptions) (*Model, *data.Set) {
	t.Helper()
	const path = "layers/onnx/testdata/mlp_relu.onnx"
	rng := holdout.Rand(5, 0)
	x, y := make([]float64, 40*5), make([]float64, 40*2)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	set := &data.Set{X: denseOf(x, 40, 5), Y: denseOf(y, 40, 2), Features: []string{"a", "b", "c", "d", "e"}, Targets: []string{"u", "v"}}
	m, err := FromWeights(t.Context(), path, set, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, set
}

// TestONNXModel fits posteriors to a network from an ONNX file and brings them back from model
// files, which hold the form.
func TestONNXModel(t *testing.T) {
	m, set := fromPyTorch(t, WeightOptions{})
	single, _ := fromPyTorch(t, WeightOptions{Network: Network{Dtype: "float32", Frozen: []string{"net.0.*"}}})
	if single.Dtype() != tensor.Float32 || len(single.Net.Params()) != 4 {
		t.Errorf("%v and %d parameters", single.Dtype(), len(single.Net.Params()))
	}
	for _, o := range []FitOptions{
		{Settings: &valla.Settings{Iterations: 5, Inducing: 4}},
		{Settings: &valla.Settings{Iterations: 5, Inducing: 4, Weights: []string{"last-layer"}}},
		{Settings: &laplace.Settings{Structure: "kfac", Weights: []string{"net.2.*"}}},
	} {
		o.Validation = new(0.0)
		f := fit(t, m, set, o)
		comesBack(t, f, set.X)
		var names []string
		for _, p := range f.Net.Params() {
			names = append(names, p.Name)
		}
		if !slices.Contains(names, "net.4.weight") || !slices.Equal(graph.Floats(f.Net.Params()[0].Value), graph.Floats(m.Net.Params()[0].Value)) {
			t.Errorf("parameters %q", names)
		}
	}
}

// TestONNXEnds: a file whose last operator is the one by which the observation model makes probabilities or counts of outputs
// predicts as the file without this operator, in labels and counts as in classes.
func TestONNXEnds(t *testing.T) {
	for _, c := range []struct {
		end, likelihood string // likelihood "" means classes
	}{{"Sigmoid", ""}, {"Sigmoid", "bernoulli"}, {"Exp", "poisson"}, {"Exp", "negative-binomial"}} {
		m := &onnxfile.Model{
			Nodes: []onnxfile.Node{
				{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"z"}},
				{Op: c.end, Inputs: []string{"z"}, Outputs: []string{"y"}},
			},
			Arrays: []onnxfile.Array{onnxfile.Floats("w", []float64{2, -1}, 2, 1)},
			Inputs: []onnxfile.Value{{Name: "x", Type: onnxfile.Double, Shape: []int{0, 2}}}, Outputs: []onnxfile.Value{{Name: "y", Type: onnxfile.Double, Shape: []int{0, 1}}},
		}
		files, _, err := m.Write(filepath.Join(t.TempDir(), "net.onnx"), 0)
		if err != nil {
			t.Fatal(err)
		}
		set := &data.Set{X: denseOf([]float64{1, 0, 0, 1, -1, 1, 1, 1}, 4, 2), Y: denseOf([]float64{1, 0, 0, 1}, 4, 1), Features: []string{"a", "b"}, Targets: []string{"y"}}
		o := WeightOptions{Classes: c.likelihood == ""}
		if !o.Classes {
			if o.Likelihood, err = likelihood.Named(c.likelihood); err != nil {
				t.Fatal(err)
			}
		}
		read, err := FromWeights(t.Context(), files[0], set, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, z := range []float64{2, -1, -3, 1} {
			want := math.Exp(z)
			if c.end == "Sigmoid" {
				want = 1 / (1 + math.Exp(-z))
			}
			near(t, c.end+" "+c.likelihood, predict(t, read, set.X).Mean[i], want, 1e-12)
		}
	}
}

func TestONNXModelErrors(t *testing.T) {
	_, set := fromPyTorch(t, WeightOptions{})
	narrow := &data.Set{X: denseOf(make([]float64, 12), 4, 3), Y: denseOf(make([]float64, 8), 4, 2), Features: []string{"a", "b", "c"}, Targets: []string{"u", "v"}}
	broken := filepath.Join(t.TempDir(), "net.onnx")
	if err := os.WriteFile(broken, []byte("no model"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		set  *data.Set
		o    WeightOptions
		want string
	}{
		{"layers/onnx/testdata/mlp_relu.onnx", narrow, WeightOptions{}, "the network takes 5 inputs, the data have 3 (the features [\"a\""},
		{"layers/onnx/testdata/mlp_relu.onnx", set, WeightOptions{Network: Network{Hidden: []int{3}}}, "hidden for a network of the form"},
		{broken, set, WeightOptions{}, "net.onnx"},
		{"none.onnx", set, WeightOptions{}, "no such file"},
	} {
		if _, err := FromWeights(t.Context(), c.path, c.set, c.o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), c.path+": ") > 1 || strings.HasPrefix(err.Error(), c.path+": open "+c.path) {
			t.Errorf("%s: error %v, want %q", c.path, err, c.want)
		}
	}
}
