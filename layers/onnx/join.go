package onnx

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// In many graphs no single value divides the front from the rest: a mask that is made of the words leads into every block of a
// BERT. Nodes that join the values that lead across into one vector, and divide it again, make such a value.

// joinedValues begins the names of the values of such nodes.
const joinedValues = "across the cut"

// Place implements layers.Joinable: of the places behind at least half of the weights, it takes those with the fewest numbers
// for a row, and of these the last one.
func (n *network) Place(input []int, uncertain []*graph.Param) (int, error) {
	f, err := n.flow(input)
	if err != nil {
		return 0, err
	}
	end, weights, live := f.firstUse(uncertain), f.weightsBefore(), f.live()
	half := weights[end] / 2
	if half == 0 || slices.ContainsFunc(f.cuts(), func(name string) bool {
		i, ok := f.maker[name]
		return ok && i < end && weights[i+1] > half
	}) {
		return 0, nil
	}
	best, fewest := 0, 0
	for place := 1; place <= end && place < len(f.Nodes); place++ {
		if weights[place] <= half || f.shared(place) {
			continue
		}
		if width, ok := f.width(live[place-1]); ok && (best == 0 || width <= fewest) {
			best, fewest = place, width
		}
	}
	return best, nil
}

// firstUse returns the number of the first node that computes with the inputs and with one of the arrays, or with what is
// made of it alone; the number of nodes if there is none.
func (f *flow) firstUse(arrays []*graph.Param) int {
	made := map[string]bool{} // of the arrays alone
	for i, node := range f.Nodes {
		takes := slices.ContainsFunc(node.Inputs, func(name string) bool { return made[name] || slices.Contains(arrays, f.arrays[name]) })
		for _, name := range node.Outputs {
			if takes && f.depends[name] {
				return i
			}
			made[name] = takes
		}
	}
	return len(f.Nodes)
}

// weightsBefore returns how many trained numbers the nodes before each node take, and all nodes.
func (f *flow) weightsBefore() []int {
	trained, sums := f.trainable(), make([]int, len(f.Nodes)+1)
	for i, node := range f.Nodes {
		sums[i+1] = sums[i]
		for _, name := range node.Inputs {
			if p := f.arrays[name]; trained[p] {
				trained[p] = false
				sums[i+1] += p.Value.Shape().TotalSize()
			}
		}
	}
	return sums
}

// shared reports whether nodes on both sides of a place take the same trained array.
func (f *flow) shared(place int) bool {
	before := stretch{flow: f, nodes: indices(0, place)}.Params()
	after := stretch{flow: f, nodes: indices(place, len(f.Nodes))}.Params()
	return slices.ContainsFunc(before, func(p *graph.Param) bool { return slices.Contains(after, p) })
}

// indices returns the numbers from first up to, but without, end.
func indices(first, end int) []int {
	all := make([]int, end-first)
	for i := range all {
		all[i] = first + i
	}
	return all
}

// width returns how many numbers of a row values have, and whether each of them has the examples on its first axis alone.
func (f *flow) width(values []string) (n int, ok bool) {
	for _, name := range values {
		if !f.byExample(name) {
			return 0, false
		}
		n += product(f.shape(name, 1))
	}
	return n, len(values) > 0
}

// Join implements layers.Joinable.
func (n *network) Join(input []int, place int) (layers.Divisible, error) {
	f, err := n.flow(input)
	if err != nil {
		return nil, err
	}
	if place < 1 || place >= len(f.Nodes) {
		return nil, fmt.Errorf("onnx: a place behind %d of %d nodes", place, len(f.Nodes))
	}
	values := f.live()[place-1]
	if _, ok := f.width(values); !ok {
		return nil, fmt.Errorf("onnx: the values %.200q, which lead across the place behind %d nodes, are no numbers of each row", values, place)
	}
	nodes, renamed := f.joining(values)
	own := *n
	own.Nodes = slices.Concat(n.Nodes[:place], nodes)
	for _, node := range n.Nodes[place:] {
		node.Inputs = slices.Clone(node.Inputs)
		for i, name := range node.Inputs {
			if other, ok := renamed[name]; ok {
				node.Inputs[i] = other
			}
		}
		own.Nodes = append(own.Nodes, node)
	}
	if other, ok := renamed[n.Output]; ok {
		own.Output = other
	}
	return &own, own.check()
}

// joining returns nodes that join values into one vector for each example and divide it again, and the new names of the values.
func (f *flow) joining(values []string) (nodes []Node, renamed map[string]string) {
	join := Node{Op: "Concat", Name: joinedValues, Outputs: []string{joinedValues}, Attributes: map[string]Attribute{"axis": {Int: 1}}}
	divide := Node{Op: "Split", Name: joinedValues, Inputs: join.Outputs}
	var sizes []int64
	var again []Node
	renamed = map[string]string{}
	for i, name := range values {
		flat, part, back := fmt.Sprint(joinedValues, " ", i, " flat"), fmt.Sprint(joinedValues, " ", i), fmt.Sprint(joinedValues, " ", i, " again")
		shape := f.shape(name, 1)
		nodes = append(nodes, reshaping(name, flat, product(shape))...)
		again = append(again, reshaping(part, back, shape[1:]...)...)
		if k := f.kinds[name]; k != numeric {
			cast := Node{Op: "Cast", Inputs: []string{back}, Outputs: []string{back + " cast"}, Attributes: map[string]Attribute{"to": {Int: map[kind]int64{integral: 7, logical: 9}[k]}}}
			again, back = append(again, cast), cast.Outputs[0]
		}
		join.Inputs, divide.Outputs = append(join.Inputs, flat), append(divide.Outputs, part)
		sizes, renamed[name] = append(sizes, int64(product(shape))), back
	}
	divide.Attributes = map[string]Attribute{"axis": {Int: 1}, "split": {Ints: sizes}}
	return append(append(nodes, join, divide), again...), renamed
}

// reshaping returns nodes that give each example of a value a shape.
func reshaping(from, to string, shape ...int) []Node {
	list := []int64{0} // as many examples as there are
	for _, n := range shape {
		list = append(list, int64(n))
	}
	return []Node{
		{Op: "Constant", Outputs: []string{to + " shape"}, Attributes: map[string]Attribute{"value_ints": {Ints: list}}},
		{Op: "Reshape", Inputs: []string{from, to + " shape"}, Outputs: []string{to}},
	}
}
