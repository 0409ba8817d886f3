package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// tb is what helpers need of *testing.T and of *rapid.T.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// machine is a compiled graph with an array for each argument.
type machine struct {
	p    *graph.Program
	args []*tensor.Dense
	out  []*node
}

func newMachine(t tb, b *builder, args, out []*node, o graph.Options) *machine {
	t.Helper()
	p, err := graph.Compile(b, out, o)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	m := &machine{p: p, out: out}
	for _, a := range args {
		v := tensor.New(tensor.Of(b.Dtype()), tensor.WithShape(a.Shape()...))
		if err := p.Bind(a, v); err != nil {
			t.Fatalf("bind: %v", err)
		}
		m.args = append(m.args, v)
	}
	return m
}

// eval sets the arguments, runs, and returns copies of the outputs.
func (m *machine) eval(t tb, args arrays) arrays {
	t.Helper()
	for i, a := range args {
		setValues(m.args[i], a)
	}
	if err := m.p.Run(); err != nil {
		t.Fatalf("run: %v", err)
	}
	out := make(arrays, len(m.out))
	for i, n := range m.out {
		out[i] = values(m.p.Value(n))
	}
	return out
}

// evaluate compiles out once and runs it once.
func evaluate(t tb, b *builder, args, out []*node, in arrays) arrays {
	t.Helper()
	return newMachine(t, b, args, out, graph.Options{}).eval(t, in)
}

// newArray is v as Gorgonia's operations take it: a scalar type for the shape ().
func newArray(dt tensor.Dtype, shape tensor.Shape, v []float64) gorgonia.Value {
	switch {
	case len(shape) > 0:
		d := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
		setValues(d, v)
		return d
	case dt == tensor.Float64:
		return gorgonia.NewF64(v[0])
	default:
		return gorgonia.NewF32(float32(v[0]))
	}
}

func setValues(d *tensor.Dense, v []float64) {
	if d.Dtype() == tensor.Float64 {
		copy(d.Float64s(), v)
		return
	}
	for i, x := range v {
		d.Float32s()[i] = float32(x)
	}
}

func values(v gorgonia.Value) []float64 {
	switch d := v.Data().(type) {
	case []float64:
		return slices.Clone(d)
	case float64:
		return []float64{d}
	case []float32:
		out := make([]float64, len(d))
		for i, x := range d {
			out[i] = float64(x)
		}
		return out
	default:
		return []float64{float64(d.(float32))}
	}
}

// naiveRun evaluates every node by its operation's own Do, each into a new value: no
// buffer is shared and nothing is planned. The given nodes need not be leaves.
func naiveRun(t tb, out, given []*node, in arrays) arrays {
	t.Helper()
	vals := make(map[*node]gorgonia.Value)
	for i, n := range given {
		vals[n] = newArray(n.Dtype(), n.Shape(), in[i])
	}
	var eval func(n *node) gorgonia.Value
	eval = func(n *node) gorgonia.Value {
		if vals[n] != nil {
			return vals[n]
		}
		children := graph.Children(n)
		if len(children) == 0 {
			return n.Value()
		}
		args := make([]gorgonia.Value, len(children))
		for i, c := range children {
			args[i] = eval(c)
		}
		v, err := n.Op().Do(args...)
		if err != nil {
			t.Fatalf("%v: %v", n.Op(), err)
		}
		vals[n] = v
		return v
	}
	results := make(arrays, len(out))
	for i, n := range out {
		results[i] = values(eval(n))
	}
	return results
}

// freshRun evaluates what a program of out computes, each operation into a new array.
func freshRun(t tb, o graph.Options, out, leaves []*node, in arrays) arrays {
	t.Helper()
	results, err := graph.RunRewritten(o, out, leaves, in)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return results
}

// inputs adds leaves prefix0, prefix1, … of the given shapes.
func inputs(b *builder, prefix string, shapes ...[]int) []*node {
	in := make([]*node, len(shapes))
	for i, s := range shapes {
		in[i] = b.Input(fmt.Sprint(prefix, i), s...)
	}
	return in
}

// cotangents adds an input for each output, and returns it and its reshaped form.
func cotangents(b *builder, outputs []*node) (leaves, cts []*node) {
	for i, y := range outputs {
		leaf := b.Input(fmt.Sprint("ct", i), max(y.Shape().TotalSize(), 1))
		leaves = append(leaves, leaf)
		cts = append(cts, b.Reshape(leaf, y.Shape()...))
	}
	return leaves, cts
}

func shapesOf(nodes []*node) [][]int {
	out := make([][]int, len(nodes))
	for i, n := range nodes {
		out[i] = n.Shape()
	}
	return out
}

// normals are standard normal values for each node.
func normals(rng *rand.Rand, nodes []*node) arrays {
	out := make(arrays, len(nodes))
	for i, n := range nodes {
		out[i] = make([]float64, max(n.Shape().TotalSize(), 1))
		for j := range out[i] {
			out[i][j] = rng.NormFloat64()
		}
	}
	return out
}

func join(parts ...arrays) arrays { return slices.Concat(parts...) }

// moved is in + h·dir.
func moved(in, dir arrays, h float64) arrays {
	out := make(arrays, len(in))
	for i := range in {
		out[i] = slices.Clone(in[i])
		for j := range in[i] {
			out[i][j] += h * dir[i][j]
		}
	}
	return out
}

func inner(a, b arrays) float64 {
	s := 0.0
	for i := range a {
		for j := range a[i] {
			s += a[i][j] * b[i][j]
		}
	}
	return s
}

// slope is the central difference of f at 0, of fourth order in the step.
func slope(f func(h float64) float64) float64 {
	const h = 1e-4
	return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
}

// wantClose compares two numbers relative to want's size, or to 1 if that is larger.
func wantClose(t tb, what string, got, want, tol float64) {
	t.Helper()
	if d := math.Abs(got - want); !(d <= tol*max(1, math.Abs(want))) {
		t.Fatalf("%s: got %.12g, want %.12g (difference %.2g)", what, got, want, d)
	}
}

// wantSame compares arrays, relative to the largest element wanted.
func wantSame(t tb, what string, got, want arrays, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d arrays, want %d", what, len(got), len(want))
	}
	for i := range got {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("%s: array %d has %d elements, want %d", what, i, len(got[i]), len(want[i]))
		}
		scale := 0.0
		for _, v := range want[i] {
			scale = max(scale, math.Abs(v))
		}
		for j, v := range got[i] {
			if d := math.Abs(v - want[i][j]); !(d <= tol*scale) {
				t.Fatalf("%s: array %d, element %d is %.15g, want %.15g", what, i, j, v, want[i][j])
			}
		}
	}
}

func noErr(t tb, b *builder) {
	t.Helper()
	if b.Err() != nil {
		t.Fatalf("%v", b.Err())
	}
}

// rngFor is a source of its own for each test.
func rngFor(t *testing.T) *rand.Rand {
	seed := uint64(0)
	for _, c := range t.Name() {
		seed = seed*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, 0))
}
