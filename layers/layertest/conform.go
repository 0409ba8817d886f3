package layertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Case is a layer with its settings, on examples of one shape.
type Case struct {
	Name  string       // of the subtest
	Layer layers.Layer // with its settings
	Input []int        // shape of one example, without the batch
	// Naive computes the output of net, which the layer built, for one example by plain
	// loops, row-major. nil stands for a layer without such a reference.
	Naive func(net layers.Network, x []float64) []float64
}

// Conform checks every case in a subtest of its own; see [Case.Check].
func Conform(t *testing.T, cases []Case) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { c.Check(t) })
	}
}

// ConformForms checks every form in a subtest of its own; which is checked like a layer, see [Case.Check].
func ConformForms(t *testing.T, forms []layers.Form) {
	for _, f := range forms {
		t.Run(f.String(), func(t *testing.T) { checkForm(t, f) })
	}
}

// Check reports where the layer breaks one of the promises of a layer: the shape of its
// output is the stated shape; each example is treated by itself; the outputs agree with
// Naive; the first and second derivatives agree with finite differences; float32 agrees
// with float64; no two arrays share a name; the JSON describes the layer fully; the
// structured neural tangent kernel agrees with the dense kernel; and inputs of an
// impossible shape are refused in one line.
func (c Case) Check(t testing.TB) {
	t.Helper()
	out, err := layers.OutputShape(layers.Layers{c.Layer}, c.Input...)
	if err != nil {
		t.Fatal(err)
	}
	s := subject{
		form:   layers.SequentialForm{Input: c.Input, Layers: layers.Layers{c.Layer, layers.Flatten{}}},
		part:   func(net layers.Sequential) layers.Network { return net[0] },
		kernel: c.probed(),
		output: out,
	}
	s.check(t)
	if c.Naive != nil {
		s.checkNaive(t, c.Naive)
	}
	c.checkOtherInputs(t)
}

// probed is the layer between one with parameters, so that derivatives must pass through
// it, and Flatten.
func (c Case) probed() layers.Form {
	list := layers.Layers{c.Layer, layers.Flatten{}}
	switch len(c.Input) {
	case 1:
		list = slices.Insert(list, 0, layers.Layer(layers.DenseLayer{Name: "probe", Outputs: c.Input[0]}))
	case 2:
		list = slices.Insert(list, 0, layers.Layer(layers.DenseLayer{Name: "probe", Outputs: c.Input[1]}))
	case 3:
		list = slices.Insert(list, 0, layers.Layer(layers.Conv2D{Name: "probe", Filters: c.Input[0], Kernel: 1, Bias: true}))
	}
	return layers.SequentialForm{Input: c.Input, Layers: list}
}

// checkForm checks the network of a form like [Case.Check], and that the network has as many
// parameters as were counted without building it.
func checkForm(t testing.TB, f layers.Form) {
	t.Helper()
	whole := func(net layers.Sequential) layers.Network { return net }
	s := subject{form: f, part: whole, kernel: f, output: []int{layers.OutputSize(f)}}
	s.check(t)
	if text := f.String(); text == "" || len(text) > 200 || strings.Contains(text, "\n") {
		t.Errorf("String gives %q, expected one short line", text)
	}
}

// subject is what is checked: a network, or a part of it.
type subject struct {
	form   layers.Form                            // the whole network
	part   func(layers.Sequential) layers.Network // the part that is checked
	kernel layers.Form                            // the network whose neural tangent kernel is checked
	output []int                                  // shape of one example's output
}

func (s subject) check(t testing.TB) {
	t.Helper()
	s.checkArrays(t)
	s.checkShape(t)
	s.checkTraining(t)
	s.checkExamples(t)
	s.checkFloat32(t)
	s.checkJSON(t)
	s.checkDescription(t)
	s.checkDerivatives(t)
	s.checkKernel(t)
}

// checkArrays compares the arrays with the count made without them.
func (s subject) checkArrays(t testing.TB) {
	t.Helper()
	want, err := layers.Parameters(s.form)
	if err != nil {
		t.Fatal(err)
	}
	net := build(t, s.form, tensor.Float64)
	if got := layers.Count(net); got != want {
		t.Errorf("the network has %d parameters, counted without building it %d", got, want)
	}
	names := map[string]bool{}
	for _, p := range layers.Arrays(net) {
		if names[p.Name] {
			t.Errorf("two arrays are called %q", p.Name)
		}
		names[p.Name] = true
	}
	for _, p := range layers.Arrays(build(t, s.form, tensor.Float32)) {
		if p.Value.Dtype() != tensor.Float32 {
			t.Errorf("array %q of a float32 network holds %v", p.Name, p.Value.Dtype())
		}
	}
}

func (s subject) checkShape(t testing.TB) {
	t.Helper()
	for _, batch := range []int{1, 3} {
		b, x := s.graph(tensor.Float64, batch)
		checkOutput(t, b, s.net(t, tensor.Float64).Forward(b, x), batch, s.output)
	}
}

func checkOutput(t testing.TB, b *graph.Builder, y *graph.Node, batch int, want []int) {
	t.Helper()
	if b.Err() != nil {
		t.Fatalf("batch of %d: %v", batch, b.Err())
	}
	if want = append([]int{batch}, want...); !slices.Equal(y.Shape(), want) {
		t.Fatalf("outputs of shape %v, expected %v", y.Shape(), want)
	}
}

// checkTraining checks the network in training: its outputs have the same shape, and it updates
// its own state alone.
func (s subject) checkTraining(t testing.TB) {
	t.Helper()
	net := s.net(t, tensor.Float64)
	b, x := s.graph(tensor.Float64, 3)
	y, updates := layers.Training(b, net, x)
	checkOutput(t, b, y, 3, s.output)
	for _, u := range updates {
		if !slices.Contains(layers.State(net), u.Param) {
			t.Errorf("training updates %q, which is not part of the state", u.Param.Name)
		}
		if !slices.Equal(u.Value.Shape(), u.Param.Value.Shape()) {
			t.Errorf("training updates %q of shape %v to shape %v", u.Param.Name, u.Param.Value.Shape(), u.Value.Shape())
		}
	}
}

// checkExamples checks that an example has the same outputs alone and in a batch.
func (s subject) checkExamples(t testing.TB) {
	t.Helper()
	const batch = 4
	net, x := s.net(t, tensor.Float64), s.examples(batch)
	all := s.forward(t, net, tensor.Float64, x)
	in, out := len(x)/batch, len(all)/batch
	for i := range batch {
		alone := s.forward(t, net, tensor.Float64, x[i*in:(i+1)*in])
		graphtest.Near(t, fmt.Sprintf("example %d alone and in a batch", i), all[i*out:(i+1)*out], alone, 1e-12)
	}
}

// checkNaive compares with the obvious computation.
func (s subject) checkNaive(t testing.TB, naive func(layers.Network, []float64) []float64) {
	t.Helper()
	const batch = 2
	net, x := s.net(t, tensor.Float64), s.examples(batch)
	var want []float64
	for example := range slices.Chunk(x, len(x)/batch) {
		want = append(want, naive(net, slices.Clone(example))...)
	}
	graphtest.Near(t, "outputs and those of plain loops", s.forward(t, net, tensor.Float64, x), want, 1e-12)
}

// checkFloat32 compares the outputs of the same weights in both element types.
func (s subject) checkFloat32(t testing.TB) {
	t.Helper()
	x, net, single := s.examples(3), s.net(t, tensor.Float64), s.net(t, tensor.Float32)
	for i, p := range layers.Arrays(single) {
		graphtest.Near(t, fmt.Sprintf("start values of %q in float32 and float64", p.Name), p.Floats(), layers.Arrays(net)[i].Floats(), 1e-6)
	}
	graphtest.Near(t, "float32 and float64 outputs", s.forward(t, single, tensor.Float32, x), s.forward(t, net, tensor.Float64, x), 1e-4)
}
