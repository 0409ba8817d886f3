package onnx

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/layers"
)

// readGallery returns the network in a file of the gallery.
func readGallery(t *testing.T, name string, o Options) (*File, layers.Sequential) {
	t.Helper()
	f, err := Read(filepath.Join("testdata", "gallery", name), o)
	if err != nil {
		t.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	return f, net
}

// TestOutputs: an output of several is chosen by its name, and the last layer of several has a part of each.
func TestOutputs(t *testing.T) {
	path := filepath.Join("testdata", "gallery", "variance.onnx")
	for want, o := range map[string]Options{
		`2 outputs ["mean" "log_variance"], expected one; choose with --output`: {},
		`2 outputs ["mean" "log_variance"], expected one`:                       {Outputs: []string{}},
		`output "median", expected different ones of ["mean" "log_variance"]`:   {Outputs: []string{"median"}},
		`output "mean", expected different ones`:                                {Outputs: []string{"mean", "mean"}},
	} {
		if _, err := Read(path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for size, outputs := range map[int][]string{1: {"mean"}, 2: {"mean", "log_variance"}} {
		f, net := readGallery(t, "variance.onnx", Options{Outputs: outputs})
		var names []string
		for _, p := range layers.LastLayer(net) {
			names = append(names, p.Name)
		}
		want := []string{"mean.weight", "mean.bias", "logvar.weight", "logvar.bias"}[:2*size]
		if layers.OutputSize(f.Form) != size || !slices.Equal(names, want) {
			t.Errorf("%q: %d outputs, last layer %q, want %d and %q", outputs, layers.OutputSize(f.Form), names, size, want)
		}
	}
}

// TestWhole: numbers of rows of tables and inputs of whole numbers are known, and others may be any numbers.
func TestWhole(t *testing.T) {
	for name, want := range map[string]string{"embeddings.onnx": "....ii", "text.onnx": "iiiiii", "mlp.onnx": "", "cnn.onnx": "", "masked.onnx": "iiiiii......i"} {
		f, _ := readGallery(t, name, Options{})
		got := ""
		for _, whole := range layers.WholeInputs(f.Form) {
			got += map[bool]string{true: "i", false: "."}[whole]
		}
		if got != want {
			t.Errorf("%s: whole inputs %q, want %q", name, got, want)
		}
	}
}

// TestInputs: several inputs are parts of one vector.
func TestInputs(t *testing.T) {
	f, _ := readGallery(t, "embeddings.onnx", Options{})
	inputs := f.Form.Layers[0].(Graph).Inputs
	if len(inputs) != 3 || inputs[0].Size() != 4 || inputs[1].Name != "day" || inputs[2].Size() != 1 || !slices.Equal(f.Form.Input, []int{6}) {
		t.Errorf("inputs %v of %v", inputs, f.Form.Input)
	}
	if _, err := Read(filepath.Join("testdata", "gallery", "both.onnx"), Options{Input: []int{3}}); err == nil || !strings.Contains(err.Error(), "the file has several inputs") {
		t.Errorf("error %v", err)
	}
	g := f.Form.Layers[0].(Graph)
	for want, spoil := range map[string]func(g *Graph){
		`two values are called "x"`:             func(g *Graph) { g.Inputs[1].Name = "x" },
		`input "x" of shape [-1]`:               func(g *Graph) { g.Inputs[0].Shape = []int{-1} },
		`the input "z" beside a list of inputs`: func(g *Graph) { g.Input = "z" },
		`its input "shop" comes from no node`:   func(g *Graph) { g.Inputs = g.Inputs[:2] },
	} {
		own := g
		own.Inputs = slices.Clone(g.Inputs)
		spoil(&own)
		_, err := layers.OutputShape(layers.Layers{own}, 6)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := layers.OutputShape(layers.Layers{g}, 7); err == nil || !strings.Contains(err.Error(), "expected [B,6] for x [4], day [], shop []") {
		t.Errorf("error %v", err)
	}
}

// TestOpenInputs: one length closes the open axes of several inputs.
func TestOpenInputs(t *testing.T) {
	g := message{}.bytes(11, valueInfo("x", 0, 0)).bytes(11, valueInfo("m", 0, 0)).bytes(12, valueInfo("y")).bytes(1, nodeProto("Mul", []string{"x", "m"}, []string{"t"}))
	g = g.bytes(1, nodeProto("MatMul", []string{"t", "w"}, []string{"y"})).bytes(5, halfW)
	f, err := decode(modelOf(g), "", Options{Input: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Form.Layers[0].(Graph).Inputs {
		if !slices.Equal(i.Shape, []int{2}) {
			t.Errorf("input %q of shape %v, want [2]", i.Name, i.Shape)
		}
	}
	for _, input := range [][]int{nil, {2, 2}, {0}} {
		if _, err := decode(modelOf(g), "", Options{Input: input}); err == nil || !strings.Contains(err.Error(), `input "x": the file leaves the shape of an example open ([0]); state one length`) {
			t.Errorf("input %v: error %v", input, err)
		}
	}
}

// functionProto is a function with its nodes.
func functionProto(domain, name string, inputs, outputs []string, nodes ...message) message {
	m := message{}.text(1, name).text(4, inputs...).text(5, outputs...).text(10, domain).bytes(9, message{}.number(2, 17))
	for _, n := range nodes {
		m = m.bytes(7, n)
	}
	return m
}

// TestFunctions: nodes that call functions become the nodes of the functions.
func TestFunctions(t *testing.T) {
	ref := message{}.text(1, "alpha").text(21, "slope").number(20, 1)
	leak := functionProto("own", "Leak", []string{"a", "b"}, []string{"c"},
		nodeProto("Add", []string{"a", "b"}, []string{"t"}), nodeProto("LeakyRelu", []string{"t"}, []string{"c"}, ref))
	twice := functionProto("own", "Twice", []string{"a", "b"}, []string{"d"},
		nodeProto("Leak", []string{"a", "b"}, []string{"t"}).text(7, "own"), nodeProto("Leak", []string{"t", "b"}, []string{"d"}).text(7, "own"))
	call := nodeProto("Twice", []string{"x", "w"}, []string{"y"}).text(7, "own")
	f, err := decode(modelOf(graphOf([]message{call}, halfW)).bytes(25, leak).bytes(25, twice), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := f.Form.Layers[0].(Graph)
	var ops []string
	for _, n := range g.Nodes {
		ops = append(ops, n.Op)
	}
	if !slices.Equal(ops, []string{"Add", "LeakyRelu", "Add", "LeakyRelu"}) || g.Nodes[3].Outputs[0] != "y" || g.Nodes[2].Inputs[1] != "w" {
		t.Errorf("nodes %v", g.Nodes)
	}
	slope := message{}.text(1, "slope").number(20, 1)
	slope = append(slope, 2<<3|5, 0, 0, 0x80, 0x3e) // 0.25
	direct := nodeProto("Leak", []string{"x", "w"}, []string{"y"}, slope).text(7, "own")
	if f, err = decode(modelOf(graphOf([]message{direct}, halfW)).bytes(25, leak), "", Options{}); err != nil {
		t.Fatal(err)
	}
	if a := f.Form.Layers[0].(Graph).Nodes[1].Attributes["alpha"]; a.Float != 0.25 {
		t.Errorf("the slope is %v, want 0.25", a.Float)
	}
	endless := functionProto("own", "Twice", []string{"a", "b"}, []string{"d"}, nodeProto("Twice", []string{"a", "b"}, []string{"d"}).text(7, "own"))
	other := message{}.text(1, "Leak").text(10, "own").bytes(9, message{}.number(2, 12))
	for want, model := range map[string]message{
		"more than 32 calls inside each other":                modelOf(graphOf([]message{call}, halfW)).bytes(25, endless),
		"two functions are called Leak":                       modelOf(graphOf([]message{direct}, halfW)).bytes(25, leak).bytes(25, leak),
		"the function Leak has the opset 12, the model 17":    modelOf(graphOf([]message{direct}, halfW)).bytes(25, other),
		"3 inputs and 1 outputs, expected at most 2 and 1":    modelOf(graphOf([]message{nodeProto("Leak", []string{"x", "w", "w"}, []string{"y"}).text(7, "own")}, halfW)).bytes(25, leak),
		"operators beyond ONNX's own are not supported":       modelOf(graphOf([]message{direct}, halfW)),
		"(Leak of own): operators beyond ONNX's own are not ": modelOf(graphOf([]message{direct}, halfW)).bytes(25, twice),
	} {
		if _, err := decode(model, "", Options{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestDocumentedGallery: each network of the gallery has its files, and the script writes it.
func TestDocumentedGallery(t *testing.T) {
	script, err := os.ReadFile("testdata/gallery/make.py")
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob("testdata/gallery/*.onnx")
	for _, p := range paths {
		if name := strings.TrimSuffix(filepath.Base(p), ".onnx"); !strings.Contains(string(script), `"`+name+`": `) {
			t.Errorf("the script does not write %s", name)
		}
	}
}
