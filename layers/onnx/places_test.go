package onnx

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
)

// TestPlaces: the last layer of the features of each place is the output of PyTorch there.
func TestPlaces(t *testing.T) {
	for name, classAxis := range map[string]int{"tagger": 2, "unet": 1} {
		path := filepath.Join("testdata", "gallery", name+".onnx")
		ref, err := npy.ReadArchive(strings.TrimSuffix(path, ".onnx") + ".npz")
		if err != nil {
			t.Fatal(err)
		}
		p, err := ReadPlaces(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, _ := ref.Get("x")
		y, _ := ref.Get("y")
		trunk, err := p.Trunk.Network(tensor.Float64)
		if err != nil {
			t.Fatal(err)
		}
		n := x.Shape()[0]
		features := p.Rows(forward(t, trunk, wide(x), tensor.Float64))
		_, head, err := p.Head(tensor.Float64)
		if err != nil {
			t.Fatal(err)
		}
		places, e := p.Count()
		got := forward(t, head, tensor.New(tensor.WithShape(n*places, e), tensor.WithBacking(features)), tensor.Float64)
		want, c := graph.Floats(y), len(got)/(n*places)
		for i, v := range got {
			row, place, k := i/c/places, i/c%places, i%c
			at := (row*places+place)*c + k
			if classAxis == 1 {
				at = (row*c+k)*places + place
			}
			if math.Abs(v-want[at]) > 1e-8 {
				t.Fatalf("%s: output %d of place %d of example %d is %g, want %g", name, k, place, row, v, want[at])
			}
		}
	}
}

// wide returns an array in float64.
func wide(a *tensor.Dense) *tensor.Dense {
	if v, ok := a.Data().([]int64); ok {
		out := make([]float64, len(v))
		for i, k := range v {
			out[i] = float64(k)
		}
		return tensor.New(tensor.WithShape(a.Shape()...), tensor.WithBacking(out))
	}
	return graph.Convert(a, tensor.Float64)
}

// TestPlacesWithoutLayer: the ends of damaged files are refused, and a bias that has not one number for each class.
func TestPlacesWithoutLayer(t *testing.T) {
	product := nodeProto("MatMul", []string{"x", "w"}, []string{"z"})
	w := initial("w", 1, floatData(1, 2, 3, 4), 2, 2)
	for name, g := range map[string]message{
		"a copy of nothing":      graphOf([]message{nodeProto("Identity", nil, []string{"y"})}),
		"a bias of all classes":  graphOf([]message{product, nodeProto("Add", []string{"z", "b"}, []string{"y"})}, w, initial("b", 1, floatData(1), 1)),
		"a bias of each place":   graphOf([]message{product, nodeProto("Add", []string{"z", "b"}, []string{"y"})}, w, initial("b", 1, floatData(1, 2, 3), 3)),
		"a kernel without a row": graphOf([]message{nodeProto("Conv", []string{"x", "w"}, []string{"y"})}, initial("w", 1, floatData(1), 1)),
	} {
		_, err := decodePlaces(modelOf(g), "", Options{})
		if err == nil || !strings.Contains(err.Error(), "is not that of one dense layer") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestPlacesRefusals: a network without a last layer at each place is refused in one line.
func TestPlacesRefusals(t *testing.T) {
	for name, want := range map[string]string{
		"cnn":   "is not that of one dense layer or of one convolution of 1×1 at each place",
		"lstm":  "is not that of one dense layer",
		"mixer": "is not that of one dense layer",
	} {
		_, err := ReadPlaces(filepath.Join("testdata", "gallery", name+".onnx"), Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
