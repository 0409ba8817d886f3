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

// gain multiplies column i of x [B,n] by w_i, w [n]. It is defined outside of graph, with
// everything that an operation may say; the flags make mistakes.
type gain struct {
	wrongPullback, wrongRows, wrongRowWise, wrongValue, wrongShape, slow bool
}

func (g gain) Key() string { return fmt.Sprintf("gain %+v", g) }

func (g gain) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 2 || len(in[0]) != 2 || len(in[1]) != 1 || in[0][1] != in[1][0] {
		return nil, fmt.Errorf("shapes %v, expected [B,n] and [n]", in)
	}
	if g.wrongShape {
		return tensor.Shape{in[0][0] * in[0][1]}, nil
	}
	return in[0], nil
}

func (g gain) Pullback(b *graph.Builder, i int, in []*graph.Node, _, ct *graph.Node) *graph.Node {
	if g.wrongPullback {
		return b.Scale(in[i], 2)
	}
	if i == 0 {
		return b.Apply(g, ct, in[1])
	}
	return b.SumTo(b.Mul(ct, in[0]), in[1].Shape()...)
}

func (g gain) RowWise(batched []bool, _ []tensor.Shape) bool {
	return batched[0] && (g.wrongRowWise || !batched[1])
}

func (g gain) RowPullback(b *graph.Builder, i int, in []*graph.Node, out, ct *graph.Node) (graph.Outer, bool) {
	if i != 1 || ct.Shape()[0] != out.Shape()[0] {
		return graph.Outer{}, false
	}
	if g.wrongRows {
		return graph.Outer{Right: ct}, true
	}
	return graph.Outer{Right: b.Mul(ct, in[0])}, true
}

func (g gain) Forward([]tensor.Shape, tensor.Shape) graph.Loops {
	return graph.Loops{F32: gainLoop[float32](g), F64: gainLoop[float64](g)}
}

func (g gain) ONNX(w *graph.ONNX, in []graph.ONNXValue, _ []graph.Extent) string {
	return w.Node("Mul", nil, in[0].Name, in[1].Name)
}

func gainLoop[T float32 | float64](g gain) func(y []T, x [][]T) error {
	return func(y []T, x [][]T) error {
		w := x[1]
		if g.slow {
			slow = fmt.Sprint(w)
		}
		for i, v := range x[0] {
			y[i] = v * w[i%len(w)]
		}
		if g.wrongValue {
			y[0] += 1e-3
		}
		return nil
	}
}

var slow string // what a loop allocates

// gainCase is the row of a conformance table.
func gainCase(g gain) graphtest.Case {
	return graphtest.Case{
		Name: "gain", Shapes: [][]int{{3, 2}, {2}}, Shape: []int{3, 2},
		Build: func(b *graph.Builder, in []*graph.Node) *graph.Node { return b.Apply(g, in...) },
		Naive: func(in [][]float64) []float64 {
			out := make([]float64, len(in[0]))
			for i, v := range in[0] {
				out[i] = v * in[1][i%2]
			}
			return out
		},
	}
}

// TestOutside: operations that are defined outside of graph pass every check.
func TestOutside(t *testing.T) {
	arcsine := graph.Pointwise{
		Name: "arcsine",
		F32: func(dst, src []float32) {
			for i, v := range src {
				dst[i] = float32(math.Asin(float64(v)))
			}
		},
		F64: func(dst, src []float64) {
			for i, v := range src {
				dst[i] = math.Asin(v)
			}
		},
		Grad: func(b *graph.Builder, x, _, ct *graph.Node) *graph.Node {
			return b.Div(ct, b.Sqrt(b.Affine(b.Square(x), -1, 1)))
		},
	}
	graphtest.Run(t, []graphtest.Case{gainCase(gain{}), {
		NoONNX: true,
		Name:   "arcsine", Shapes: [][]int{{2, 3}},
		Build: func(b *graph.Builder, in []*graph.Node) *graph.Node { return b.Apply(arcsine.Op(), in...) },
		Naive: func(in [][]float64) []float64 {
			out := make([]float64, len(in[0]))
			for i, v := range in[0] {
				out[i] = math.Asin(v)
			}
			return out
		},
		Prepare: func(in [][]float64) { // into the domain, away from its ends
			for i, v := range in[0] {
				in[0][i] = 0.8 * math.Tanh(v)
			}
		},
	}})
	found := graphtest.CheckRows(t, gainCase(gain{}), 1)
	if found.RowWise == 0 || len(found.Pullbacks) == 0 || !strings.Contains(fmt.Sprint(found.Pullbacks), "gain") {
		t.Errorf("found %+v, want uses that act on rows and the rows of gain", found)
	}
}

// recorder is a test that fails inside another one.
type recorder struct {
	testing.TB
	messages []string
}

type stopped struct{}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); panic(stopped{}) }
func (r *recorder) Fatal(args ...any)                 { r.Errorf("%s", fmt.Sprint(args...)); panic(stopped{}) }

// failures are the messages of a check.
func failures(t *testing.T, c graphtest.Case) string {
	r := &recorder{TB: t}
	func() {
		defer func() {
			if v := recover(); v != nil && v != (stopped{}) {
				panic(v)
			}
		}()
		graphtest.Check(r, c, 1)
	}()
	return strings.Join(r.messages, "\n")
}

// TestMistakes: each mistake of an operation is found, and told by its name.
func TestMistakes(t *testing.T) {
	if got := failures(t, gainCase(gain{})); got != "" {
		t.Errorf("no mistake, but: %s", got)
	}
	for want, g := range map[string]gain{
		"first derivative": {wrongPullback: true},
		"Jacobian row":     {wrongRows: true},
		"row":              {wrongRowWise: true},
		"value":            {wrongValue: true},
		"shape (6), want":  {wrongShape: true},
		"allocates":        {slow: true},
	} {
		if got := failures(t, gainCase(g)); !strings.Contains(got, want) {
			t.Errorf("%+v: found %q, want a message with %q", g, got, want)
		}
	}
}
