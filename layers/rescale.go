package layers

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// Rescale multiplies each element of examples [D] by a factor of its own, such as outputs in different units.
type Rescale struct {
	Factors []float64 `json:"factors"` // factor of each element [D], not 0
}

func init() { RegisterLayer[Rescale]("rescale") }

// Make implements Layer.
func (r Rescale) Make(_ *Maker, in []int) (Network, []int, error) {
	if len(in) != 1 || in[0] != len(r.Factors) {
		return nil, nil, fmt.Errorf("%d factors for examples of shape %v", len(r.Factors), in)
	}
	for _, f := range r.Factors {
		if f == 0 || !kernel.Finite(f) {
			return nil, nil, fmt.Errorf("the factor %g, expected a finite number other than 0", f)
		}
	}
	return r, in, nil
}

// Forward implements Network: x is [B,D].
func (r Rescale) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Mul(x, b.Const(fmt.Sprint("rescale ", r.Factors), r.Factors, 1, len(r.Factors)))
}

// Params implements Network: there are none.
func (r Rescale) Params() []*graph.Param { return nil }

// Rescaled returns a network whose outputs [B,C] are the outputs of net times factors [C]. Where net ends in a dense layer
// with arrays of its own, the factors are in copies of these arrays, so that the network keeps its structure. Another
// network gets a [Rescale] at its end. All other arrays are those of net.
func Rescaled(net Sequential, factors []float64) Sequential {
	last := len(net) - 1
	if e := Members(net); e != nil {
		return Sequential{Ensemble(e).rescaled(factors)}
	}
	if last >= 0 {
		if d, ok := net[last].(Dense); ok && !slices.Contains(net[:last].Params(), d.W) {
			return append(net[:last:last], d.rescaled(factors))
		}
	}
	return append(net[:last+1:last+1], Rescale{factors})
}

// rescaled returns the layer whose outputs [B,C] are the outputs of d times factors [C].
func (d Dense) rescaled(factors []float64) Dense {
	scaled := func(p *graph.Param) *graph.Param {
		v := slices.Clone(graph.Floats(p.Value))
		for i := range v {
			v[i] *= factors[i%len(factors)]
		}
		return graph.NewParam(p.Name, v, p.Value.Dtype(), p.Value.Shape()...)
	}
	return Dense{W: scaled(d.W), B: scaled(d.B)}
}
