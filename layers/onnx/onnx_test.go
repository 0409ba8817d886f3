package onnx

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
)

// folder holds the models; VALLA_ONNX names another one.
func folder() string {
	if dir := os.Getenv("VALLA_ONNX"); dir != "" {
		return dir
	}
	return "testdata"
}

// reference is what is known of a model: arrays and a description.
type reference struct {
	*npy.Archive
	Params map[string][]int `json:"params"`
	State  map[string][]int `json:"state"`
	Dict   map[string][]int `json:"state_dict"`
}

func (r *reference) floats(t *testing.T, name string) []float64 {
	t.Helper()
	a, ok := r.Get(name)
	if !ok {
		t.Fatalf("the reference has no array %q", name)
	}
	return graph.Floats(a)
}

func readReference(t *testing.T, path string) *reference {
	t.Helper()
	base := strings.TrimSuffix(path, ".onnx")
	text, err := os.ReadFile(base + ".json")
	if err != nil {
		t.Fatal(err)
	}
	r := &reference{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	if r.Archive, err = npy.ReadArchive(base + ".npz"); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestONNX compares every model of the folder with PyTorch.
func TestONNX(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(folder(), "*.onnx"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no models in %s: %v", folder(), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".onnx"), func(t *testing.T) { checkModel(t, path) })
	}
}

func checkModel(t *testing.T, path string) {
	f, err := Read(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ref := readReference(t, path)
	// Buffers, such as tables of fixed positions, look like parameters: the reference tells.
	var frozen []string
	for _, a := range f.Form.Layers[0].(Graph).Arrays {
		if ref.Params[a.Name] == nil && !a.State {
			frozen = append(frozen, a.Name)
		}
	}
	if f, err = Read(path, Options{Frozen: frozen}); err != nil {
		t.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	checkArrays(t, "parameter", net.Params(), ref.Params)
	for name, shape := range ref.State {
		i := slices.IndexFunc(layers.State(net), func(p *graph.Param) bool { return p.Name == name })
		if i < 0 || !slices.Equal(layers.State(net)[i].Value.Shape(), shape) {
			t.Errorf("no state %q of shape %v", name, shape)
		}
	}
	x, _ := ref.Get("x")
	single, err := f.Network(tensor.Float32)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "outputs", forward(t, net, x, tensor.Float64), ref.floats(t, "y"), 1e-9)
	near(t, "float32 outputs", forward(t, single, x, tensor.Float32), ref.floats(t, "y"), 1e-5)
	checkJacobians(t, net, x, ref)
	checkKernel(t, net, x, ref)
	checkStateDict(t, path, net, ref)
	checkForm(t, f, net)
}

// checkArrays compares names and shapes.
func checkArrays(t *testing.T, what string, params []*graph.Param, want map[string][]int) {
	t.Helper()
	for _, p := range params {
		if s, ok := want[p.Name]; !ok || !slices.Equal(s, p.Value.Shape()) {
			t.Errorf("%s %q of shape %v, want %v", what, p.Name, p.Value.Shape(), s)
		}
	}
	if len(params) != len(want) {
		t.Errorf("%d arrays, want %d: %s", len(params), len(want), what)
	}
}

func input(b *graph.Builder, x *tensor.Dense, rows int) (*graph.Node, *tensor.Dense) {
	shape := slices.Clone(x.Shape())
	shape[0] = rows
	v := graph.Floats(x)[:tensor.Shape(shape).TotalSize()]
	d := graph.NewParam("x", v, b.Dtype(), shape...).Value
	return b.Input("x", shape...), d
}

// compute runs a graph of some rows of x.
func compute(t *testing.T, dt tensor.Dtype, x *tensor.Dense, rows int, write func(b *graph.Builder, x *graph.Node) []*graph.Node) [][]float64 {
	t.Helper()
	b := graph.NewBuilder(dt)
	leaf, value := input(b, x, rows)
	nodes := write(b, leaf)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	p, err := graph.Compile(b, nodes, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Bind(leaf, value); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	var out [][]float64
	for _, n := range nodes {
		out = append(out, graph.Floats(p.Value(n)))
	}
	return out
}

func forward(t *testing.T, net layers.Network, x *tensor.Dense, dt tensor.Dtype) []float64 {
	t.Helper()
	return compute(t, dt, x, x.Shape()[0], func(b *graph.Builder, x *graph.Node) []*graph.Node { return []*graph.Node{net.Forward(b, x)} })[0]
}

// checkJacobians compares the rows of every parameter, structured and dense.
func checkJacobians(t *testing.T, net layers.Network, x *tensor.Dense, ref *reference) {
	t.Helper()
	for _, dense := range []bool{false, true} {
		if dense && testing.Short() {
			continue
		}
		rows := compute(t, tensor.Float64, x, 3, func(b *graph.Builder, x *graph.Node) []*graph.Node {
			return jacobian.NTK{Net: net, Dense: dense}.Rows(b, x)
		})
		for i, p := range net.Params() {
			near(t, "Jacobian of "+p.Name, rows[i], ref.floats(t, "jac."+p.Name), 1e-9)
		}
	}
}

// checkKernel compares the kernel of three examples and its derivative by one example.
func checkKernel(t *testing.T, net layers.Network, x *tensor.Dense, ref *reference) {
	t.Helper()
	want := ref.floats(t, "ntk")
	a, _ := ref.Get("ntk")
	shape := a.Shape()
	n, outputs := shape[0], shape[2]
	var examples []*graph.Node
	b := graph.NewBuilder(tensor.Float64)
	all, values := input(b, x, n)
	for i := range n {
		examples = append(examples, b.Slice(all, 0, i, i+1))
	}
	k := jacobian.NTK{Net: net}
	var out []*graph.Node
	class := make([]int, outputs)
	for c := range class {
		class[c] = c
	}
	for i := range n {
		for j := range n {
			repeated := slices.Clone(x.Shape())
			repeated[0] = outputs
			out = append(out, k.Cross(b, examples[i], b.BroadcastTo(examples[j], repeated...), class))
		}
	}
	trace := b.Sum(b.Mul(b.Reshape(out[1], outputs, outputs), b.Eye(outputs)))
	out = append(out, graph.Grad(b, trace, examples[1])...)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	p, err := graph.Compile(b, out, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Bind(all, values); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, o := range out[:n*n] {
		got = append(got, graph.Floats(p.Value(o))...)
	}
	near(t, "kernel", got, want, 1e-9)
	near(t, "derivative of the kernel", graph.Floats(p.Value(out[n*n])), ref.floats(t, "ntk_grad"), 1e-9)
}

// checkStateDict loads the state dictionaries beside a model, if it has their names.
func checkStateDict(t *testing.T, path string, net layers.Network, ref *reference) {
	t.Helper()
	for _, p := range layers.Arrays(net) {
		if s, ok := ref.Dict[p.Name]; !ok || !slices.Equal(s, p.Value.Shape()) {
			return // folded or renamed by the exporter
		}
	}
	before := layers.Fingerprint(net)
	for _, ending := range []string{".pt", ".safetensors"} {
		weights := strings.TrimSuffix(path, ".onnx") + ending
		if _, err := os.Stat(weights); err != nil {
			continue
		}
		for _, p := range layers.Arrays(net) {
			p.Value.Zero()
		}
		if err := layers.Load(weights, net, layers.LoadOptions{}); err != nil {
			t.Error(err)
		} else if layers.Fingerprint(net) != before {
			t.Errorf("%s: other numbers than in the model", weights)
		}
	}
}

// checkForm writes the form as JSON and reads it.
func checkForm(t *testing.T, f *File, net layers.Network) {
	t.Helper()
	text, err := layers.MarshalForm(f.Form)
	if err != nil {
		t.Fatal(err)
	}
	form, err := layers.UnmarshalForm(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := layers.MarshalForm(form)
	if err != nil || string(again) != string(text) {
		t.Errorf("the form changes when it is read again, error %v", err)
	}
}

// near compares arrays relative to the largest element wanted.
func near(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	scale := 1e-300
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i, v := range want {
		if d := math.Abs(got[i] - v); !(d <= tol*scale) {
			t.Errorf("%s: element %d is %.12g, want %.12g", what, i, got[i], v)
			return
		}
	}
}

// TestByLayer: the biases that exporters add after a product stand with its weights.
func TestByLayer(t *testing.T) {
	f, err := Read("testdata/transformer_tiny.onnx", Options{})
	if err != nil {
		t.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"onnx::MatMul_161", "embed.bias"}, {"pos"}, {"ln1.weight", "ln1.bias"}, {"onnx::MatMul_162", "qkv.bias"}, {"onnx::MatMul_166", "proj.bias"},
		{"ln2.weight", "ln2.bias"}, {"onnx::MatMul_167", "fc1.bias"}, {"onnx::MatMul_168", "fc2.bias"}, {"lnf.weight", "lnf.bias"}, {"head.weight", "head.bias"},
	}
	for i, group := range layers.ByLayer(net) {
		var names []string
		for _, p := range group {
			names = append(names, p.Name)
		}
		if i >= len(want) || !slices.Equal(names, want[i]) {
			t.Errorf("layer %d has %q", i, names)
		}
	}
}
