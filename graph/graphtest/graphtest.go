// Package graphtest checks operations of expression graphs: their shapes and values
// against plain loops, their first and second derivatives against finite differences
// along random directions, what they say of rows against dense Jacobians, and float32
// against float64. It also checks that they run in Gorgonia's own machine and allocate
// nothing in a Program. Every operation of package graph has a row in the table that
// graph's own test hands to [Run]; a package with operations of its own does the same.
package graphtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Case is one operation at one set of shapes.
type Case struct {
	Name   string  // of the subtest
	Shapes [][]int // of the inputs
	// Shape is the expected shape of the output; nil if it is not checked.
	Shape []int
	// Build writes the operation.
	Build func(b *graph.Builder, in []*graph.Node) *graph.Node
	// Naive computes the output's elements from the inputs' by plain loops.
	Naive func(in [][]float64) []float64
	// Prepare moves random normal inputs into the operation's domain; may be nil.
	Prepare func(in [][]float64)
	// NoONNX is set if the operation has no form in ONNX.
	NoONNX bool
}

// Tolerances: of float64 values, of finite differences with the step below, and of
// float32 values against float64 ones, relative to the largest element.
const (
	tolValue = 1e-12
	tolDiff  = 2e-7
	tolF32   = 2e-4
	step     = 1e-4
)

// Run checks every case of a table in a subtest of its own.
func Run(t *testing.T, cases []Case) {
	t.Helper()
	for i, c := range cases {
		t.Run(c.Name, func(t *testing.T) { Check(t, c, uint64(i+1)) })
	}
}

// Check runs every check on c; seed makes the random inputs and directions.
func Check(t testing.TB, c Case, seed uint64) {
	t.Helper()
	checkShape(t, c)
	checkValues(t, c, seed)
	CheckRows(t, c, seed)
	CheckONNX(t, c, seed)
}

func checkShape(t testing.TB, c Case) {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	y := c.Build(b, c.leaves(b, "x"))
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	if c.Shape != nil && !slices.Equal(y.Shape(), c.Shape) {
		t.Errorf("shape %v, want %v", y.Shape(), c.Shape)
	}
}

// checkValues checks values, derivatives, element types and allocations.
func checkValues(t testing.TB, c Case, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	in := c.inputs(rng)
	values := func(dt tensor.Dtype, in [][]float64) []float64 { return newRun(t, c, dt, value).eval(t, in)[0] }
	got := values(tensor.Float64, in)
	Near(t, "value", got, c.Naive(in), tolValue)
	Near(t, "float32 value", values(tensor.Float32, in), got, tolF32)
	Near(t, "value in Gorgonia's tape machine", c.tape(t, in), got, tolValue)

	dir, dir2, ct := normal(rng, sizes(in)...), normal(rng, sizes(in)...), normal(rng, len(got))[0]
	first := newRun(t, c, tensor.Float64, firstOrder)
	second := newRun(t, c, tensor.Float64, secondOrder)
	args := append(append([][]float64{}, in...), ct)
	grads := first.eval(t, args)

	slope := difference(func(h float64) float64 { return floats.Dot(values(tensor.Float64, moved(in, dir, h)), ct) })
	close1(t, "first derivative (VJP) along a direction", dots(grads, dir), slope)

	args2 := append(append([][]float64{}, args...), dir...)
	hess := second.eval(t, args2)
	curve := difference(func(h float64) float64 {
		return dots(first.eval(t, append(moved(in, dir2, h), ct)), dir)
	})
	close1(t, "second derivative (VJP of VJP) along two directions", dots(hess, dir2), curve)

	jvp := newRun(t, c, tensor.Float64, forward).eval(t, append(append([][]float64{}, in...), dir...))[0]
	close1(t, "forward derivative (JVP) against VJP", floats.Dot(jvp, ct), dots(grads, dir))

	g32 := newRun(t, c, tensor.Float32, firstOrder).eval(t, args)
	for i := range g32 {
		Near(t, "float32 first derivative", g32[i], grads[i], 10*tolF32)
	}
	for _, r := range []*run{newRun(t, c, tensor.Float64, value), second} {
		if n := testing.AllocsPerRun(5, func() { r.run(t) }); n != 0 {
			t.Errorf("a run allocates %v times, want 0", n)
		}
	}
}

func (c Case) inputs(rng *rand.Rand) [][]float64 {
	n := make([]int, len(c.Shapes))
	for i, s := range c.Shapes {
		n[i] = tensor.Shape(s).TotalSize()
	}
	in := normal(rng, n...)
	if c.Prepare != nil {
		c.Prepare(in)
	}
	return in
}

// tape runs the operation's Do in Gorgonia's own machine.
func (c Case) tape(t testing.TB, in [][]float64) []float64 {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	leaves := c.leaves(b, "x")
	y := c.Build(b, leaves)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	for i, n := range leaves {
		if err := gorgonia.Let(n, dense.Of(slices.Clone(in[i]), c.Shapes[i]...)); err != nil {
			t.Fatal(err)
		}
	}
	vm := gorgonia.NewTapeMachine(b.Graph())
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal("tape machine: ", err)
	}
	switch v := y.Value().(type) {
	case *tensor.Dense:
		return v.Float64s()
	default:
		return []float64{v.Data().(float64)}
	}
}

// difference is the central difference of f at 0, of fourth order.
func difference(f func(h float64) float64) float64 {
	return (8*(f(step)-f(-step)) - (f(2*step) - f(-2*step))) / (12 * step)
}

func moved(in, dir [][]float64, h float64) [][]float64 {
	out := make([][]float64, len(in))
	for i := range in {
		out[i] = floats.AddScaledTo(make([]float64, len(in[i])), in[i], h, dir[i])
	}
	return out
}

func normal(rng *rand.Rand, n ...int) [][]float64 {
	out := make([][]float64, len(n))
	for i := range out {
		out[i] = make([]float64, n[i])
		for j := range out[i] {
			out[i][j] = rng.NormFloat64()
		}
	}
	return out
}

func sizes(in [][]float64) []int {
	n := make([]int, len(in))
	for i := range in {
		n[i] = len(in[i])
	}
	return n
}

func dots(a, b [][]float64) float64 {
	s := 0.0
	for i := range a {
		s += floats.Dot(a[i], b[i])
	}
	return s
}

// close1 compares two numbers, relative to their size or to 1, whichever is larger.
func close1(t testing.TB, what string, got, want float64) {
	t.Helper()
	if d := math.Abs(got - want); !(d <= tolDiff*max(1, math.Abs(want))) {
		t.Errorf("%s: got %.12g, want %.12g (difference %.2g)", what, got, want, d)
	}
}

// Near ends the test unless got and want have one length and differ, element by element, by at most tol times
// the largest magnitude in want.
func Near(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	scale := 0.0
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= tol*max(scale, 1e-300)) {
			t.Fatalf("%s: element %d is %.15g, want %.15g", what, i, got[i], want[i])
		}
	}
}
