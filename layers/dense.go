package layers

import (
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Dense is the affine map h = a·W + b.
type Dense struct {
	W *graph.Param // [in, out]
	B *graph.Param // [out]
}

// NewDense returns a layer whose parameters are called name.weight and name.bias,
// drawn uniformly from ±1/√in.
func NewDense(name string, in, out int, dt tensor.Dtype, rng *rand.Rand) Dense {
	bound := 1 / math.Sqrt(float64(in))
	return Dense{
		W: &graph.Param{Name: name + ".weight", Value: uniform(bound, dt, rng, in, out)},
		B: &graph.Param{Name: name + ".bias", Value: uniform(bound, dt, rng, out)},
	}
}

// Forward implements Network: a [B, in] gives [B, out].
func (d Dense) Forward(b *graph.Builder, a *graph.Node) *graph.Node {
	return b.AddBias(b.MatMul(a, b.Param(d.W), false, false), b.Param(d.B))
}

// Params implements Network.
func (d Dense) Params() []*graph.Param { return []*graph.Param{d.W, d.B} }

// uniform draws a tensor from the uniform distribution on ±bound.
func uniform(bound float64, dt tensor.Dtype, rng *rand.Rand, shape ...int) *tensor.Dense {
	t := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	for i := range t.Shape().TotalSize() {
		v := bound * (2*rng.Float64() - 1)
		if dt == tensor.Float64 {
			t.Float64s()[i] = v
		} else {
			t.Float32s()[i] = float32(v)
		}
	}
	return t
}
