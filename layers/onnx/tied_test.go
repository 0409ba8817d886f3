package onnx

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// named returns the names of the parameters of a model, and the network.
func named(t *testing.T, o Options, nodes []message, initials ...message) (params []string, f *File) {
	t.Helper()
	f, err := decode(modelOf(graphOf(nodes, initials...)), "", o)
	if err != nil {
		t.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range net.Params() {
		params = append(params, p.Name)
	}
	return params, f
}

// matrix is an initialiser [2,2].
func matrix(name string, v ...float32) message { return initial(name, 1, floatData(v...), 2, 2) }

// TestTied: the transposed copies of a matrix that PyTorch's exporter makes for each use are one parameter, and the weights of an embedding
// and of a head are one. Layers with biases of their own, matrices that were not trained, and arrays with names of the user are not.
func TestTied(t *testing.T) {
	product := func(in, w, out string) message { return nodeProto("MatMul", []string{in, w}, []string{out}) }
	sum := func(in, b, out string) message { return nodeProto("Add", []string{b, in}, []string{out}) }
	b, c := initial("b", 1, floatData(1, 2), 2), initial("c", 1, floatData(3, 4), 2)
	twice := func(p, q string) []message { return []message{product("x", p, "h"), product("h", q, "y")} }
	biased := func(second string) []message {
		return []message{product("x", "onnx::MatMul_1", "h"), sum("h", "b", "i"), product("i", "onnx::MatMul_2", "j"), sum("j", second, "y")}
	}
	trained, other := []float32{1, 2, 3, 5}, []float32{1, 2, 3, 6}
	for name, c := range map[string]struct {
		nodes    []message
		initials []message
		want     string
	}{
		"one layer, used twice":           {twice("onnx::MatMul_1", "onnx::MatMul_2"), []message{matrix("onnx::MatMul_1", trained...), matrix("onnx::MatMul_2", trained...)}, "onnx::MatMul_1"},
		"two layers":                      {twice("onnx::MatMul_1", "onnx::MatMul_2"), []message{matrix("onnx::MatMul_1", trained...), matrix("onnx::MatMul_2", other...)}, "onnx::MatMul_1 onnx::MatMul_2"},
		"matrices that were not trained":  {twice("onnx::MatMul_1", "onnx::MatMul_2"), []message{matrix("onnx::MatMul_1", 1, 0, 0, 1), matrix("onnx::MatMul_2", 1, 0, 0, 1)}, "onnx::MatMul_1 onnx::MatMul_2"},
		"names of the user":               {twice("p", "q"), []message{matrix("p", trained...), matrix("q", trained...)}, "p q"},
		"one layer with a bias":           {biased("b"), []message{matrix("onnx::MatMul_1", trained...), matrix("onnx::MatMul_2", trained...), b}, "b onnx::MatMul_1"},
		"two layers with biases":          {biased("c"), []message{matrix("onnx::MatMul_1", trained...), matrix("onnx::MatMul_2", trained...), b, c}, "b c onnx::MatMul_1 onnx::MatMul_2"},
		"a copy of another matrix":        {twice("onnx::MatMul_1", "f.weight_orig"), []message{matrix("onnx::MatMul_1", trained...), matrix("f.weight_orig", trained...)}, "f.weight_orig"},
		"the transpose of another matrix": {twice("onnx::MatMul_1", "table"), []message{matrix("onnx::MatMul_1", 1, 3, 2, 5), matrix("table", trained...)}, "table"},
	} {
		params, f := named(t, Options{}, c.nodes, c.initials...)
		if slices.Sort(params); strings.Join(params, " ") != c.want {
			t.Errorf("%s: parameters %q, want %q", name, params, c.want)
		}
		g := graph.NewBuilder(tensor.Float64)
		net, err := f.Network(tensor.Float64)
		if err != nil {
			t.Fatal(err)
		}
		x := tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float64{1, 1}))
		out := net.Forward(g, g.Param(&graph.Param{Name: "x", Value: x}))
		p, err := graph.Compile(g, []*graph.Node{out}, graph.Options{})
		if err == nil {
			err = p.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Value(out).Float64s(); name == "the transpose of another matrix" && !slices.Equal(got, []float64{3 + 3*8, 2*3 + 5*8}) {
			t.Errorf("%s: outputs %v", name, got)
		}
	}
}

// TestNotTrained: the vectors of a spectral norm and a mask are not trained, and prototypes are.
func TestNotTrained(t *testing.T) {
	inf := float32(math.Inf(-1))
	for name, c := range map[string]struct {
		nodes    []message
		initials []message
		want     string
	}{
		"a spectral norm": {[]message{nodeProto("Mul", []string{"x", "f.weight.0._u"}, []string{"z"}), nodeProto("Mul", []string{"z", "w"}, []string{"y"})},
			[]message{initial("f.weight.0._u", 1, floatData(1, 2), 2), initial("w", 1, floatData(1, 2), 2)}, "w"},
		"a mask": {[]message{nodeProto("Add", []string{"x", "mask"}, []string{"m"}), nodeProto("Softmax", []string{"m"}, []string{"s"}), nodeProto("Mul", []string{"s", "w"}, []string{"y"})},
			[]message{initial("mask", 1, floatData(0, inf), 2), initial("w", 1, floatData(1, 2), 2)}, "w"},
		"means of the inputs": {[]message{nodeProto("Sub", []string{"x", "m"}, []string{"z"}), nodeProto("Add", []string{"z", "w"}, []string{"y"})},
			[]message{initial("m", 1, floatData(1, 2), 2), initial("w", 1, floatData(1, 2), 1, 2)}, "w"},
		"prototypes": {[]message{nodeProto("Unsqueeze", []string{"x", "one"}, []string{"u"}), nodeProto("Sub", []string{"u", "c"}, []string{"d"}), nodeProto("ReduceSumSquare", []string{"d"}, []string{"y"}, message{}.text(1, "axes").number(8, 2), message{}.text(1, "keepdims").number(3, 0))},
			[]message{initial("c", 1, floatData(1, 2, 3, 4, 5, 6), 3, 2), initial("one", 7, rawData(1, 0, 0, 0, 0, 0, 0, 0), 1)}, "c"},
	} {
		if params, _ := named(t, Options{}, c.nodes, c.initials...); strings.Join(params, " ") != c.want {
			t.Errorf("%s: parameters %q, want %q", name, params, c.want)
		}
	}
}

// TestNotNeeded: what is not supported is no error where the output does not need it.
func TestNotNeeded(t *testing.T) {
	foreign := nodeProto("ArrayFeatureExtractor", []string{"names", "x"}, []string{"label"}).text(7, "ai.onnx.ml")
	inside := nodeProto("If", []string{"x"}, []string{"z"}, message{}.text(1, "then_branch").bytes(6, message{}))
	text := initial("names", 8, func(m message) message { return m.bytes(6, []byte("a")) }, 1)
	if params, _ := named(t, Options{}, []message{foreign, inside, addW}, text, halfW); !slices.Equal(params, []string{"w"}) {
		t.Errorf("parameters %q", params)
	}
	for want, nodes := range map[string][]message{
		`node 1: "the ArrayFeatureExtractor" (ArrayFeatureExtractor of ai.onnx.ml)`: {foreign, nodeProto("Add", []string{"x", "label"}, []string{"y"})},
		`tensor "names": elements of ONNX's type 8`:                                 {nodeProto("Add", []string{"x", "names"}, []string{"y"})},
		"graphs inside a node": {inside, nodeProto("Add", []string{"x", "z"}, []string{"y"})},
	} {
		if _, err := decode(modelOf(graphOf(nodes, text, halfW)), "", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestBothOf: two probabilities 1 − σ(z) and σ(z), as scikit-learn's classifiers write them, become the logits 0 and z; for counts and labels they stay.
func TestBothOf(t *testing.T) {
	nodes := []message{
		nodeProto("ReduceSum", []string{"x", "axis"}, []string{"s"}), nodeProto("Mul", []string{"s", "w"}, []string{"z"}), nodeProto("Sigmoid", []string{"z"}, []string{"p"}),
		nodeProto("Sub", []string{"unity", "p"}, []string{"q"}), nodeProto("Concat", []string{"q", "p"}, []string{"y"}, message{}.text(1, "axis").number(3, 1)),
	}
	initials := []message{initial("axis", 7, rawData(1, 0, 0, 0, 0, 0, 0, 0), 1), initial("w", 1, floatData(2), 1, 1), initial("unity", 1, floatData(1), 1)}
	for _, ends := range [][]string{ClassEnds, {"Sigmoid"}} {
		params, f := named(t, Options{Ends: ends}, nodes, initials...)
		left := slices.ContainsFunc(f.Form.Layers[0].(Graph).Nodes, func(n Node) bool { return n.Op == "Sigmoid" })
		if left != (len(ends) == 1) || !slices.Contains(params, "w") {
			t.Errorf("ends %q: parameters %q, a sigmoid: %v", ends, params, left)
		}
	}
}

// TestZeroNorm: the slope of the norm of zeros is 0.
func TestZeroNorm(t *testing.T) {
	for _, op := range []string{"ReduceL2", "LpNormalization"} {
		b := graph.NewBuilder(tensor.Float64)
		w := b.Param(&graph.Param{Name: "w", Value: tensor.New(tensor.WithShape(2), tensor.WithBacking([]float64{-1, -2}))})
		x := b.ReLU(b.Mul(w, b.Fill(1, 1, 2))) // [1,2]
		c := &call{Node: &Node{Op: op, Inputs: []string{"x"}, Outputs: []string{"y"}, Attributes: attributes{"axes": list(-1)}}, b: b, opset: 13, batch: 1, in: []value{{node: x, moved: true}}}
		out := b.Reshape(b.Sum(operators[op](c)[0].node), 1)
		slope := graph.VJP(b, []*graph.Node{out}, []*graph.Node{b.Fill(1, 1)}, []*graph.Node{w})[0]
		p, err := graph.Compile(b, []*graph.Node{out, slope}, graph.Options{})
		if err == nil {
			err = p.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := append(p.Value(slope).Float64s(), graph.Floats(p.Value(out))...); !slices.Equal(got, []float64{0, 0, 0}) {
			t.Errorf("%s of zeros: slopes and value %v, want 0", op, got)
		}
	}
}
