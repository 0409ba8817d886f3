package layers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
)

// affineLayers are all layers with weights that methods draw or bound, with examples of a shape.
var affineLayers = []struct {
	layer Layer
	in    []int
}{
	{DenseLayer{Outputs: 3}, []int{4}},
	{Conv2D{Filters: 3, Kernel: 2, Stride: 2, Padding: 1, Bias: true}, []int{2, 3, 4}},
	{Conv2D{Filters: 2, Kernel: 1}, []int{3, 2, 2}},
	{Convolution{Filters: 4, Kernel: []int{2, 3}, Groups: 2, Stride: []int{1, 2}, Padding: []int{1, 0}, Bias: true}, []int{2, 3, 5}},
	{Convolution{Filters: 2, Kernel: []int{2}, Dilation: []int{2}}, []int{1, 4, 3}},
	{Convolution{Filters: 4, Kernel: []int{3}, Stride: []int{2}, Transposed: true, Groups: 2, Bias: true}, []int{2, 2, 2}},
}

// made returns a layer with arrays that are no special numbers.
func made(t *testing.T, l Layer, in []int) Network {
	t.Helper()
	net, _, err := l.Make(newMaker(tensor.Float64, newRand(1)), in)
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range net.Params() {
		for i, v := range fixture.Normal(newRand(uint64(k+2)), p.Value.Size()) {
			p.Set(i, v)
		}
	}
	return net
}

// valuesOf computes nodes without inputs.
func valuesOf(t *testing.T, b *graph.Builder, nodes ...*graph.Node) [][]float64 {
	t.Helper()
	p, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	var all [][]float64
	for _, n := range nodes {
		all = append(all, graph.Floats(p.Value(n)))
	}
	return all
}

// closeTo compares elements.
func closeTo(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-12*max(1, math.Abs(want[i])) {
			t.Fatalf("%s: element %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

// TestAffine: Apply with the layer's own weights is Forward; without a bias it is linear in the
// inputs and in the weights; and the bias is added to each channel.
func TestAffine(t *testing.T) {
	for _, c := range affineLayers {
		t.Run(fmt.Sprintf("%s of %v", KindOf(c.layer), c.in), func(t *testing.T) {
			l := made(t, c.layer, c.in).(Affine)
			w, bias := l.Weights()
			shape := append([]int{2}, c.in...)
			b, n := graph.NewBuilder(tensor.Float64), tensor.Shape(shape).TotalSize()
			x, z := b.Const("x", fixture.Normal(newRand(7), n), shape...), b.Const("z", fixture.Normal(newRand(8), n), shape...)
			v := b.Const("v", fixture.Normal(newRand(9), w.Value.Size()), w.Value.Shape()...)
			own := b.Param(w)
			linear := l.Apply(b, x, own, nil)
			nodes := []*graph.Node{
				l.Apply(b, b.Add(b.Scale(x, 2), z), own, nil), b.Add(b.Scale(linear, 2), l.Apply(b, z, own, nil)),
				l.Apply(b, x, b.Add(b.Scale(own, 3), v), nil), b.Add(b.Scale(linear, 3), l.Apply(b, x, v, nil)),
				l.Forward(b, x), linear,
			}
			got := valuesOf(t, b, nodes...)
			closeTo(t, "linear in the inputs", got[0], got[1])
			closeTo(t, "linear in the weights", got[2], got[3])
			want := got[5]
			if bias != nil {
				places := len(want) / 2 / bias.Value.Size()
				for i := range want {
					want[i] += bias.At(i / places % bias.Value.Size())
				}
			}
			closeTo(t, "Forward", got[4], want)
		})
	}
}

// TestApplyEach: an example with weights of its own has the outputs of the layer with these weights.
func TestApplyEach(t *testing.T) {
	for _, c := range affineLayers {
		t.Run(fmt.Sprintf("%s of %v", KindOf(c.layer), c.in), func(t *testing.T) {
			l := made(t, c.layer, c.in).(PerExample)
			w, _ := l.Weights()
			const batch = 3
			n, size := tensor.Shape(c.in).TotalSize(), w.Value.Size()
			x, all := fixture.Normal(newRand(3), batch*n), fixture.Normal(newRand(4), batch*size)
			b := graph.NewBuilder(tensor.Float64)
			y := l.ApplyEach(b, b.Const("x", x, append([]int{batch}, c.in...)...), b.Const("w", all, append([]int{batch}, w.Value.Shape()...)...))
			nodes := []*graph.Node{y}
			for i := range batch {
				example := b.Const(fmt.Sprint("x", i), x[i*n:(i+1)*n], append([]int{1}, c.in...)...)
				nodes = append(nodes, l.Apply(b, example, b.Const(fmt.Sprint("w", i), all[i*size:(i+1)*size], w.Value.Shape()...), nil))
			}
			got := valuesOf(t, b, nodes...)
			closeTo(t, "each", got[0], slices.Concat(got[1:]...))
			if s := nodes[1].Shape(); !slices.Equal(y.Shape()[1:], s[1:]) {
				t.Errorf("shape %v, want %v for each", y.Shape(), s)
			}
		})
	}
}

// TestFilters: at an image with one place, the matrix of filters is the convolution.
func TestFilters(t *testing.T) {
	for _, c := range []struct {
		layer Layer
		in    []int
	}{
		{Conv2D{Filters: 3, Kernel: 2}, []int{2, 2, 2}},
		{Convolution{Filters: 5, Kernel: []int{2, 3}}, []int{3, 2, 3}},
		{Convolution{Filters: 3, Kernel: []int{1}, Transposed: true}, []int{4, 1, 1}},
	} {
		l := made(t, c.layer, c.in).(Filtering)
		w, _ := l.Weights()
		b, n := graph.NewBuilder(tensor.Float64), tensor.Shape(c.in).TotalSize()
		x := fixture.Normal(newRand(5), n)
		m := l.Filters(b, b.Param(w))
		got := valuesOf(t, b, b.MatMul(b.Const("row", x, 1, n), m, false, true), l.Apply(b, b.Const("x", x, append([]int{1}, c.in...)...), b.Param(w), nil))
		closeTo(t, KindOf(c.layer), got[0], got[1])
	}
}

// TestThrough: a composite's outputs follow from what is written for its parts, in the order of
// the parameters.
func TestThrough(t *testing.T) {
	a, c, s := NewDense("a", 3, 3, tensor.Float64, newRand(1)), NewDense("c", 3, 3, tensor.Float64, newRand(2)), NewDense("s", 3, 3, tensor.Float64, newRand(3))
	for name, net := range map[string]Composite{
		"list": Sequential{a, Activation("tanh"), c}, "residual": Residual{Inner: Sequential{a, c}, Shortcut: s}, "identity": Residual{Inner: a},
	} {
		b := graph.NewBuilder(tensor.Float64)
		x := b.Const("x", fixture.Normal(newRand(4), 6), 2, 3)
		var seen []*graph.Param
		y := net.Through(b, x, func(part Network, x *graph.Node) *graph.Node {
			seen = append(seen, part.Params()...)
			return part.Forward(b, x)
		})
		got := valuesOf(t, b, y, net.Forward(b, x))
		if !slices.Equal(got[0], got[1]) || !slices.Equal(seen, net.Params()) {
			t.Errorf("%s: %v by the parts, want %v; parameters %v", name, got[0], got[1], Names(seen))
		}
	}
	b := graph.NewBuilder(tensor.Float64)
	Residual{Inner: NewDense("wide", 3, 4, tensor.Float64, newRand(1))}.Through(b, b.Input("x", 2, 3), func(part Network, x *graph.Node) *graph.Node { return part.Forward(b, x) })
	oneLine(t, b.Err(), "the inner network gives shape (2, 4), the shortcut (2, 3)")
}

// TestSites: an activation is a site of its inputs, a mean over places a site of its outputs; no
// other layer is a site.
func TestSites(t *testing.T) {
	for _, a := range Activations() {
		if s, err := As[Site](Network(a), "a site"); err != nil || !s.Pointwise() {
			t.Errorf("%s: error %v", a, err)
		}
	}
	if s, err := As[Site](Network(GlobalAveragePool{}), "a site"); err != nil || s.Pointwise() {
		t.Errorf("global average pool: error %v", err)
	}
	for _, l := range []Network{Flatten{}, MaxPool{}, Dropout{}, NewDense("d", 1, 1, tensor.Float64, newRand(1)), Sequential{}} {
		if _, err := As[Site](l, "a site"); err == nil {
			t.Errorf("%s is a site", Title(l))
		}
	}
}

// TestTitle: a layer is named by its arrays and its kind, in messages of one line.
func TestTitle(t *testing.T) {
	for want, l := range map[string]Network{
		"d (dense)":                  NewDense("d", 1, 1, tensor.Float64, newRand(1)),
		"c (conv2d)":                 NewConv2D("c", 1, 1, 1, 1, 0, tensor.Float64, newRand(1)),
		"n (batchnorm)":              NewBatchNorm("n", 2, tensor.Float64),
		"tanh":                       Activation("tanh"),
		"flatten":                    Flatten{},
		"layers.opaque":              opaque{},
		"d (residual)":               Residual{Inner: NewDense("d", 1, 1, tensor.Float64, newRand(1))},
		"d (layers.Sequential)":      Sequential{NewDense("d", 1, 1, tensor.Float64, newRand(1)), Flatten{}},
		"layernorm1 (layernorm)":     made(t, LayerNorm{}, []int{2}),
		"convolution1 (convolution)": made(t, Convolution{Filters: 1, Kernel: []int{1}}, []int{1, 1, 1}),
	} {
		if got := Title(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if _, err := As[Trainer](l, "trained"); (err == nil) != strings.Contains(want, "batchnorm") || err != nil && err.Error() != "the layer "+want+" is not trained" {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// TestKindOf: the kind of a type stands at its registration.
func TestKindOf(t *testing.T) {
	for want, of := range map[string]any{
		"dense": DenseLayer{}, "conv2d": Conv2D{}, "batchnorm": BatchNorm{}, "tanh": Activation("tanh"), "mlp": MLP{}, "sequential": SequentialForm{},
		"nothing": nil, "layers.secret": secret{}, "layers.unregistered": unregistered{},
	} {
		if got := KindOf(of); got != want {
			t.Errorf("%T has the kind %q, want %q", of, got, want)
		}
	}
}

// TestNormalise: the function is the layer norm of a network.
func TestNormalise(t *testing.T) {
	net := made(t, LayerNorm{Eps: 0.01}, []int{4})
	gamma, beta := net.(Normaliser).Scale()
	b := graph.NewBuilder(tensor.Float64)
	x := b.Const("x", fixture.Normal(newRand(6), 12), 3, 4)
	got := valuesOf(t, b, Normalise(b, x, gamma, beta, 0.01), net.Forward(b, x))
	if !slices.Equal(got[0], got[1]) {
		t.Errorf("%v, want %v", got[0], got[1])
	}
}

// TestOutputSize: the number of outputs follows from the layers; an impossible form has none.
func TestOutputSize(t *testing.T) {
	for _, c := range []struct {
		form Form
		want int
	}{
		{MLP{Inputs: 2, Outputs: 7}, 7},
		{SequentialForm{Input: []int{2, 3, 4}, Layers: Layers{Flatten{}}}, 24},
		{CNN{Channels: 1, Height: 4, Width: 4, Filters: []int{2}, Outputs: 3, Activation: "relu"}, 3},
		{ResNet{Channels: 1, Blocks: []int{1}, Shortcut: ZeroPad, Outputs: 5}, 5},
		{SequentialForm{Input: []int{2, 3, 4}, Layers: Layers{GlobalAveragePool{}, Flatten{}, DenseLayer{}}}, 0},
		{SequentialForm{Input: []int{2, 3, 4}, Layers: Layers{Activation("relu")}}, 0},
		{nil, 0},
	} {
		if got := OutputSize(c.form); got != c.want {
			t.Errorf("%v has %d outputs, want %d", c.form, got, c.want)
		}
	}
}
