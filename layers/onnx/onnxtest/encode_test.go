package onnxtest_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
	"github.com/go-valla/valla/layers/onnx/onnxtest"
	"gorgonia.org/tensor"
)

// read writes a model to a file and reads it.
func read(t *testing.T, data []byte, o onnx.Options) *onnx.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.onnx")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := onnx.Read(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func array(v []float64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

// TestEncode: a graph with every kind of attribute and constant is read back as it was, with the
// weights in float32.
func TestEncode(t *testing.T) {
	three := onnx.Tensor{Name: "three", Type: raw.I64, Shape: []int{1}, Data: binary.LittleEndian.AppendUint64(nil, 3)}
	value := onnx.Tensor{Type: raw.I64, Shape: []int{1}, Data: binary.LittleEndian.AppendUint64(nil, 1)}
	g := onnx.Graph{
		Opset: 18, Input: "in", Output: "out", Batch: 5,
		Arrays:    []onnx.Array{{Name: "w", Shape: []int{2, 3}}},
		Constants: []onnx.Tensor{three},
		Nodes: []onnx.Node{
			{Op: "Gemm", Name: "product", Inputs: []string{"in", "w"}, Outputs: []string{"a"}, Attributes: map[string]onnx.Attribute{"alpha": {Float: 0.5}, "transB": {Int: 0}}},
			{Op: "Gelu", Name: "bend", Inputs: []string{"a"}, Outputs: []string{"b"}, Attributes: map[string]onnx.Attribute{"approximate": {Text: "tanh"}}},
			{Op: "Constant", Name: "axis", Outputs: []string{"axes"}, Attributes: map[string]onnx.Attribute{"value": {Tensor: &value}}},
			{Op: "ReduceSum", Name: "sum", Inputs: []string{"b", "axes"}, Outputs: []string{"c"}, Attributes: map[string]onnx.Attribute{"keepdims": {Int: 1}}},
			{Op: "Constant", Name: "factors", Outputs: []string{"f"}, Attributes: map[string]onnx.Attribute{"value_floats": {Floats: []float64{2, 4, 8}}}},
			{Op: "Mul", Name: "spread", Inputs: []string{"c", "f"}, Outputs: []string{"d"}},
			{Op: "Transpose", Name: "same", Inputs: []string{"d"}, Outputs: []string{"e"}, Attributes: map[string]onnx.Attribute{"perm": {Ints: []int64{0, 1}}}},
			{Op: "Tile", Name: "repeat", Inputs: []string{"e", "ones"}, Outputs: []string{"out"}},
			{Op: "Relu", Name: "unused", Inputs: []string{"a"}, Outputs: []string{"nothing"}},
		},
	}
	g.Constants = append(g.Constants, onnx.Tensor{Name: "ones", Type: raw.I64, Shape: []int{2}, Data: slices.Repeat(value.Data, 2)})
	w := array([]float64{1, 2, 3, 4, 5, 0.1}, 2, 3)
	f := read(t, onnxtest.Encode(g, []int{2}, func(string) *tensor.Dense { return w }), onnx.Options{})
	got := f.Form.Layers[0].(onnx.Graph)
	want := g
	want.Nodes = g.Nodes[:8]                              // the output does not depend on the last node
	want.Constants = []onnx.Tensor{g.Constants[1]}        // nor on the constant three
	want.Nodes[0].Attributes["transB"] = onnx.Attribute{} // 0 is how Int begins
	if got.Opset != want.Opset || got.Batch != want.Batch || got.Input != want.Input || got.Output != want.Output || !reflect.DeepEqual(got.Arrays, want.Arrays) || !reflect.DeepEqual(got.Constants, want.Constants) {
		t.Errorf("read back as %+v\nwant %+v", got, want)
	}
	for i, n := range got.Nodes {
		if n.Attributes["value"].Tensor != nil {
			n.Attributes["value"].Tensor.Name = ""
		}
		if n.Op != want.Nodes[i].Op || n.Name != want.Nodes[i].Name || !slices.Equal(n.Inputs, want.Nodes[i].Inputs) || !slices.Equal(n.Outputs, want.Nodes[i].Outputs) {
			t.Errorf("node %d is read back as %+v, want %+v", i, n, want.Nodes[i])
		}
		if len(n.Attributes)+len(want.Nodes[i].Attributes) > 0 && !reflect.DeepEqual(n.Attributes, want.Nodes[i].Attributes) {
			t.Errorf("attributes of node %d are read back as %+v, want %+v", i, n.Attributes, want.Nodes[i].Attributes)
		}
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range net.Params()[0].Floats() {
		if v != float64(float32(w.Float64s()[i])) {
			t.Errorf("weight %d is %g, want %g in float32", i, v, w.Float64s()[i])
		}
	}
}

// TestEncodeOpenShapes: extents of 0 are open in the file, and the reader asks for them.
func TestEncodeOpenShapes(t *testing.T) {
	g := onnx.Graph{Opset: 17, Input: "x", Output: "y", Nodes: []onnx.Node{{Op: "Tanh", Inputs: []string{"x"}, Outputs: []string{"y"}}}}
	data := onnxtest.Encode(g, []int{0}, nil)
	path := filepath.Join(t.TempDir(), "open.onnx")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := onnx.Read(path, onnx.Options{}); err == nil || !strings.Contains(err.Error(), "leaves the shape of an example open ([0])") {
		t.Errorf("error %v", err)
	}
	if f := read(t, data, onnx.Options{Input: []int{4}}); !slices.Equal(f.Form.Input, []int{4}) || f.Form.Layers[0].(onnx.Graph).Batch != 0 {
		t.Errorf("form %v", f.Form)
	}
}

// forms are residual networks with every kind of block.
var forms = map[string]layers.ResNet{
	"projections": {Channels: 3, Blocks: []int{1, 2}, Shortcut: layers.Projection, Outputs: 4, Height: 8, Width: 6},
	"bottlenecks": {Channels: 1, Blocks: []int{1, 1}, Shortcut: layers.Projection, Outputs: 2, Height: 8, Width: 8, Bottleneck: true},
	"large":       {Channels: 3, Blocks: []int{1}, Shortcut: layers.Projection, Outputs: 2, Height: 16, Width: 16, Large: true},
}

// TestResNet: the exported network has the arrays and the outputs of the form's network.
func TestResNet(t *testing.T) {
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			net, err := layers.Build(form, tensor.Float32, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]*tensor.Dense{}
			for _, p := range layers.Arrays(net) {
				v := p.Value
				if v.Dims() == 2 { // ONNX has [out,in]
					turned := v.Clone().(*tensor.Dense)
					if err := turned.T(); err != nil {
						t.Fatal(err)
					}
					v = turned.Materialize().(*tensor.Dense)
				}
				values[p.Name] = v
			}
			g, err := onnxtest.ResNet(form)
			if err != nil || len(g.Arrays) != len(values) {
				t.Fatalf("%d arrays, error %v, want %d", len(g.Arrays), err, len(values))
			}
			other, err := read(t, onnxtest.Encode(g, form.InputShape(), func(name string) *tensor.Dense { return values[name] }), onnx.Options{}).Network(tensor.Float32)
			if err != nil {
				t.Fatal(err)
			}
			got, want := outputs(t, other, form), outputs(t, net, form)
			for i := range want {
				if d := got[i] - want[i]; d > 1e-4 || d < -1e-4 {
					t.Errorf("output %d is %g, want %g", i, got[i], want[i])
				}
			}
		})
	}
}

// outputs runs a network on two images.
func outputs(t *testing.T, net layers.Network, form layers.Form) []float64 {
	t.Helper()
	shape := append([]int{2}, form.InputShape()...)
	v, rng := make([]float64, tensor.Shape(shape).TotalSize()), rand.New(rand.NewPCG(2, 2))
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	b := graph.NewBuilder(tensor.Float32)
	y := net.Forward(b, b.Const("x", v, shape...))
	p, err := graph.Compile(b, []*graph.Node{y}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return graph.Floats(p.Value(y))
}

// TestResNetErrors: forms that cannot be exported are refused.
func TestResNetErrors(t *testing.T) {
	padded := forms["projections"]
	padded.Shortcut = layers.ZeroPad
	if _, err := onnxtest.ResNet(padded); err == nil || err.Error() != "onnxtest: the layer zero-pad" {
		t.Errorf("zero padding: error %v", err)
	}
	if _, err := onnxtest.ResNet(layers.ResNet{}); err == nil || !strings.Contains(err.Error(), "each must be at least 1") {
		t.Errorf("no channels: error %v", err)
	}
}
