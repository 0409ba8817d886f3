package jacobian_test

import (
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// The two ways in which NTK.Dense makes Jacobian rows.
const factored, dense = false, true

// machine is a compiled graph.
type machine struct {
	p   *graph.Program
	out []*node
}

func compile(t rapid.TB, b *builder, out ...*node) machine {
	t.Helper()
	p, err := graph.Compile(b, out, graph.Options{})
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return machine{p, out}
}

// run returns copies of the outputs' values.
func (m machine) run(t rapid.TB) [][]float64 {
	t.Helper()
	if err := m.p.Run(); err != nil {
		t.Fatalf("run: %v", err)
	}
	out := make([][]float64, len(m.out))
	for i, n := range m.out {
		out[i] = graph.Floats(m.p.Value(n))
	}
	return out
}

// near fails unless the arrays agree to tol, relative to the largest element wanted
// or to 1, whichever is larger.
func near(t rapid.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	scale := 1.0
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= tol*scale) {
			t.Fatalf("%s: element %d is %.15g, want %.15g", what, i, got[i], want[i])
		}
	}
}

// leaf draws a parameter that stands for inputs.
func leaf(rng *rand.Rand, name string, dt tensor.Dtype, shape ...int) *graph.Param {
	return graph.NewParam(name, fixture.Normal(rng, tensor.Shape(shape).TotalSize()), dt, shape...)
}

func dot(u, v []float64) float64 {
	s := 0.0
	for i := range u {
		s += u[i] * v[i]
	}
	return s
}

// step of the differences: their error is about step⁴, rounding about 1e-16/step.
const step = 1e-3

// difference is the central difference of f at 0, of fourth order.
func difference(f func(h float64) []float64) []float64 {
	a, b, c, d := f(step), f(-step), f(2*step), f(-2*step)
	out := make([]float64, len(a))
	for i := range out {
		out[i] = (8*(a[i]-b[i]) - (c[i] - d[i])) / (12 * step)
	}
	return out
}
