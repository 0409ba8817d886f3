package onnx

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// A graph is a list of parts where single values divide it: everything after such a value depends on the inputs through
// the value alone. Methods that look at layers, such as activations and a last dense layer, look at these parts.

// Divide implements layers.Divisible.
func (n *network) Divide(input []int) (layers.Sequential, error) {
	f, err := n.flow(input)
	if err != nil {
		return nil, err
	}
	var parts layers.Sequential
	from := ""
	for _, at := range f.cuts() {
		parts, from = append(parts, f.stretch(from, at).kind()), at
		if last := len(parts) - 1; last > 0 { // two functions of each element are one
			a, one := parts[last-1].(activation)
			c, two := parts[last].(activation)
			if one && two {
				parts = append(parts[:last-1], activation{f.stretch(a.from, c.to)})
			}
		}
	}
	return parts, nil
}

// stretch is the network from one value to another.
type stretch struct {
	flow     *flow
	from, to string // "" stands for the inputs
	nodes    []int  // that make to from from
}

// stretch returns the part from one value to another.
func (f *flow) stretch(from, to string) stretch {
	return stretch{flow: f, from: from, to: to, nodes: f.needed(from, to)}
}

// Params implements layers.Network.
func (p stretch) Params() []*graph.Param { return p.taken(p.flow.params) }

// State implements layers.Stateful.
func (p stretch) State() []*graph.Param { return p.taken(p.flow.state) }

// taken returns those of the arrays that the nodes take.
func (p stretch) taken(all []*graph.Param) (own []*graph.Param) {
	used := map[*graph.Param]bool{}
	for _, i := range p.nodes {
		for _, name := range p.flow.Nodes[i].Inputs {
			used[p.flow.arrays[name]] = true
		}
	}
	for _, a := range all {
		if used[a] {
			own = append(own, a)
		}
	}
	return own
}

// Forward implements layers.Network.
func (p stretch) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return p.write(b, x, func(a Array) *graph.Node { return b.Param(p.flow.arrays[a.Name]) })
}

// write writes the part with arrays of the caller's.
func (p stretch) write(b *graph.Builder, x *graph.Node, array func(Array) *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	own := p.flow.Graph
	own.Output, own.Nodes = p.to, nil
	for _, i := range p.nodes {
		own.Nodes = append(own.Nodes, p.flow.Nodes[i])
	}
	own.Arrays = nil
	for _, q := range p.taken(slices.Concat(p.flow.params, p.flow.state)) {
		own.Arrays = append(own.Arrays, Array{Name: q.Name, Shape: q.Value.Shape()})
	}
	own.seeds = map[string]value{}
	if p.from != "" {
		own.Input, own.Inputs = p.from, nil
		own.seeds[p.from] = value{node: x, kind: p.flow.kinds[p.from], moved: true}
	}
	for _, i := range p.nodes {
		if node := p.flow.Nodes[i]; (node.Op == "Shape" || node.Op == "Size") && p.outside(node.Inputs[0]) {
			own.seeds[node.Inputs[0]] = value{host: &host{shape: p.flow.shape(node.Inputs[0], x.Shape()[0])}}
		}
	}
	y, err := own.run(b, x, array, nil)
	if err != nil {
		return b.Failf("onnx: %w", err)
	}
	return y
}

// outside reports whether a value that depends on the inputs is made before the stretch.
func (p stretch) outside(name string) bool {
	if !p.flow.depends[name] || name == p.from || p.from == "" && slices.Contains(p.flow.inputNames(), name) {
		return false
	}
	i, made := p.flow.maker[name]
	return !made || !slices.Contains(p.nodes, i)
}

// shape returns the shape of a value for a number of examples.
func (f *flow) shape(name string, batch int) []int {
	var out []int
	for _, e := range f.shapes[name] {
		n := e.n
		if e.perExample {
			n *= batch
		}
		out = append(out, n)
	}
	return out
}

// ByLayer returns the parameters as one group.
func (p stretch) ByLayer() [][]*graph.Param { return [][]*graph.Param{p.Params()} }

// LastLayer returns the parameters of the last node of the part that takes any.
func (p stretch) LastLayer() []*graph.Param {
	return (&network{Graph: Graph{Nodes: p.own()}, arrays: p.flow.arrays, params: p.flow.params}).lastBefore(p.to)
}

// own returns the nodes of the part.
func (p stretch) own() (nodes []Node) {
	for _, i := range p.nodes {
		nodes = append(nodes, p.flow.Nodes[i])
	}
	return nodes
}

// Describe implements layers.Describer: it names the operators.
func (p stretch) Describe() (layers.Layers, error) {
	return nil, fmt.Errorf("onnx: %s is a part of a network, which has no form of its own", p.Title())
}

// Title names the part in messages.
func (p stretch) Title() string {
	var ops []string
	for _, node := range p.own() {
		if slices.ContainsFunc(node.Outputs, func(name string) bool { return p.flow.depends[name] }) {
			ops = append(ops, node.Op)
		}
	}
	name := p.to
	if params := p.Params(); len(params) > 0 {
		name = params[0].Name
	}
	if len(ops) > 4 {
		ops = append(ops[:3:3], fmt.Sprintf("%d more operators", len(ops)-3))
	}
	return fmt.Sprintf("%s %v", name, ops)
}
