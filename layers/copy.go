package layers

import (
	"slices"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Copy is a network with the layers of another network and with arrays of its own. The copy can
// be trained, or have random weights, while the original stays as it is. A graph can hold the
// copy or the original, not both.
type Copy struct {
	of             Network        // the network that is copied
	params, states []*graph.Param // the copied arrays
}

// NewCopy returns a copy of the network of. The arrays of the copy have the names and the present
// values of the network's arrays.
func NewCopy(of Network) *Copy {
	return &Copy{of: of, params: clones(of.Params()), states: clones(State(of))}
}

func clones(params []*graph.Param) []*graph.Param {
	out := make([]*graph.Param, len(params))
	for i, p := range params {
		out[i] = &graph.Param{Name: p.Name, Value: p.Value.Clone().(*tensor.Dense)}
	}
	return out
}

// Params implements Network: the copies, in the order of the network's parameters.
func (c *Copy) Params() []*graph.Param { return c.params }

// State implements Stateful: the copies, in the order of the network's state.
func (c *Copy) State() []*graph.Param { return c.states }

// Forward implements Network.
func (c *Copy) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	c.Use(b)
	return c.of.Forward(b, x)
}

// Training implements Trainer. The updates are updates of the copied arrays.
func (c *Copy) Training(b *graph.Builder, x *graph.Node) (*graph.Node, []Update) {
	c.Use(b)
	y, updates := Training(b, c.of, x)
	return y, c.Own(updates)
}

// Use makes the copies stand for the network's arrays in every formula that is written into b after
// the call.
func (c *Copy) Use(b *graph.Builder) {
	own := slices.Concat(c.params, c.states)
	for i, p := range Arrays(c.of) {
		b.Let(p, b.Param(own[i]))
	}
}

// Own turns updates of the network's state into updates of the copied state.
func (c *Copy) Own(updates []Update) []Update {
	var own []Update
	for _, u := range updates {
		own = append(own, Update{c.states[slices.Index(State(c.of), u.Param)], u.Value})
	}
	return own
}
