package onnx

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/layers"
)

// Graph is a network as ONNX describes it, without its weights. It is a layer: its settings,
// which are its fields, can be written to files, and it makes the network.
type Graph struct {
	Opset     int      `json:"opset"`               // version of ONNX's operators, 11 to 24
	Input     string   `json:"input"`               // name of the inputs [B,…]; "" if there are several
	Inputs    []Input  `json:"inputs,omitempty"`    // several inputs, which are one after the other in the inputs [B,D]
	Output    string   `json:"output"`              // name of the outputs [B,…]
	Batch     int      `json:"batch,omitempty"`     // number of examples in the file; 0 if it is free there
	Arrays    []Array  `json:"arrays"`              // the weights
	Constants []Tensor `json:"constants,omitempty"` // arrays that are no weights
	Nodes     []Node   `json:"nodes"`               // each after those whose outputs it takes
	// Narrow is set if of values of which the output takes a part alone, such as one token, only this part is computed, and if
	// products with turned weights are written without turning them. In files of earlier versions it is not set: posteriors in
	// them belong to derivatives in another form.
	Narrow bool `json:"narrow,omitempty"`
	// ExamplesFirst is set if values that have the examples behind axis 0, or joined with another axis, are computed with the
	// examples on axis 0. In files of earlier versions it is not set, for the same reason.
	ExamplesFirst bool `json:"examples_first,omitempty"`

	seeds map[string]value // values that are known before the first node, in a part of a graph
}

// Array describes an array of weights.
type Array struct {
	Name  string `json:"name"`            // in the file
	Shape []int  `json:"shape"`           // extents of the axes
	State bool   `json:"state,omitempty"` // not trainable
}

// Node is one operation.
type Node struct {
	Op         string               `json:"op"`                   // name of the operator, see [Operators]
	Name       string               `json:"name,omitempty"`       // in messages
	Inputs     []string             `json:"inputs,omitempty"`     // names of values; empty for an input that is left out
	Outputs    []string             `json:"outputs"`              // names of values
	Attributes map[string]Attribute `json:"attributes,omitempty"` // settings by their names
}

// Attribute is a setting of a node: the field of its type.
type Attribute struct {
	Int    int64     `json:"int,omitempty"`    // a whole number
	Float  float64   `json:"float,omitempty"`  // a number
	Text   string    `json:"text,omitempty"`   // a word
	Ints   []int64   `json:"ints,omitempty"`   // whole numbers
	Floats []float64 `json:"floats,omitempty"` // numbers
	Texts  []string  `json:"texts,omitempty"`  // words
	Tensor *Tensor   `json:"tensor,omitempty"` // an array
}

func init() { layers.RegisterLayer[Graph]("onnx") }

// Make implements layers.Layer. Start values follow from the first use of an array: weights of
// products are drawn as by layers.NewDense, scales and variances are 1, all others 0.
func (g Graph) Make(m *layers.Maker, in []int) (layers.Network, []int, error) {
	if err := g.check(); err != nil {
		return nil, nil, err
	}
	out, err := g.settle(in)
	if err != nil {
		return nil, nil, err
	}
	n := &network{Graph: g, arrays: map[string]*graph.Param{}}
	uses := g.firstUses()
	for _, a := range g.Arrays {
		if a.State {
			p := m.State(a.Name, start(a, uses[a.Name]), a.Shape...)
			n.state, n.arrays[a.Name] = append(n.state, p), p
			continue
		}
		p := m.Param(a.Name, start(a, uses[a.Name]), a.Shape...)
		n.params, n.arrays[a.Name] = append(n.params, p), p
	}
	return n, out, nil
}

// settle gives each Squeeze without axes those that it takes of several examples, since of one example it would take the axis of the
// examples too. It returns the shape of the output of one example, if the graph works for any number of examples.
func (g *Graph) settle(in []int) ([]int, error) {
	own := slices.Clone(g.Nodes)
	out, err := g.dry(3, in, func(i int, c *call, _ []value) {
		if c.Op == "Squeeze" && len(c.list("axes", 1)) == 0 {
			own[i] = Node{Op: "Identity", Name: c.Name, Inputs: c.Inputs[:1], Outputs: c.Outputs}
			var axes []int64
			for _, d := range c.squeezed() {
				axes = append(axes, int64(d))
			}
			if len(axes) > 0 {
				own[i].Op, own[i].Attributes = "Squeeze", map[string]Attribute{"axes": {Ints: axes}}
			}
		}
	})
	if g.Nodes = own; err == nil {
		const many = 11 // an extent that fits 3 examples by chance does not fit 11
		_, err = g.dry(many, in, nil)
		err = fault.In(fmt.Sprintf("for %d examples, while it works for a few", many), err)
	}
	if err != nil && g.Batch > 0 {
		err = fmt.Errorf("%w; the file is for %d examples at a time, expected any number: export it with a free number (dynamic_axes)", err, g.Batch)
	}
	return out, err
}

// use is a place where an array is taken.
type use struct {
	op string // the operator
	i  int    // number of its input
}

// firstUses returns the first use of each name.
func (g Graph) firstUses() map[string]use {
	first := map[string]use{}
	for _, n := range g.Nodes {
		for i, name := range n.Inputs {
			if _, ok := first[name]; !ok {
				first[name] = use{n.Op, i}
			}
		}
	}
	return first
}

// start returns how an array with this first use begins.
func start(a Array, u use) layers.Start {
	switch {
	case u.op == "":
		return layers.Constant(0)
	case u.op == "BatchNormalization" && u.i == 4, u.i == 1 && slices.Contains([]string{"Mul", "BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization"}, u.op):
		return layers.Constant(1)
	case len(a.Shape) < 2:
		return layers.Constant(0)
	}
	return layers.Uniform(1 / math.Sqrt(float64(product(a.Shape[1:]))))
}

// check returns an error for graphs that no file can describe.
func (g Graph) check() error {
	if g.Opset < minOpset || g.Opset > maxOpset {
		return fmt.Errorf("opset %d, expected %d to %d", g.Opset, minOpset, maxOpset)
	}
	known := names{"": true, g.Input: true}
	if err := g.checkInputs(known); err != nil {
		return err
	}
	for _, a := range g.Arrays {
		if err := known.define(a.Name); err != nil {
			return err
		}
	}
	for _, c := range g.Constants {
		if err := known.define(c.Name); err != nil {
			return err
		}
	}
	for i, n := range g.Nodes {
		if err := n.check(known); err != nil {
			return fmt.Errorf("%s: %w", g.at(i), err)
		}
	}
	if g.Output == "" || !known[g.Output] {
		return fmt.Errorf("no node computes the output %q", g.Output)
	}
	return nil
}

// names holds the names of the values that are known before a node.
type names map[string]bool

func (known names) define(name string) error {
	if known[name] {
		return fmt.Errorf("two values are called %q", name)
	}
	known[name] = true
	return nil
}

// check checks a node and adds its outputs to the names.
func (n Node) check(known names) error {
	if operators[n.Op] == nil {
		return fmt.Errorf("this operator is not supported; valla network operators lists the supported operators")
	}
	for _, name := range n.Inputs {
		if !known[name] {
			return fmt.Errorf("its input %q comes from no node before it", name)
		}
	}
	if len(n.Outputs) == 0 {
		return fmt.Errorf("it has no output")
	}
	for _, name := range n.Outputs {
		if name == "" {
			continue
		}
		if err := known.define(name); err != nil {
			return err
		}
	}
	return nil
}

// at names a node in messages.
func (g Graph) at(i int) string {
	n := g.Nodes[i]
	name := n.Name
	if name == "" && len(n.Outputs) > 0 {
		name = n.Outputs[0]
	}
	return fmt.Sprintf("node %d %q (%s, opset %d)", i+1, name, shown(n.Op), g.Opset)
}

// shown returns a name in a file as it is, or quoted where that would break a line.
func shown(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// leaves returns a builder with the inputs of a number of examples, and with the arrays: all without values.
func leaves(batch int, in []int) (b *graph.Builder, x *graph.Node, array func(a Array) *graph.Node) {
	b = graph.NewBuilder(tensor.Float64)
	count := 0
	return b, b.Input("x", append([]int{batch}, in...)...), func(a Array) *graph.Node {
		count++
		return b.Input(fmt.Sprint("array ", count), a.Shape...)
	}
}

// dry computes with the shapes of a number of examples only.
func (g Graph) dry(batch int, in []int, seen func(i int, c *call, out []value)) ([]int, error) {
	b, x, array := leaves(batch, in)
	y, err := g.run(b, x, array, seen)
	if err != nil {
		return nil, err
	}
	if y.Dims() < 2 || y.Shape()[0] != batch {
		return nil, fmt.Errorf("the output %q has shape %v for %d examples, expected [B,...]", g.Output, y.Shape(), batch)
	}
	return y.Shape()[1:].Clone(), nil
}

// Rows implements layers.Summarized: one row for each node that computes with the examples or
// the weights.
func (g Graph) Rows(in []int) ([]layers.Row, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	var rows []layers.Row
	left := map[string]Array{} // trainable arrays that no row has named yet
	for _, a := range g.Arrays {
		if !a.State {
			left[a.Name] = a
		}
	}
	_, err := g.dry(3, in, func(i int, _ *call, out []value) {
		if out[0].node == nil {
			return
		}
		n := g.Nodes[i]
		r := layers.Row{Layer: n.Op, Name: n.Name, Output: slices.Clone(out[0].node.Shape()[min(1, out[0].node.Dims()):])}
		for _, name := range n.Inputs {
			if a, ok := left[name]; ok {
				r.Parameters += product(a.Shape)
				r.Arrays = append(r.Arrays, name)
				delete(left, name)
			}
		}
		rows = append(rows, r)
	})
	return rows, err
}

// network is a Graph with weights.
type network struct {
	Graph
	arrays        map[string]*graph.Param // weights by their names
	params, state []*graph.Param          // trainable weights, and the others
}

// Forward implements layers.Network.
func (n *network) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	y, err := n.run(b, x, func(a Array) *graph.Node { return b.Param(n.arrays[a.Name]) }, nil)
	if err != nil {
		return b.Failf("onnx: %w", err)
	}
	return y
}

// Params implements layers.Network.
func (n *network) Params() []*graph.Param { return n.params }

// State implements layers.Stateful.
func (n *network) State() []*graph.Param { return n.state }

// Describe implements layers.Describer.
func (n *network) Describe() (layers.Layers, error) { return layers.Layers{n.Graph}, nil }

// trainable returns the set of the trainable weights.
func (n *network) trainable() map[*graph.Param]bool {
	set := map[*graph.Param]bool{}
	for _, p := range n.params {
		set[p] = true
	}
	return set
}

// ByLayer returns the parameters grouped by the nodes that take them first. A bias that is added to
// a product with weights is in the group of these weights.
func (n *network) ByLayer() [][]*graph.Param {
	var all [][]*graph.Param
	from, left := map[string]int{}, n.trainable() // layers by the products that they make; arrays without a layer
	for _, node := range n.Nodes {
		var own []*graph.Param
		at := -1
		for _, name := range node.Inputs {
			if p := n.arrays[name]; left[p] {
				left[p], own = false, append(own, p)
			} else if i, ok := from[name]; ok && node.Op == "Add" {
				at = i
			}
		}
		switch {
		case own == nil:
			continue
		case at < 0:
			at = len(all)
			all = append(all, nil)
		}
		all[at] = append(all[at], own...)
		if node.Op == "MatMul" || node.Op == "Mul" {
			from[node.Outputs[0]] = at
		}
	}
	return all
}

// LastLayer returns the parameters of the last node that takes any, or, where the outputs are joined of several parts, of
// the last such node of each part. If a node adds a bias to a product with weights, the weights are part of the layer.
func (n *network) LastLayer() (found []*graph.Param) {
	for _, part := range n.parts(n.Output) {
		for _, p := range n.lastBefore(part) {
			if !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// parts returns the values that are joined to a value.
func (n *network) parts(name string) (all []string) {
	i := slices.IndexFunc(n.Nodes, func(node Node) bool { return slices.Contains(node.Outputs, name) })
	if i < 0 {
		return []string{name}
	}
	switch node := n.Nodes[i]; {
	case node.Op == "Concat":
		for _, in := range node.Inputs {
			all = append(all, n.parts(in)...)
		}
		return all
	case slices.Contains(reshapes, node.Op):
		return n.parts(node.Inputs[0])
	}
	return []string{name}
}

// lastBefore returns the parameters of the last node before a value that takes any.
func (n *network) lastBefore(value string) []*graph.Param {
	var found []*graph.Param
	trainable, needed := n.trainable(), map[string]bool{value: true}
	want := ""
	for _, node := range slices.Backward(n.Nodes) {
		if !slices.ContainsFunc(node.Outputs, func(name string) bool { return needed[name] }) || want != "" && !slices.Contains(node.Outputs, want) {
			continue
		}
		var own []*graph.Param
		rest := ""
		for _, name := range node.Inputs {
			needed[name] = true
			if p := n.arrays[name]; trainable[p] {
				own = append(own, p)
			} else {
				rest = name
			}
		}
		switch {
		case want != "": // what the bias was added to
			if node.Op == "MatMul" {
				found = append(own, found...)
			}
			return found
		case len(own) > 0 && node.Op != "Add":
			return own
		case len(own) > 0:
			found, want = own, rest
		}
	}
	return found
}
