package graphtest

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// order is what a run computes from a case's inputs.
type order int

const (
	value       order = iota // the output
	firstOrder               // gradients of ⟨output, ct⟩
	secondOrder              // gradients of ⟨first-order gradients, directions⟩
	forward                  // the output's derivative along directions
)

// run is a compiled case with its argument arrays.
type run struct {
	p    *graph.Program
	dt   tensor.Dtype    // of the graph
	args []*tensor.Dense // bound to the inputs, cotangents and directions
	out  []*graph.Node   // the outputs of the program
}

// newRun compiles c. Its arguments are the inputs; for first and second order a
// cotangent follows, for second order and forward one direction for each input.
func newRun(t testing.TB, c Case, dt tensor.Dtype, o order) *run {
	t.Helper()
	b := graph.NewBuilder(dt)
	in := c.leaves(b, "x")
	args := in
	y := c.Build(b, in)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	out := []*graph.Node{y}
	if o == firstOrder || o == secondOrder {
		ct := b.Input("ct", max(y.Shape().TotalSize(), 1))
		args = append(args[:len(args):len(args)], ct)
		out = graph.VJP(b, out, []*graph.Node{b.Reshape(ct, y.Shape()...)}, in)
	}
	if o == secondOrder || o == forward {
		dirs := c.leaves(b, "d")
		args = append(args[:len(args):len(args)], dirs...)
		if o == forward {
			out = graph.JVP(b, out, in, dirs)
		} else {
			out = graph.VJP(b, out, dirs, in)
		}
	}
	return compileRun(t, b, dt, args, out)
}

func compileRun(t testing.TB, b *graph.Builder, dt tensor.Dtype, args, out []*graph.Node) *run {
	t.Helper()
	p, err := graph.Compile(b, out, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{p: p, dt: dt, out: out}
	for _, a := range args {
		v := tensor.New(tensor.Of(dt), tensor.WithShape(a.Shape()...))
		if err := p.Bind(a, v); err != nil {
			t.Fatal(err)
		}
		r.args = append(r.args, v)
	}
	return r
}

func (c Case) leaves(b *graph.Builder, prefix string) []*graph.Node {
	in := make([]*graph.Node, len(c.Shapes))
	for i, s := range c.Shapes {
		in[i] = b.Input(fmt.Sprint(prefix, i), s...)
	}
	return in
}

func (r *run) run(t testing.TB) {
	if err := r.p.Run(); err != nil {
		t.Fatal(err)
	}
}

// eval sets the arguments, runs, and returns copies of the outputs.
func (r *run) eval(t testing.TB, args [][]float64) [][]float64 {
	t.Helper()
	for i, a := range args {
		set(r.args[i], a)
	}
	r.run(t)
	out := make([][]float64, len(r.out))
	for i, n := range r.out {
		out[i] = graph.Floats(r.p.Value(n))
	}
	return out
}

func set(d *tensor.Dense, v []float64) {
	if d.Dtype() == tensor.Float64 {
		copy(d.Float64s(), v)
		return
	}
	for i, x := range v {
		d.Float32s()[i] = float32(x)
	}
}
