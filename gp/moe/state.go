package moe

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
)

// The names of the gate's arrays in a file.
const (
	nameEdges   = "moe.edges"
	namePoints  = "moe.points"
	nameMeans   = "moe.means"
	nameTurn    = "moe.turn"
	nameCentres = "moe.centres"
)

// header is what a file says of a posterior beside its arrays.
type header struct {
	Asked   int               `json:"asked"`   // experts that the settings asked for; 0 for the default
	Points  int               `json:"points"`  // of the gate; 0 with cells of a single input
	Experts []json.RawMessage `json:"experts"` // headers of laplace
}

// prefix returns what the names of the arrays of expert e begin with.
func prefix(e int) string { return fmt.Sprintf("moe.expert%d.", e) }

// State implements gp.Stored: the gate, and the state of each expert.
func (p *posterior) State() (gp.State, error) {
	h, g := header{Asked: p.asked}, p.gate
	var s gp.State
	if g.points != nil {
		h.Points = g.points.Shape()[0]
		s.Arrays = []gp.Array{
			{Name: namePoints, Value: g.points}, {Name: nameMeans, Value: dense.Of(g.means, h.Points)},
			{Name: nameTurn, Value: dense.Of(g.turn, h.Points, scores)}, {Name: nameCentres, Value: dense.Of(g.centres, g.experts(), scores)},
		}
	} else if len(g.edges) > 0 {
		s.Arrays = []gp.Array{{Name: nameEdges, Value: dense.Of(g.edges, len(g.edges))}}
	}
	for e, q := range p.experts {
		text, err := s.Add(q, prefix(e))
		if err != nil {
			return s, err
		}
		h.Experts = append(h.Experts, text)
	}
	s.Header = h
	return s, nil
}

// restore puts a posterior on a network from what its State returned, with a factorisation for
// each expert. Inputs that the network does not take are errors.
func restore(ctx context.Context, net layers.Network, l likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	if len(h.Experts) == 0 || h.Asked < 0 || h.Points < 0 || len(net.Params()) == 0 {
		return nil, fmt.Errorf("moe: %d experts, %d asked for, and %d points, on a network of %d parameters; expected at least one expert and one parameter, and no negative numbers", len(h.Experts), h.Asked, h.Points, len(net.Params()))
	}
	p := &posterior{net: net, asked: h.Asked, experts: make([]gp.Stored, len(h.Experts))}
	for e, own := range h.Experts {
		if err := p.sameShapes(e, own); err != nil {
			return nil, err
		}
		var err error
		if p.experts[e], err = laplace.Method.Restore(ctx, net, l, gp.SavedPart(s, own, prefix(e))); err != nil {
			return nil, fmt.Errorf("moe: expert %d of %d: %w", e+1, len(h.Experts), err)
		}
	}
	return gp.Restored(p, p.restoreGate(s, h))
}

// sameShapes reads the shape of the inputs and the number of outputs from the header own of expert e.
// The posterior takes both from the first expert; for the others a difference is an error.
func (p *posterior) sameShapes(e int, own json.RawMessage) error {
	var shapes struct {
		Input   []int `json:"input"`
		Outputs int   `json:"outputs"`
	}
	if err := json.Unmarshal(own, &shapes); err != nil {
		return fmt.Errorf("moe: expert %d: %w", e+1, err)
	}
	if e == 0 {
		p.input, p.outputs = shapes.Input, shapes.Outputs
	}
	if shapes.Outputs != p.outputs || !slices.Equal(shapes.Input, p.input) {
		return fmt.Errorf("moe: expert %d has inputs of shape %v and %d outputs, expected %v and %d as the first", e+1, shapes.Input, shapes.Outputs, p.input, p.outputs)
	}
	return nil
}

// restoreGate reads the gate.
func (p *posterior) restoreGate(s gp.Saved, h header) error {
	p.gate = &gate{edges: []float64{}}
	r, n, input := &gp.Reader{Saved: s}, len(h.Experts), p.input
	if h.Points == 0 {
		if input.TotalSize() != 1 {
			return fmt.Errorf("moe: cells with inputs of shape %v, expected a single input", input)
		}
		if n == 1 {
			return nil
		}
		if p.gate.edges = r.Floats(nameEdges, n-1); !slices.IsSorted(p.gate.edges) {
			return fmt.Errorf("moe: the array %q is not in ascending order", nameEdges)
		}
		return r.Err
	}
	p.gate = &gate{
		points: r.Read(namePoints, p.net.Params()[0].Value.Dtype(), append([]int{h.Points}, input...)...),
		means:  r.Floats(nameMeans, h.Points), turn: r.Floats(nameTurn, h.Points, scores), centres: r.Floats(nameCentres, n, scores),
	}
	return r.Err
}
