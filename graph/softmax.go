package graph

import (
	"fmt"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// logSoftmax is x − log Σ exp x along the last axis.
type logSoftmax struct{}

func (logSoftmax) Key() string { return "log softmax" }

func (logSoftmax) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in[0]) == 0 {
		return nil, fmt.Errorf("the input is a scalar")
	}
	return in[0], nil
}

func (logSoftmax) Pullback(b *Builder, _ int, _ []*Node, out, ct *Node) *Node {
	return b.Sub(ct, b.Mul(b.Exp(out), b.SumAxis(ct, -1)))
}

func (logSoftmax) RowWise(_ []bool, in []tensor.Shape) bool { return len(in[0]) > 1 }

func (logSoftmax) Forward(in []tensor.Shape, _ tensor.Shape) Loops {
	n := in[0][len(in[0])-1]
	return Loops{F32: logSoftmaxLoop[float32](n), F64: logSoftmaxLoop[float64](n)}
}

// ONNX implements ONNXForm.
func (logSoftmax) ONNX(w *ONNX, in []ONNXValue, _ []Extent) string {
	return w.Node("LogSoftmax", attr("axis", len(in[0].Shape)-1), in[0].Name)
}

// logSoftmaxLoop subtracts the row's maximum first, so that nothing overflows.
func logSoftmaxLoop[T kernel.Float](n int) func(y []T, x [][]T) error {
	e, sum := make([]T, n), make([]T, 1)
	return func(y []T, x [][]T) error {
		for i := 0; i < len(y); i += n {
			row, out := x[0][i:i+n], y[i:i+n]
			kernel.AddScalar(out, -kernel.Largest(row), row)
			kernel.Exp(e, out)
			sum[0] = kernel.Sum(e)
			kernel.Log(sum, sum)
			kernel.AddScalar(out, -sum[0], out)
		}
		return nil
	}
}

// LogSoftmax returns x − log Σ exp x along the last axis, stable for any finite x.
func (b *Builder) LogSoftmax(x *Node) *Node { return b.Apply(logSoftmax{}, x) }
