package onnxtest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/onnxfile"
	"github.com/go-valla/valla/internal/onnxruntime"
	"github.com/go-valla/valla/layers/onnx"
	"gorgonia.org/tensor"
)

// RunONNX is for package graphtest: it returns the output "y" of a model at the input x [1,1] = 1, by the reader of package onnx. If
// the environment variable VALLA_ONNXRUNTIME names the library of ONNX Runtime, the library has to give the same.
func RunONNX(t testing.TB, m *onnxfile.Model) []float64 {
	t.Helper()
	m = alone(m)
	path := filepath.Join(t.TempDir(), "op.onnx")
	if _, _, err := m.Write(path, 0); err != nil {
		t.Fatal(err)
	}
	out, err := Read(path, "y", tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float64{1})))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(onnxruntime.Variable) == "" {
		return out
	}
	x := onnxruntime.Tensor{Type: m.Inputs[0].Type, Shape: []int{1, 1}, Data: []float64{1}}
	if x.Type == onnxruntime.Float {
		x.Data = []float32{1}
	}
	s, err := onnxruntime.Open("", path, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Run("rows", x, []string{"y"})
	if err != nil {
		t.Fatal(err)
	}
	near(t, all[0], out, x.Type)
	return all[0]
}

// alone returns a model of the input rows whose nodes see the first example as x, with y for each example: the reader refuses networks
// that join examples, as the nodes may that let operands depend on x.
func alone(m *onnxfile.Model) *onnxfile.Model {
	own := *m
	own.Inputs = slices.Clone(m.Inputs)
	own.Inputs[0].Name = "rows"
	own.Arrays = append(slices.Clone(m.Arrays), onnxfile.Ints("row 0", []int{0}, 1), onnxfile.Ints("row 1", []int{1}, 1))
	own.Nodes = []onnxfile.Node{{Op: "Slice", Inputs: []string{"rows", "row 0", "row 1", "row 0"}, Outputs: []string{"x"}}}
	for _, n := range m.Nodes {
		n.Outputs = slices.Clone(n.Outputs)
		if i := slices.Index(n.Outputs, "y"); i >= 0 {
			n.Outputs[i] = "y of x"
		}
		own.Nodes = append(own.Nodes, n)
	}
	own.Nodes = append(own.Nodes, onnxfile.Node{Op: "Sub", Inputs: []string{"rows", "rows"}, Outputs: []string{"zeros"}},
		onnxfile.Node{Op: "Add", Inputs: []string{"y of x", "zeros"}, Outputs: []string{"y"}})
	return &own
}

// near compares what ONNX Runtime and the reader compute.
func near(t testing.TB, got, want []float64, typ onnxruntime.Type) {
	t.Helper()
	tol, scale := 1e-11, 0.0
	if typ == onnxruntime.Float {
		tol = 2e-4
	}
	for _, v := range want {
		scale = max(scale, v, -v)
	}
	for i := range want {
		if d := got[i] - want[i]; !(max(d, -d) <= tol*scale) {
			t.Errorf("element %d: onnxruntime has %g, the reader %g", i, got[i], want[i])
			return
		}
	}
}

// Read returns an output of the model at path, in float64, at inputs x [N,…].
func Read(path, output string, x *tensor.Dense) ([]float64, error) {
	f, err := onnx.Read(path, onnx.Options{Outputs: []string{output}})
	if err != nil {
		return nil, err
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		return nil, err
	}
	b := graph.NewBuilder(tensor.Float64)
	y := net.Forward(b, b.Param(&graph.Param{Name: "examples", Value: x}))
	if b.Err() != nil {
		return nil, b.Err()
	}
	v, err := graph.Evaluate(b, y)
	if err != nil {
		return nil, err
	}
	return v[0], nil
}
