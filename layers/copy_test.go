package layers

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
)

// TestCopy: a copy computes what the network computes, in training too, until its own arrays
// change; the network then stays as it is.
func TestCopy(t *testing.T) {
	norm := NewBatchNorm("norm", 3, tensor.Float64)
	State(norm)[0].Set(1, 0.4)
	net := Sequential{NewConv2D("conv", 2, 3, 3, 1, 1, tensor.Float64, newRand(1)), norm, Residual{Inner: Activation("tanh")}}
	c, x := NewCopy(net), arrayOf(tensor.Float64, fixture.Normal(newRand(2), 4*2*3*3), 4, 2, 3, 3)
	want := forward(t, net, x)
	if got := forward(t, c, x); !slices.Equal(got, want) {
		t.Errorf("copy %v, want %v", got, want)
	}
	trained := func(n Network) (values []float64, of []*graph.Param) {
		b := graph.NewBuilder(tensor.Float64)
		in := b.Input("x", x.Shape()...)
		y, updates := Training(b, n, in)
		values = compute(t, b, y, map[*graph.Node]*tensor.Dense{in: x})
		for _, u := range updates {
			values, of = append(values, compute(t, b, u.Value, map[*graph.Node]*tensor.Dense{in: x})...), append(of, u.Param)
		}
		return values, of
	}
	own, of := trained(c)
	if theirs, _ := trained(net); !slices.Equal(own, theirs) || !slices.Equal(of, c.State()) {
		t.Errorf("in training %v with updates of %v, want %v of the copies", own, of, theirs)
	}
	for _, p := range Arrays(c) {
		p.Set(0, 7)
	}
	if got := forward(t, net, x); !slices.Equal(got, want) || slices.Equal(forward(t, c, x), want) {
		t.Errorf("after a change of the copy the network gives %v, want %v", got, want)
	}
}

// A batch norm of its own begins as it should, with the scale and the variance 1; a network without random numbers is blank.
func TestStartOfBatchNorm(t *testing.T) {
	norm := NewBatchNorm("norm", 2, tensor.Float64)
	for _, p := range append(norm.Params(), norm.(Stateful).State()...) {
		if want := map[string]float64{"norm.weight": 1, "norm.running_var": 1}[p.Name]; p.At(0) != want || p.At(1) != want {
			t.Errorf("%s begins at %v, want %v", p.Name, p.Value, want)
		}
	}
	blank, err := Build(MLP{Inputs: 1, Outputs: 1, Hidden: []int{2}, Activation: "tanh"}, tensor.Float64, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range blank.Params() {
		if p.At(0) != 0 {
			t.Errorf("%s of a blank network is %v", p.Name, p.Value)
		}
	}
}
