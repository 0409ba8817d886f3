package graphtest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/onnxfile"
	"gorgonia.org/tensor"
)

// RunONNX returns the output "y" [1,·] of a model whose only input is x [1,1] = 1. Package onnxtest, which reads models, has such
// a function; nil: forms in ONNX are written and not computed.
var RunONNX func(t testing.TB, m *onnxfile.Model) []float64

// tolerances of a form in ONNX, relative to the largest element.
const (
	tolONNX    = 1e-11
	tolONNXF32 = 2e-4
)

// CheckONNX compares the form of the operation in ONNX with the values of a program, in float64 and float32. An operation
// with NoONNX must say that it has no form.
func CheckONNX(t testing.TB, c Case, seed uint64) {
	t.Helper()
	in := c.inputs(rand.New(rand.NewPCG(seed, 0)))
	want := newRun(t, c, tensor.Float64, value).eval(t, in)[0]
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		m, err := graph.WriteONNX(func(s *graph.Sheet) error { c.writeONNX(s, dt, in); return nil })
		switch {
		case c.NoONNX && (err == nil || !strings.Contains(err.Error(), "no form in ONNX")):
			t.Errorf("error %v, expected one that says that there is no form in ONNX", err)
		case err != nil && !c.NoONNX:
			t.Error(err)
		case err == nil && RunONNX != nil:
			tol := tolONNX
			if dt == tensor.Float32 {
				tol = tolONNXF32
			}
			Near(t, "form in ONNX, "+dt.String(), RunONNX(t, m), want, tol)
		}
	}
}

// writeONNX writes the operation at constants to which 0·x is added, so that they are not computed beforehand, with the output [B,·].
func (c Case) writeONNX(s *graph.Sheet, dt tensor.Dtype, in [][]float64) {
	b := s.Stage(dt)
	typ := onnxfile.Double
	if dt == tensor.Float32 {
		typ = onnxfile.Float
	}
	x := s.Input(b, "x", typ, 1)
	nothing := b.Reshape(b.Sub(b.SumTo(x, 1, 1), b.SumTo(x, 1, 1)), 1)
	leaves := make([]*graph.Node, len(in))
	for i, v := range in {
		leaves[i] = b.Add(b.Const("operand "+string(rune('a'+i)), v, c.Shapes[i]...), nothing)
	}
	y := c.Build(b, leaves)
	if b.Err() != nil {
		return
	}
	n := y.Shape().TotalSize()
	s.Output("y", typ, b.Add(b.Reshape(y, 1, n), b.Scale(x, 0)))
}
