package onnx

import (
	"fmt"
	"maps"
	"slices"
)

// flow is what the values of a graph depend on, and their shapes.
type flow struct {
	*network
	depends map[string]bool     // whether a value depends on the inputs, beside their shape
	shapes  map[string][]extent // of the values that depend on the inputs
	maker   map[string]int      // the node that makes a value
	kinds   map[string]kind     // of the same values
}

// extent is the extent of an axis: n, times the number of examples if perExample is set.
type extent struct {
	n          int
	perExample bool
}

// flow follows the values of the graph for inputs of a shape.
func (n *network) flow(input []int) (*flow, error) {
	f := &flow{n, map[string]bool{}, map[string][]extent{}, map[string]int{}, map[string]kind{}}
	var seen [2]map[string][]int
	for k, batch := range []int{3, 5} {
		seen[k] = map[string][]int{}
		if err := n.shapesOf(batch, input, seen[k], f.kinds); err != nil {
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

// shapesOf notes the shapes and the kinds of all nodes of a graph for a number of examples.
func (g Graph) shapesOf(batch int, input []int, shapes map[string][]int, kinds map[string]kind) error {
	b, x, array := leaves(batch, input)
	ends, err := g.ends(b, x)
	if err != nil {
		return err
	}
	for name, v := range ends {
		shapes[name], kinds[name] = v.shape(), v.kind
	}
	_, err = g.run(b, x, array, func(i int, _ *call, out []value) {
		for k, name := range g.Nodes[i].Outputs[:min(len(g.Nodes[i].Outputs), len(out))] {
			if out[k].node != nil {
				shapes[name], kinds[name] = out[k].node.Shape().Clone(), out[k].kind
			}
		}
	})
	return err
}

// live returns for each node the values that nodes after it take of it and of those before, sorted by names.
func (f *flow) live() [][]string {
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
	all := make([][]string, len(f.Nodes))
	for i, node := range f.Nodes {
		for _, name := range slices.Concat(node.Inputs, node.Outputs) {
			if f.depends[name] && last[name] > i {
				live[name] = true
			} else {
				delete(live, name)
			}
		}
		all[i] = slices.Sorted(maps.Keys(live))
	}
	return all
}

// cuts returns the values that divide the graph, in order; the last is the output.
func (f *flow) cuts() []string {
	var all []string
	for i, live := range f.live() {
		if len(live) == 1 && slices.Contains(f.Nodes[i].Outputs, live[0]) && (live[0] == f.Output || f.examplesFirst(live[0])) {
			all = append(all, live[0])
		}
	}
	return f.apart(all)
}

// examplesFirst reports whether a value is [B,…] with two axes at least.
func (f *flow) examplesFirst(name string) bool { return len(f.shapes[name]) > 1 && f.byExample(name) }

// byExample reports whether a value is [B] or [B,…].
func (f *flow) byExample(name string) bool {
	s := f.shapes[name]
	return len(s) > 0 && s[0] == extent{1, true} && !slices.ContainsFunc(s[1:], func(e extent) bool { return e.perExample })
}

// apart leaves out cuts between parts that share weights.
func (f *flow) apart(all []string) []string {
	first := map[string]int{} // the first part that takes an array
	from := ""
	var weld [][2]int // parts that belong together
	for i, at := range all {
		for _, k := range f.needed(from, at) {
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
		from = at
	}
	var kept []string
	for i, at := range all {
		if i+1 < len(all) && f.belongs(at, f.needed(at, all[i+1]), i+2 == len(all)) {
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
