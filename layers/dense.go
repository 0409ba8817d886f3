package layers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Dense is the affine map h = a·W + b.
type Dense struct {
	W *graph.Param // [in, out]
	B *graph.Param // [out]
}

// NewDense returns a layer whose parameters are called name.weight and name.bias and are
// drawn uniformly from ±1/√in.
func NewDense(name string, in, out int, dt tensor.Dtype, rng *rand.Rand) Dense {
	return newDense(free(dt, rng), name, in, out)
}

func newDense(m *Maker, name string, in, out int) Dense {
	start := Uniform(1 / math.Sqrt(float64(in)))
	return Dense{W: m.Param(name+".weight", start, in, out), B: m.Param(name+".bias", start, out)}
}

// DenseLayer describes a [Dense] for vectors [D], or for each step of sequences [T,D], as [NewDense] makes it.
type DenseLayer struct {
	Name    string `json:"name,omitempty"` // empty: dense1, dense2, …
	Outputs int    `json:"outputs"`        // number of outputs
}

func init() { RegisterLayer[DenseLayer]("dense") }

// Make implements Layer.
func (l DenseLayer) Make(m *Maker, in []int) (Network, []int, error) {
	switch {
	case len(in) < 1 || len(in) > 2:
		return nil, nil, fmt.Errorf("inputs of shape %v, expected vectors [D] or sequences [T,D]; put the layer flatten before it", in)
	case l.Outputs < 1:
		return nil, nil, fmt.Errorf("%d outputs, expected at least 1", l.Outputs)
	}
	last := len(in) - 1
	return newDense(m, m.Name(l.Name, "dense"), in[last], l.Outputs), append(slices.Clone(in[:last]), l.Outputs), nil
}

// Weights implements Affine.
func (d Dense) Weights() (w, bias *graph.Param) { return d.W, d.B }

// Apply implements Affine: x [B, …, in] gives [B, …, out].
func (d Dense) Apply(b *graph.Builder, x, w, bias *graph.Node) *graph.Node {
	y := b.MatMul(x, w, false, false)
	if bias == nil {
		return y
	}
	return b.AddBias(y, bias)
}

// ApplyEach implements PerExample.
func (d Dense) ApplyEach(b *graph.Builder, x, w *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	s := w.Shape()
	if x.Dims() == 3 {
		return b.MatMul(x, w, false, false)
	}
	return b.Reshape(b.SumAxis(b.Mul(b.Reshape(x, s[0], s[1], 1), w), 1), s[0], s[2])
}

// Forward implements Network: x [B, …, in] gives [B, …, out].
func (d Dense) Forward(b *graph.Builder, x *graph.Node) *graph.Node { return applied(d, b, x) }

// Params implements Network.
func (d Dense) Params() []*graph.Param { return affineParams(d) }
