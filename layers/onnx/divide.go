package onnx

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"

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
		parts, from = append(parts, f.stretch(from, at.value).kind()), at.value
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

// flow is what the values of a graph depend on, and their shapes.
type flow struct {
	*network
	depends map[string]bool     // whether a value depends on the inputs, beside their shape
	shapes  map[string][]extent // of the values that depend on the inputs
	maker   map[string]int      // the node that makes a value
}

// extent is the extent of an axis: n, times the number of examples if perExample is set.
type extent struct {
	n          int
	perExample bool
}

// flow follows the values of the graph for inputs of a shape.
func (n *network) flow(input []int) (*flow, error) {
	f := &flow{n, map[string]bool{}, map[string][]extent{}, map[string]int{}}
	var seen [2]map[string][]int
	for k, batch := range []int{3, 5} {
		seen[k] = map[string][]int{}
		if err := n.shapesOf(batch, input, seen[k]); err != nil {
			return nil, err
		}
	}
	for name, a := range seen[0] {
		for d, p := range a {
			switch q := seen[1][name][d]; {
			case p == q:
				f.shapes[name] = append(f.shapes[name], extent{p, false})
			case p%3 == 0 && q%5 == 0 && p/3 == q/5:
				f.shapes[name] = append(f.shapes[name], extent{p / 3, true})
			default:
				return nil, fmt.Errorf("onnx: the value %q has the shapes %v and %v for 3 and 5 examples", name, a, seen[1][name])
			}
		}
	}
	for _, name := range n.inputNames() {
		f.depends[name] = true
	}
	for i, node := range n.Nodes {
		moved := node.Op != "Shape" && node.Op != "Size" && slices.ContainsFunc(node.Inputs, func(name string) bool { return f.depends[name] })
		for _, name := range node.Outputs {
			f.maker[name] = i
			f.depends[name] = moved && f.shapes[name] != nil
		}
	}
	return f, nil
}

// inputNames returns the names of the inputs.
func (g Graph) inputNames() []string {
	if g.Inputs == nil {
		return []string{g.Input}
	}
	var names []string
	for _, i := range g.Inputs {
		names = append(names, i.Name)
	}
	return names
}

// shapesOf notes the shapes of all nodes of a graph for a number of examples.
func (g Graph) shapesOf(batch int, input []int, shapes map[string][]int) error {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", append([]int{batch}, input...)...)
	ends, err := g.ends(b, x)
	if err != nil {
		return err
	}
	for name, v := range ends {
		shapes[name] = v.shape()
	}
	count := 0
	_, err = g.run(b, x, func(a Array) *graph.Node {
		count++
		return b.Input(fmt.Sprint("array ", count), a.Shape...)
	}, func(i int, out []value) {
		for k, name := range g.Nodes[i].Outputs[:min(len(g.Nodes[i].Outputs), len(out))] {
			if out[k].node != nil {
				shapes[name] = out[k].node.Shape().Clone()
			}
		}
	})
	return err
}

// cut is a value that divides a graph.
type cut struct{ value string }

// cuts returns the values that divide the graph, in order; the last is the output.
func (f *flow) cuts() []cut {
	last := map[string]int{f.Output: len(f.Nodes)} // the last node that takes a value
	for i, node := range f.Nodes {
		if node.Op == "Shape" || node.Op == "Size" {
			continue
		}
		for _, name := range node.Inputs {
			if f.depends[name] {
				last[name] = max(last[name], i)
			}
		}
	}
	live := map[string]bool{}
	for _, name := range f.inputNames() {
		live[name] = true
	}
	var all []cut
	for i, node := range f.Nodes {
		for _, name := range slices.Concat(node.Inputs, node.Outputs) {
			if f.depends[name] && last[name] > i {
				live[name] = true
			} else {
				delete(live, name)
			}
		}
		if len(live) != 1 || !slices.ContainsFunc(node.Outputs, func(name string) bool { return live[name] }) {
			continue
		}
		for name := range live {
			if name == f.Output || f.examplesFirst(name) {
				all = append(all, cut{name})
			}
		}
	}
	return f.apart(all)
}

// examplesFirst reports whether a value is [B,…].
func (f *flow) examplesFirst(name string) bool {
	s := f.shapes[name]
	return len(s) > 1 && s[0] == extent{1, true} && !slices.ContainsFunc(s[1:], func(e extent) bool { return e.perExample })
}

// apart leaves out cuts between parts that share weights.
func (f *flow) apart(all []cut) []cut {
	first := map[string]int{} // the first part that takes an array
	from := ""
	var weld [][2]int // parts that belong together
	for i, at := range all {
		for _, k := range f.needed(from, at.value) {
			for _, name := range f.Nodes[k].Inputs {
				if f.arrays[name] == nil {
					continue
				}
				if p, ok := first[name]; ok && p != i {
					weld = append(weld, [2]int{p, i})
				} else {
					first[name] = i
				}
			}
		}
		from = at.value
	}
	var kept []cut
	for i, at := range all {
		if i+1 < len(all) && f.belongs(at.value, f.needed(at.value, all[i+1].value), i+2 == len(all)) {
			continue
		}
		if !slices.ContainsFunc(weld, func(w [2]int) bool { return w[0] <= i && i < w[1] }) {
			kept = append(kept, at)
		}
	}
	return kept
}

// belongs reports whether the nodes after a value belong to the node before it: the bias of a product, and, at the end,
// another shape.
func (f *flow) belongs(value string, nodes []int, end bool) bool {
	before, ok := f.maker[value]
	if !ok {
		return false
	}
	for _, i := range nodes {
		node := f.Nodes[i]
		bias := node.Op == "Add" && f.Nodes[before].Op == "MatMul" && slices.ContainsFunc(node.Inputs, func(name string) bool { return f.arrays[name] != nil })
		if f.depends[node.Outputs[0]] && !bias && !(end && slices.Contains(reshapes, node.Op)) {
			return false
		}
	}
	return true
}

// reshapes are operators that change the shape alone.
var reshapes = []string{"Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Cast"}

// needed returns the nodes, in order, that make a value from another one; "" stands for the inputs.
func (f *flow) needed(from, to string) []int {
	want := map[string]bool{to: true}
	var nodes []int
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		node := f.Nodes[i]
		if !slices.ContainsFunc(node.Outputs, func(name string) bool { return name != from && want[name] }) {
			continue
		}
		nodes = append(nodes, i)
		if (node.Op == "Shape" || node.Op == "Size") && f.depends[node.Inputs[0]] {
			continue // known without the value
		}
		for _, name := range node.Inputs {
			want[name] = want[name] || name != from
		}
	}
	slices.Reverse(nodes)
	return nodes
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
		own.seeds[p.from] = value{node: x}
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

// kind returns the part as what methods look for: an affine layer, a normalisation or an activation.
func (p stretch) kind() layers.Network {
	var moved []Node
	for _, node := range p.own() {
		if slices.ContainsFunc(node.Outputs, func(name string) bool { return p.flow.depends[name] }) {
			moved = append(moved, node)
		}
	}
	if a, ok := p.affine(moved); ok {
		return a
	}
	if len(moved) == 1 && moved[0].Op == "BatchNormalization" && p.trains(moved[0].Inputs[1]) && p.trains(moved[0].Inputs[2]) {
		return normaliser{p, moved[0]}
	}
	if len(p.Params()) == 0 && p.from != "" && !slices.ContainsFunc(moved, func(node Node) bool { return !p.pointwise(node) }) {
		return activation{p}
	}
	return p
}

// trains reports whether a value is an array that is trained.
func (p stretch) trains(name string) bool {
	return slices.Contains(p.flow.params, p.flow.arrays[name]) && p.flow.arrays[name] != nil
}

// elementwiseOps are operators of each element alone.
var elementwiseOps = []string{"Relu", "Tanh", "Sigmoid", "Softplus", "Erf", "Exp", "Log", "Sqrt", "Sin", "Cos", "Neg", "Abs", "Reciprocal", "Mish", "HardSwish", "Softsign",
	"Gelu", "LeakyRelu", "Elu", "Celu", "Selu", "HardSigmoid", "Clip", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "ThresholdedRelu", "Shrink", "Swish", "Identity", "Cast"}

// pointwise reports whether a node is a function of each element alone: elementwise, or of pairs of values of one shape
// or of constants of one element.
func (p stretch) pointwise(node Node) bool {
	if slices.Contains(elementwiseOps, node.Op) {
		return true
	}
	if !slices.Contains([]string{"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"}, node.Op) {
		return false
	}
	shape := p.flow.shapes[node.Outputs[0]]
	for _, name := range node.Inputs {
		if p.flow.depends[name] && !slices.Equal(p.flow.shapes[name], shape) || !p.flow.depends[name] && !p.single(name) {
			return false
		}
	}
	return true
}

// single reports whether a constant has one element.
func (p stretch) single(name string) bool {
	if i := slices.IndexFunc(p.flow.Constants, func(c Tensor) bool { return c.Name == name }); i >= 0 {
		return product(p.flow.Constants[i].Shape) == 1
	}
	if i, ok := p.flow.maker[name]; ok && p.flow.Nodes[i].Op == "Constant" {
		a := p.flow.Nodes[i].Attributes
		return a["value"].Tensor == nil && len(a["value_floats"].Floats) < 2 && len(a["value_ints"].Ints) < 2 || a["value"].Tensor != nil && product(a["value"].Tensor.Shape) == 1
	}
	return false
}

// activation is a function of each element.
type activation struct{ stretch }

// Pointwise implements layers.Site.
func (activation) Pointwise() bool { return true }

// normaliser is a batch normalisation.
type normaliser struct {
	stretch
	node Node
}

// Scale implements layers.Normaliser.
func (n normaliser) Scale() (gamma, beta *graph.Param) {
	return n.flow.arrays[n.node.Inputs[1]], n.flow.arrays[n.node.Inputs[2]]
}

// affine is a dense layer or a convolution, perhaps with a node that adds the bias.
type affine struct {
	stretch
	w, bias *graph.Param // bias may be nil
}

// affine returns the part as an affine layer, if the nodes that take part are one.
func (p stretch) affine(moved []Node) (layers.Affine, bool) {
	if len(moved) == 0 || len(moved[0].Inputs) < 2 || !p.flow.depends[moved[0].Inputs[0]] || !p.trains(moved[0].Inputs[1]) {
		return nil, false
	}
	for len(moved) > 1 && p.to == p.flow.Output && slices.Contains(reshapes, moved[len(moved)-1].Op) {
		moved = moved[:len(moved)-1]
	}
	first := moved[0]
	rank := len(p.flow.shapes[first.Inputs[0]])
	a := affine{stretch: p, w: p.flow.arrays[first.Inputs[1]]}
	bias := ""
	switch {
	case first.Op == "Gemm" && first.Attributes["transA"].Int == 0 && len(moved) == 1:
		bias = at(first.Inputs, 2)
	case first.Op == "Conv" && rank == 4 && len(moved) == 1:
		bias = at(first.Inputs, 2)
	case first.Op == "MatMul" && rank == 2 && len(moved) == 1:
	case first.Op == "MatMul" && rank == 2 && len(moved) == 2 && moved[1].Op == "Add" && slices.ContainsFunc(moved[1].Inputs, p.trains):
		bias = moved[1].Inputs[slices.IndexFunc(moved[1].Inputs, p.trains)]
	default:
		return nil, false
	}
	if bias != "" && (!p.trains(bias) || p.flow.arrays[bias].Value.Dims() != 1) {
		return nil, false
	}
	a.bias = p.flow.arrays[bias]
	if first.Op == "Conv" {
		return filtering{a}, true
	}
	return a, true
}

// at returns element i of a list, "" if there is none.
func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// Weights implements layers.Affine.
func (a affine) Weights() (w, bias *graph.Param) { return a.w, a.bias }

// Apply implements layers.Affine.
func (a affine) Apply(b *graph.Builder, x, w, bias *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return a.write(b, x, func(array Array) *graph.Node {
		switch p := a.flow.arrays[array.Name]; {
		case p == a.w:
			return w
		case p == a.bias && bias != nil:
			return bias
		default:
			return b.Fill(0, array.Shape...)
		}
	})
}

// filtering is a convolution.
type filtering struct{ affine }

// Filters implements layers.Filtering.
func (f filtering) Filters(b *graph.Builder, w *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	s := w.Shape()
	return b.Reshape(w, s[0], product(s[1:]))
}
