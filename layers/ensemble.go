package layers

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
)

// Ensemble is the mean of the outputs of several networks, its members, which take the same inputs. Their outputs have
// one shape.
type Ensemble []Sequential

// Members returns the members of a network that is an [Ensemble] alone, and nil for another network.
func Members(net Network) []Sequential {
	if s, ok := net.(Sequential); ok && len(s) == 1 {
		net = s[0]
	}
	e, _ := net.(Ensemble)
	return e
}

// Through implements Composite.
func (e Ensemble) Through(b *graph.Builder, x *graph.Node, write func(part Network, x *graph.Node) *graph.Node) *graph.Node {
	var sum *graph.Node
	for i, n := range e {
		y := write(n, x)
		switch {
		case b.Err() != nil:
			return nil
		case i == 0:
			sum = y
		case !slices.Equal(sum.Shape(), y.Shape()): // Add would broadcast
			return b.Failf("layers: ensemble: member %d gives shape %v, member 1 %v", i+1, y.Shape(), sum.Shape())
		default:
			sum = b.Add(sum, y)
		}
	}
	return b.Scale(sum, 1/float64(len(e)))
}

// Forward implements Network.
func (e Ensemble) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return e.Through(b, x, func(n Network, x *graph.Node) *graph.Node { return n.Forward(b, x) })
}

// Params implements Network: the parameters of the first member, then of the second, and so on.
func (e Ensemble) Params() []*graph.Param { return union(e.parts(), Network.Params) }

func (e Ensemble) parts() (all []Network) {
	for _, n := range e {
		all = append(all, n)
	}
	return all
}

// rescaled returns the ensemble whose outputs [B,C] are the outputs of e times factors [C].
func (e Ensemble) rescaled(factors []float64) Ensemble {
	out := make(Ensemble, len(e))
	for i, n := range e {
		out[i] = Rescaled(n, factors)
	}
	return out
}

// EnsembleLayer describes an [Ensemble]. The names of the arrays of member k, counting from 1, begin with "k/".
type EnsembleLayer struct {
	Networks []Layers `json:"networks"` // layers of each member, one member at least
}

func init() { RegisterLayer[EnsembleLayer]("ensemble") }

// Whole implements Numbering by the first network.
func (l EnsembleLayer) Whole(in []int) []bool {
	if len(l.Networks) == 0 {
		return nil
	}
	return l.Networks[0].Whole(in)
}

// Make implements Layer.
func (l EnsembleLayer) Make(m *Maker, in []int) (Network, []int, error) {
	if len(l.Networks) == 0 {
		return nil, nil, fmt.Errorf("no networks, expected one at least")
	}
	var e Ensemble
	var shape []int
	for k, list := range l.Networks {
		net, out, err := m.member(k+1, list, in)
		if err == nil && k > 0 && !slices.Equal(out, shape) {
			err = fmt.Errorf("outputs of shape %v, expected %v as those of network 1", out, shape)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("network %d: %w", k+1, err)
		}
		e, shape = append(e, net), out
	}
	return e, shape, nil
}

// member makes the layers of member k, counting from 1, of an ensemble.
func (m *Maker) member(k int, list Layers, in []int) (Sequential, []int, error) {
	prefix, numbered := m.prefix, m.numbered
	defer func() { m.prefix, m.numbered = prefix, numbered }()
	m.prefix, m.numbered = fmt.Sprint(prefix, k, "/"), map[string]int{}
	return m.Sequence(list, in)
}

// describeEnsemble describes an ensemble whose arrays are named as [EnsembleLayer] names them.
func describeEnsemble(e Ensemble) (Layers, error) {
	var l EnsembleLayer
	for k, n := range e {
		list, err := describe(n)
		if err != nil {
			return nil, fmt.Errorf("network %d: %w", k+1, err)
		}
		l.Networks = append(l.Networks, list)
	}
	return Layers{l}, nil
}
