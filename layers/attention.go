package layers

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
)

// Attention describes multi-head self-attention of sequences [T,E] (Vaswani and others 2017, "Attention is all you
// need", sec. 3.2), as PyTorch's MultiheadAttention.
type Attention struct {
	Name   string `json:"name,omitempty"`   // empty: attention1, attention2, …
	Heads  int    `json:"heads"`            // a divisor of E
	Causal bool   `json:"causal,omitempty"` // a step sees itself and the steps before it only
}

// attention is the layer that [Attention] describes.
type attention struct {
	in, bias  *graph.Param // of queries, keys and values: [3·E,E] and [3·E]
	out       Dense        // of the joined heads
	describes Attention    // the description the layer was made of
}

// masked is what is taken from the scores of steps that are not seen.
const masked = 1e30

func init() { RegisterLayer[Attention]("attention") }

// Make implements Layer. The arrays are name.in_proj_weight, name.in_proj_bias, name.out_proj.weight and
// name.out_proj.bias.
func (l Attention) Make(m *Maker, in []int) (Network, []int, error) {
	if err := expectSequences(in); err != nil {
		return nil, nil, err
	}
	e := in[1]
	if l.Heads < 1 || e%l.Heads != 0 {
		return nil, nil, fmt.Errorf("%d heads of width %d, expected a divisor", l.Heads, e)
	}
	l.Name = m.Name(l.Name, "attention")
	return attention{
		in:   m.Param(l.Name+".in_proj_weight", Uniform(math.Sqrt(6/float64(4*e))), 3*e, e),
		bias: m.Param(l.Name+".in_proj_bias", Constant(0), 3*e),
		out:  newDense(m, l.Name+".out_proj", e, e), describes: l,
	}, in, nil
}

// Forward implements Network: x [B,T,E] gives [B,T,E].
func (a attention) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	all := b.AddBias(b.MatMul(x, b.Param(a.in), false, true), b.Param(a.bias))
	if b.Err() != nil {
		return nil
	}
	n, t, e, heads := x.Shape()[0], x.Shape()[1], x.Shape()[2], a.describes.Heads
	part := func(i int) *graph.Node {
		return b.Transpose(b.Reshape(b.Slice(all, 2, i*e, (i+1)*e), n, t, heads, e/heads), 0, 2, 1, 3)
	}
	scores := b.Scale(b.MatMul(part(0), part(1), false, true), 1/math.Sqrt(float64(e/heads)))
	if a.describes.Causal {
		hidden := b.Affine(b.LowerMask(t, 1), masked, -masked) // 0 up to the diagonal
		scores = b.Add(scores, b.Reshape(hidden, 1, 1, t, t))
	}
	seen := b.MatMul(b.Softmax(scores), part(2), false, false)
	return a.out.Forward(b, b.Reshape(b.Transpose(seen, 0, 2, 1, 3), n, t, e))
}

// Params implements Network.
func (a attention) Params() []*graph.Param {
	return append([]*graph.Param{a.in, a.bias}, a.out.Params()...)
}

// InFileOrder implements FileOrdered: the joint weights of queries, keys and values.
func (a attention) InFileOrder() []*graph.Param { return []*graph.Param{a.in} }

// Describe implements Describer.
func (a attention) Describe() (Layers, error) { return Layers{a.describes}, nil }
