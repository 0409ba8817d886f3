package frozen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// Cut is a network in two pieces.
type Cut struct {
	Front layers.Sequential // gives the features; its weights are certain
	Rest  layers.Sequential // takes the features
	Shape []int             // of the features of one row
	// Memory keeps features; nil means that each use computes them.
	Memory *Memory

	at    Place        // of the cut
	input []int        // shape of one input of the network
	dt    tensor.Dtype // of the network
}

// Place is the place of a cut in a network.
type Place struct {
	Parts  int // before the cut
	Joined int // where several values lead across the cut, the place at which [layers.Join] joins them
}

// String returns the place for messages, such as "3 parts".
func (p Place) String() string {
	if p.Joined != 0 {
		return fmt.Sprintf("%d parts and %d nodes", p.Parts, p.Joined)
	}
	return fmt.Sprintf("%d parts", p.Parts)
}

// Before cuts a network of element type dt, for inputs of a shape each, before the first part that has one of the
// parameters uncertain. Parts are those of [layers.Chain]: a single value leads from one part to the next. Where most of the
// weights before the parameters are in the same part, as in a text model whose mask leads into every block, several values
// lead across the cut, which are the features beside each other, see [layers.Joinable]. It is nil where
// nothing that computes comes before, and for networks that are no list of parts.
func Before(net layers.Network, input []int, dt tensor.Dtype, uncertain []*graph.Param) (*Cut, error) {
	if layers.Members(net) != nil {
		return nil, nil
	}
	joined, err := layers.Place(net, input, dt, uncertain)
	if err != nil {
		return nil, err
	}
	parts, err := divided(net, joined, input, dt)
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(parts, func(part layers.Network) bool {
		return slices.ContainsFunc(part.Params(), func(p *graph.Param) bool { return slices.Contains(uncertain, p) })
	})
	if first < 1 || len(parts[:first].Params()) == 0 {
		return nil, nil
	}
	return newCut(parts, Place{first, joined}, input, dt)
}

// divided returns the parts of a network, values at a place joined unless it is 0.
func divided(net layers.Network, joined int, input []int, dt tensor.Dtype) (layers.Sequential, error) {
	if joined != 0 {
		var err error
		if net, err = layers.Join(net, input, dt, joined); err != nil {
			return nil, err
		}
	}
	return layers.Chain(net, input, dt)
}

// After cuts a network at a place, as [Before] has cut a network of the same form.
func After(net layers.Network, at Place, input []int, dt tensor.Dtype) (*Cut, error) {
	all, err := divided(net, at.Joined, input, dt)
	if err != nil {
		return nil, err
	}
	if layers.Members(net) != nil || at.Parts < 1 || at.Parts >= len(all) {
		return nil, fmt.Errorf("a cut after %d parts of a network of %d", at.Parts, len(all))
	}
	return newCut(all, at, input, dt)
}

func newCut(parts layers.Sequential, at Place, input []int, dt tensor.Dtype) (*Cut, error) {
	first := at.Parts
	c := &Cut{Front: parts[:first:first], Rest: parts[first:], at: at, input: slices.Clone(input), dt: dt}
	if len(c.Rest.Params()) == 0 {
		return nil, fmt.Errorf("a cut after %d parts of a network of %d, behind which there are no weights", first, len(parts))
	}
	b := graph.NewBuilder(dt)
	y := c.Front.Forward(b, b.Input("x", append([]int{3}, input...)...))
	if err := b.Err(); err != nil {
		return nil, err
	}
	s := y.Shape()
	if len(s) < 2 || s[0] != 3 {
		return nil, fmt.Errorf("features of shape %v for 3 rows, expected [3,…]", s)
	}
	c.Shape = s[1:].Clone()
	return c, nil
}

// Place returns where the cut is.
func (c *Cut) Place() Place { return c.at }

// Width returns how many numbers the features of one row have.
func (c *Cut) Width() int { return tensor.Shape(c.Shape).TotalSize() }

// Fingerprint identifies the front by the form of the whole network, as a text, by its parts and by the exact bits of its
// weights.
func (c *Cut) Fingerprint(form []byte) string {
	h := sha256.New()
	all := []any{string(form), len(c.Front), c.Shape, c.dt.String(), layers.Fingerprint(c.Front)}
	if c.at.Joined != 0 {
		all = append(all, c.at.Joined)
	}
	text, _ := json.Marshal(all) // texts and numbers
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Flops returns how many floating-point operations the front and the rest take for one row.
func (c *Cut) Flops() (front, rest int, err error) {
	if front, err = flops(c.Front, c.input, c.dt); err == nil {
		rest, err = flops(c.Rest, c.Shape, c.dt)
	}
	return front, rest, err
}

// flops returns the operations of a network for one input.
func flops(net layers.Network, input []int, dt tensor.Dtype) (int, error) {
	x := tensor.New(tensor.Of(dt), tensor.WithShape(append([]int{1}, input...)...))
	return gp.ForwardFlops(gp.Problem{Net: net, Train: gp.Examples{X: x}})
}

// First names the first weights behind the cut.
func (c *Cut) First() string { return c.Rest.Params()[0].Name }
