package moe

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
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
	Asked   int              `json:"asked"`  // experts that the settings asked for; 0 for the default
	Points  int              `json:"points"` // of the gate; 0 with cells of a single input
	Experts []laplace.Header `json:"experts"`
}

// prefix is that of the names of an expert's arrays.
func prefix(e int) string { return fmt.Sprintf("moe.expert%d.", e) }

// State implements gp.Stored: the gate, and the state of each expert.
func (p *Posterior) State() (gp.State, error) {
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
		own, err := q.State()
		if err != nil {
			return s, err
		}
		h.Experts = append(h.Experts, q.Header())
		for _, a := range own.Arrays {
			s.Arrays = append(s.Arrays, gp.Array{Name: prefix(e) + a.Name, Value: a.Value})
		}
	}
	s.Header = h
	return s, nil
}

// Restore puts a posterior on a network from what its State returned, with a factorisation for
// each expert. Inputs that the network does not take are errors.
func Restore(ctx context.Context, net layers.Network, l likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	if len(h.Experts) == 0 || h.Asked < 0 || h.Points < 0 || len(net.Params()) == 0 {
		return nil, fmt.Errorf("moe: %d experts, %d asked for, and %d points, on a network of %d parameters; expected at least one expert and one parameter, and no negative numbers", len(h.Experts), h.Asked, h.Points, len(net.Params()))
	}
	p := &Posterior{net: net, asked: h.Asked, outputs: h.Experts[0].Outputs, experts: make([]*laplace.Posterior, len(h.Experts))}
	for e, own := range h.Experts {
		if own.Outputs != p.outputs || !slices.Equal(own.Input, h.Experts[0].Input) {
			return nil, fmt.Errorf("moe: expert %d has inputs of shape %v and %d outputs, expected %v and %d as the first", e+1, own.Input, own.Outputs, h.Experts[0].Input, p.outputs)
		}
		var err error
		if p.experts[e], err = laplace.Restore(ctx, net, l, part{s, own, prefix(e)}); err != nil {
			return nil, fmt.Errorf("moe: expert %d of %d: %w", e+1, len(h.Experts), err)
		}
	}
	if err := p.restoreGate(s, h); err != nil {
		return nil, err
	}
	return p, nil
}

// part is what a file says of one expert.
type part struct {
	gp.Saved
	header laplace.Header
	prefix string
}

// Header implements gp.Saved.
func (p part) Header(v any) error {
	to, ok := v.(*laplace.Header)
	if !ok {
		return fmt.Errorf("moe: a header of type %T, expected that of an expert", v)
	}
	*to = p.header
	return nil
}

// Array implements gp.Saved.
func (p part) Array(name string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	return p.Saved.Array(p.prefix+name, dt, shape...)
}

// restoreGate reads the gate.
func (p *Posterior) restoreGate(s gp.Saved, h header) error {
	p.gate = &gate{edges: []float64{}}
	n, input := len(h.Experts), tensor.Shape(h.Experts[0].Input)
	if h.Points == 0 {
		if input.TotalSize() != 1 {
			return fmt.Errorf("moe: cells with inputs of shape %v, expected a single input", input)
		}
		if n == 1 {
			return nil
		}
		edges, err := s.Array(nameEdges, tensor.Float64, n-1)
		if err != nil {
			return err
		}
		p.gate.edges = edges.Float64s()
		if !slices.IsSorted(p.gate.edges) {
			return fmt.Errorf("moe: the array %q is not in ascending order", nameEdges)
		}
		return nil
	}
	g := &gate{}
	var err error
	if g.points, err = s.Array(namePoints, p.net.Params()[0].Value.Dtype(), append([]int{h.Points}, input...)...); err != nil {
		return err
	}
	for _, a := range []struct {
		name  string
		to    *[]float64
		shape []int
	}{{nameMeans, &g.means, []int{h.Points}}, {nameTurn, &g.turn, []int{h.Points, scores}}, {nameCentres, &g.centres, []int{n, scores}}} {
		v, err := s.Array(a.name, tensor.Float64, a.shape...)
		if err != nil {
			return err
		}
		*a.to = graph.Floats(v)
	}
	p.gate = g
	return g.compile(p.net, gp.Run{}.Limit())
}
