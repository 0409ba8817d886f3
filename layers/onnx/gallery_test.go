package onnx

import (
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/jacobian"
)

// galleryOptions are the options of networks of the gallery that need some.
var galleryOptions = map[string]Options{
	"classes":  {Ends: []string{"Softmax"}},
	"variance": {Outputs: []string{"mean", "log_variance"}},
}

// TestGallery compares the networks of the gallery with PyTorch in float64: the outputs, and the tangent kernel of all
// parameters at three examples.
func TestGallery(t *testing.T) {
	paths, err := filepath.Glob("testdata/gallery/*.onnx")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d networks, error %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		t.Run(name, func(t *testing.T) {
			f, err := Read(path, galleryOptions[name])
			if err != nil {
				t.Fatal(err)
			}
			ref, err := npy.ReadArchive(strings.TrimSuffix(path, ".onnx") + ".npz")
			if err != nil {
				t.Fatal(err)
			}
			checkGallery(t, f, ref)
		})
	}
}

func checkGallery(t *testing.T, f *File, ref *npy.Archive) {
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	x, y, kernel := galleryInputs(t, f, ref), array(t, ref, "y"), array(t, ref, "ntk")
	near(t, "outputs", forward(t, net, x, tensor.Float64), graph.Floats(y), 1e-8)
	n, c := 3, y.Shape()[1]
	got := compute(t, tensor.Float64, x, n, func(b *graph.Builder, x *graph.Node) []*graph.Node {
		return jacobian.NTK{Net: net}.Rows(b, x)
	})
	sum := make([]float64, n*c*n*c)
	for _, rows := range got {
		width := len(rows) / (n * c)
		for i := range n * c {
			for j := range n * c {
				for k := range width {
					sum[i*n*c+j] += rows[i*width+k] * rows[j*width+k]
				}
			}
		}
	}
	near(t, "kernel", sum, graph.Floats(kernel), 1e-8)
}

func array(t *testing.T, ref *npy.Archive, name string) *tensor.Dense {
	t.Helper()
	a, ok := ref.Get(name)
	if !ok {
		t.Fatalf("the reference has no array %q", name)
	}
	if whole, ok := a.Data().([]int64); ok {
		return tensor.New(tensor.WithShape(a.Shape()...), tensor.WithBacking(widened(whole)))
	}
	return a
}

// galleryInputs joins the arrays of several inputs to vectors.
func galleryInputs(t *testing.T, f *File, ref *npy.Archive) *tensor.Dense {
	t.Helper()
	inputs := f.Form.Layers[0].(Graph).Inputs
	if inputs == nil {
		return array(t, ref, "x")
	}
	var parts [][]float64
	rows := 0
	for _, i := range inputs {
		a := array(t, ref, i.Name)
		rows = a.Shape()[0]
		parts = append(parts, graph.Floats(a))
	}
	var all []float64
	for r := range rows {
		for k, i := range inputs {
			all = append(all, parts[k][r*i.Size():(r+1)*i.Size()]...)
		}
	}
	return tensor.New(tensor.WithShape(rows, len(all)/rows), tensor.WithBacking(all))
}
