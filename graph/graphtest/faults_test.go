package graphtest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"gorgonia.org/tensor"
)

// squared is x² of each element of x [B,n], whose parts the tests replace by faulty ones.
type squared struct {
	name     string                                                // tells the operations of the tests apart
	slope    func(b *graph.Builder, x, ct *graph.Node) *graph.Node // nil: 2·x·ct
	f32, f64 func(x float64) float64                               // nil: x²
	rows     func(batched []bool) bool                             // nil: every row by itself
	moved    int                                                   // the square is taken of the element so many places further on
	flat     bool                                                  // the result is a vector
	fails    bool                                                  // the loop ends with an error
}

func (s squared) Key() string { return "squared " + s.name }

func (s squared) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if s.flat {
		return tensor.Shape{in[0].TotalSize()}, nil
	}
	return in[0], nil
}

func (s squared) Pullback(b *graph.Builder, _ int, in []*graph.Node, _, ct *graph.Node) *graph.Node {
	if s.slope != nil {
		return s.slope(b, in[0], ct)
	}
	return b.Mul(b.Scale(in[0], 2), ct)
}

func (s squared) RowWise(batched []bool, _ []tensor.Shape) bool {
	return s.rows == nil || s.rows(batched)
}

func (s squared) Forward([]tensor.Shape, tensor.Shape) graph.Loops {
	return graph.Loops{F32: squaredLoop[float32](s, s.f32), F64: squaredLoop[float64](s, s.f64)}
}

func (s squared) ONNX(w *graph.ONNX, in []graph.ONNXValue, _ []graph.Extent) string {
	return w.Node("Mul", nil, in[0].Name, in[0].Name)
}

func squaredLoop[T float32 | float64](s squared, f func(float64) float64) func(y []T, x [][]T) error {
	if f == nil {
		f = func(x float64) float64 { return x * x }
	}
	return func(y []T, x [][]T) error {
		if s.fails {
			return fmt.Errorf("the loop has failed")
		}
		for i := range y {
			y[i] = T(f(float64(x[0][(i+s.moved)%len(y)])))
		}
		return nil
	}
}

// squaredCase is the row of a table for s. The plain loop knows where s takes its elements.
func squaredCase(s squared) graphtest.Case {
	return graphtest.Case{
		Name: s.name, Shapes: [][]int{{3, 2}}, Shape: []int{3, 2},
		Build: func(b *graph.Builder, in []*graph.Node) *graph.Node { return b.Apply(s, in...) },
		Naive: func(in [][]float64) []float64 {
			out := make([]float64, len(in[0]))
			for i := range out {
				x := in[0][(i+s.moved)%len(out)]
				out[i] = x * x
			}
			return out
		},
	}
}

// TestFaults: the harness finds each planted fault and says in which check it shows.
func TestFaults(t *testing.T) {
	near := func(x float64) float64 { return x*x + 1e-6 }
	for want, s := range map[string]squared{
		"value: element":                   {name: "wrong value", f64: near},
		"float32 value":                    {name: "wrong in float32", f32: func(x float64) float64 { return x*x + 0.1 }},
		"first derivative (VJP)":           {name: "wrong slope", slope: func(b *graph.Builder, x, ct *graph.Node) *graph.Node { return b.Mul(b.Scale(x, 2.001), ct) }},
		"second derivative (VJP of VJP)":   {name: "wrong curvature", slope: func(b *graph.Builder, x, ct *graph.Node) *graph.Node { return b.Mul(b.Detach(b.Scale(x, 2)), ct) }},
		"row":                              {name: "wrong rows", moved: 2, slope: movedSlope},
		"shape (6), want [3 2]":            {name: "wrong shape", flat: true},
		"the loop has failed":              {name: "failing", fails: true},
		"forward derivative (JVP) against": {name: "not linear in the cotangent", slope: func(b *graph.Builder, x, ct *graph.Node) *graph.Node { return b.Mul(x, b.Square(ct)) }},
		"element 0 is NaN":                 {name: "NaN", f64: func(float64) float64 { return math.NaN() }},
		"an operation of the builder fails": {name: "failing pullback", slope: func(b *graph.Builder, x, ct *graph.Node) *graph.Node {
			return b.Failf("an operation of the builder fails")
		}},
	} {
		if got := failures(t, squaredCase(s)); !strings.Contains(got, want) {
			t.Errorf("%s: found %q, want a message with %q", s.name, got, want)
		}
	}
	for _, s := range []squared{
		{name: "right"},
		{name: "silent about rows", rows: func([]bool) bool { return false }},
		{name: "across rows and says so", moved: 2, slope: movedSlope, rows: func([]bool) bool { return false }},
	} {
		if got := failures(t, squaredCase(s)); got != "" {
			t.Errorf("%s: found %q, want no message", s.name, got)
		}
	}
}

// movedSlope is the derivative of the squares of elements that are taken two places further on.
func movedSlope(b *graph.Builder, x, ct *graph.Node) *graph.Node {
	return b.Mul(b.Scale(x, 2), b.Gather(ct, 0, 2, 0, 1))
}

// TestWrongTables: a case that does not fit its operation fails with a message that names the reason.
func TestWrongTables(t *testing.T) {
	for want, change := range map[string]func(c *graphtest.Case){
		"value: 6 elements, want 5": func(c *graphtest.Case) {
			naive := c.Naive
			c.Naive = func(in [][]float64) []float64 { return naive(in)[:5] }
		},
		"shape (3, 2), want [2 3]": func(c *graphtest.Case) { c.Shape = []int{2, 3} },
		"input 0 is nil": func(c *graphtest.Case) {
			c.Build = func(b *graph.Builder, _ []*graph.Node) *graph.Node { return b.Tanh(nil) }
		},
		"value: element 0": func(c *graphtest.Case) {
			c.Build = func(b *graph.Builder, in []*graph.Node) *graph.Node { return b.Tanh(in[0]) }
		},
	} {
		c := squaredCase(squared{name: "right"})
		if change(&c); !strings.Contains(failures(t, c), want) {
			t.Errorf("found %q, want a message with %q", failures(t, c), want)
		}
	}
}

// TestRows counts the uses that act on rows, with each choice of batched operands, and finds the
// operations that know Jacobian rows.
func TestRows(t *testing.T) {
	matrix := func(build func(b *graph.Builder, x, y *graph.Node) *graph.Node) graphtest.Case {
		return graphtest.Case{Name: "rows", Shapes: [][]int{{3, 2}, {3, 2}},
			Build: func(b *graph.Builder, in []*graph.Node) *graph.Node { return build(b, in[0], in[1]) }}
	}
	product := graphtest.CheckRows(t, matrix(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return b.MatMul(x, y, false, true) }), 1)
	if !strings.Contains(fmt.Sprint(product.Pullbacks), "matmul false true 1") {
		t.Errorf("a product: %+v, want the rows of its second operand", product)
	}
	sum := graphtest.CheckRows(t, matrix(func(b *graph.Builder, x, y *graph.Node) *graph.Node { return b.Add(x, y) }), 1)
	lonely := graphtest.CheckRows(t, matrix(func(b *graph.Builder, x, y *graph.Node) *graph.Node {
		return b.Apply(squared{name: "alone", rows: func([]bool) bool { return false }}, b.Add(x, y))
	}), 1)
	if sum.RowWise == 0 || lonely.RowWise == 0 {
		t.Errorf("sums act on rows: %+v and %+v", sum, lonely)
	}
}
