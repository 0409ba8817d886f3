package layertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// checkJSON checks that the description, written and read, builds the same network.
func (s subject) checkJSON(t testing.TB) {
	t.Helper()
	data, err := layers.MarshalForm(s.form)
	if err != nil {
		t.Fatal(err)
	}
	read, err := layers.UnmarshalForm(data)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if layers.KindOf(read) != layers.KindOf(s.form) || read.String() != s.form.String() {
		t.Errorf("%v is read back as %v", s.form, read)
	}
	s.compare(t, read, fmt.Sprintf("read back from %s", data))
}

// compare checks that another form, of which what tells the origin, builds the same network.
func (s subject) compare(t testing.TB, form layers.Form, what string) {
	t.Helper()
	again := s
	again.form = form
	net, other := s.net(t, tensor.Float64), again.net(t, tensor.Float64)
	if layers.Fingerprint(net) != layers.Fingerprint(other) {
		t.Errorf("%s, the network has other arrays or start values", what)
		return
	}
	x := s.examples(2)
	if !slices.Equal(s.forward(t, net, tensor.Float64, x), again.forward(t, other, tensor.Float64, x)) {
		t.Errorf("%s, the network has other outputs", what)
	}
}

// checkDescription checks that a network, all of whose parts describe themselves, is the
// network that the description builds.
func (s subject) checkDescription(t testing.TB) {
	t.Helper()
	whole := build(t, s.form, tensor.Float64)
	form, err := layers.Describe(whole, s.form.InputShape()...)
	if errors.Is(err, layers.ErrNotDescribed) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	s.compare(t, form, fmt.Sprintf("described as %v", form))
}

// otherShapes are shapes of examples that a layer must take or refuse.
var otherShapes = [][]int{
	nil, {1}, {5}, {0}, {-1}, {3, 4}, {1, 1, 1}, {2, 3, 4}, {4, 8, 8}, {2, 3, 4, 5}, {1 << 40}, {1 << 40, 1 << 40, 1 << 40},
}

// checkOtherInputs checks that the layer says in one line that it does not take a shape,
// or gives the shape that it states.
func (c Case) checkOtherInputs(t testing.TB) {
	t.Helper()
	for _, in := range otherShapes {
		out, err := outputShape(c.Layer, in)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "panic") {
				t.Errorf("inputs of shape %v: %q", in, err)
			}
			continue
		}
		net := build(t, layers.SequentialForm{Input: in, Layers: layers.Layers{c.Layer, layers.Flatten{}}}, tensor.Float32)
		b := graph.NewBuilder(tensor.Float32)
		checkOutput(t, b, net[0].Forward(b, b.Input("inputs", append([]int{2}, in...)...)), 2, out)
	}
}

// outputShape turns a panic of the layer into an error.
func outputShape(l layers.Layer, in []int) (out []int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return layers.OutputShape(layers.Layers{l}, in...)
}
