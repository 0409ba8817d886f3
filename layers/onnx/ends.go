package onnx

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/raw"
)

// Input is one of several inputs of a network. One example of all inputs together is a vector: the elements of the
// first input, row-major, then those of the second, and so on.
type Input struct {
	Name  string   `json:"name"`           // in the file
	Shape []int    `json:"shape"`          // of one example; empty for one number
	Type  raw.Type `json:"type,omitempty"` // of the elements in the file
}

// Size returns the number of elements of one example.
func (i Input) Size() int { return product(i.Shape) }

// Columns returns names of the elements of one example: the name of the input for a single number, and otherwise the
// name with the place of the element, such as x.0 and image.0.2.3.
func (i Input) Columns() []string {
	if i.Size() == 1 {
		return []string{i.Name}
	}
	out := make([]string, i.Size())
	for k := range out {
		rest, name := k, ""
		for d := len(i.Shape) - 1; d >= 0; d-- {
			name = fmt.Sprint(".", rest%i.Shape[d], name)
			rest /= i.Shape[d]
		}
		out[k] = i.Name + name
	}
	return out
}

// width returns the number of elements of one example of all inputs.
func (g Graph) width() int {
	n := 0
	for _, i := range g.Inputs {
		n += i.Size()
	}
	return n
}

// ends returns the values of the inputs of the file for the network's inputs x.
func (g Graph) ends(b *graph.Builder, x *graph.Node) (map[string]value, error) {
	if g.Inputs == nil {
		return map[string]value{g.Input: {node: x, moved: true}}, nil
	}
	if x.Dims() != 2 || x.Shape()[1] != g.width() {
		return nil, fmt.Errorf("inputs of shape %v, expected [B,%d] for %s", x.Shape(), g.width(), g.described())
	}
	values, from := map[string]value{}, 0
	for _, i := range g.Inputs {
		part := b.Slice(x, 1, from, from+i.Size())
		part = b.Reshape(part, append([]int{x.Shape()[0]}, i.Shape...)...)
		if b.Err() != nil {
			return nil, b.Err()
		}
		values[i.Name] = value{node: part, kind: kindOf(i.Type), moved: true}
		from += i.Size()
	}
	return values, nil
}

// described lists the inputs, such as "x [4], day []".
func (g Graph) described() string {
	var parts []string
	for _, i := range g.Inputs {
		parts = append(parts, fmt.Sprintf("%s %v", i.Name, i.Shape))
	}
	return strings.Join(parts, ", ")
}

// checkInputs returns an error for inputs that no file can have.
func (g Graph) checkInputs(known names) error {
	if len(g.Inputs) == 0 {
		return nil
	}
	for _, i := range g.Inputs {
		if n, err := raw.Count(i.Shape, maxHost); err != nil || n == 0 {
			return fmt.Errorf("input %q of shape %v", i.Name, i.Shape)
		}
		if err := known.define(i.Name); err != nil {
			return err
		}
	}
	if g.Input != "" {
		return fmt.Errorf("the input %q beside a list of inputs", g.Input)
	}
	return nil
}

// inputs finds the inputs of the graph that are no initialisers.
func (r *reader) inputs(g fields, constants map[string]bool) error {
	var all []Input
	for v, err := range g.messages(11) {
		if err != nil {
			return err
		}
		name := v.text(1)
		if constants[name] || r.weights[name] != nil {
			continue
		}
		i, batch, err := readInput(v)
		if err != nil {
			return fmt.Errorf("input %q: %w", name, err)
		}
		if len(all) > 0 && batch != r.Batch {
			return fmt.Errorf("input %q has %d examples, another input %d, expected the same number", name, batch, r.Batch)
		}
		r.Batch, all = batch, append(all, i)
	}
	switch {
	case len(all) == 0:
		return fmt.Errorf("no input, expected at least one")
	case len(all) == 1 && len(all[0].Shape) > 0:
		r.Input = all[0].Name
		if err := r.stated(all[0].Shape); err != nil {
			return fmt.Errorf("input %q: %w", r.Input, err)
		}
		return nil
	}
	r.Inputs = all
	return r.close()
}

// close gives the open axes of several inputs, such as the number of words, the one length of the options.
func (r *reader) close() error {
	open := false
	for _, i := range r.Inputs {
		for k, n := range i.Shape {
			switch {
			case n > 0:
				continue
			case len(r.o.Input) != 1 || r.o.Input[0] < 1:
				return fmt.Errorf("input %q: the file leaves the shape of an example open (%v); state one length for the open axes of all inputs, or export with fixed shapes", i.Name, i.Shape)
			}
			i.Shape[k], open = r.o.Input[0], true
		}
	}
	if r.o.Input != nil && !open {
		return fmt.Errorf("examples of shape %v, but the file has several inputs, which leave no axis open", r.o.Input)
	}
	return nil
}

// readInput reads an input: the number of examples, 0 if it is free, and the shape of one example.
func readInput(v fields) (i Input, batch int, err error) {
	i.Name = v.text(1)
	for _, num := range []protowire.Number{2, 1} { // TypeProto, its tensor
		if v, err = v.message(num); err != nil {
			return i, 0, err
		}
	}
	if i.Type = types[v.int(1)]; i.Type == "" {
		return i, 0, fmt.Errorf("elements of ONNX's type %d, expected floating-point numbers, integers or booleans", v.int(1))
	}
	shape, err := v.message(2)
	if err != nil {
		return i, 0, err
	}
	i.Shape = []int{}
	for d, err := range shape.messages(1) {
		if err != nil {
			return i, 0, err
		}
		i.Shape = append(i.Shape, int(d.int(1)))
	}
	if len(i.Shape) == 0 {
		return i, 0, fmt.Errorf("no axes, expected an axis of examples")
	}
	batch, i.Shape = i.Shape[0], i.Shape[1:]
	return i, batch, nil
}

// stated completes the shape of the only input by the options.
func (r *reader) stated(shape []int) error {
	r.input = shape
	if r.o.Input != nil && (len(r.o.Input) != len(r.input) || slices.ContainsFunc(r.o.Input, func(n int) bool { return n < 1 })) {
		return fmt.Errorf("examples of shape %v, expected %d axes", r.o.Input, len(r.input))
	}
	for i, n := range r.o.Input {
		if r.input[i] != n && r.input[i] > 0 {
			return fmt.Errorf("examples of shape %v, the file has %v", r.o.Input, r.input)
		}
		r.input[i] = n
	}
	if slices.ContainsFunc(r.input, func(n int) bool { return n < 1 }) {
		return fmt.Errorf("the file leaves the shape of an example open (%v); state it", r.input)
	}
	return nil
}

// Whole implements [layers.Numbering]. Of several inputs the file has the types. An only input is taken to be whole
// where it numbers the rows of a table.
func (g Graph) Whole(in []int) []bool {
	var out []bool
	for _, i := range g.Inputs {
		out = append(out, slices.Repeat([]bool{slices.Contains([]raw.Type{raw.I64, raw.I32, raw.I16}, i.Type)}, i.Size())...)
	}
	if g.Inputs == nil {
		out = slices.Repeat([]bool{g.numbersRows()}, product(in))
	}
	if !slices.Contains(out, true) {
		return nil
	}
	return out
}

// numbersRows reports whether the elements of the only input, which may be in another shape, are the places in a table.
func (g Graph) numbersRows() bool {
	same := map[string]bool{g.Input: true}
	for _, n := range g.Nodes {
		if len(n.Inputs) == 0 {
			continue
		}
		if n.Op == "Gather" && len(n.Inputs) > 1 && same[n.Inputs[1]] {
			return true
		}
		if reshapes := []string{"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Split"}; same[n.Inputs[0]] && slices.Contains(reshapes, n.Op) {
			for _, name := range n.Outputs {
				same[name] = true
			}
		}
	}
	return false
}

// outputs finds the outputs that are chosen. Several become one: flattened, one after the other.
func (r *reader) outputs(g fields) error {
	var all []string
	for v, err := range g.messages(12) {
		if err != nil {
			return err
		}
		all = append(all, v.text(1))
	}
	chosen := r.o.Outputs
	if len(chosen) == 0 {
		if chosen = all; len(all) != 1 && (r.o.Half == AllOutputs || len(all) != 2) {
			return fmt.Errorf("%d outputs %.200q, expected one; choose with --output", len(all), all)
		}
	}
	for i, name := range chosen {
		if !slices.Contains(all, name) || slices.Contains(chosen[:i], name) {
			return fmt.Errorf("output %q, expected different ones of %.200q", name, all)
		}
	}
	chosen, split := r.o.Half.of(chosen)
	if r.Output = chosen[0]; len(chosen) > 1 {
		r.join(chosen)
	}
	if split {
		r.split()
	}
	r.leaveOut()
	return nil
}

// leaveOut leaves out an operator of Options.Ends at the end, which may be before nodes that change the shape alone.
func (r *reader) leaveOut() {
	n, ok := r.makes(r.Output, reshapes)
	if ok && slices.Contains(r.o.Ends, "Softmax") && r.bothOf(n) {
		return
	}
	if !ok || !slices.Contains(r.o.Ends, n.Op) || len(n.Inputs) != 1 {
		return
	}
	r.ended = n.Op
	if n.Outputs[0] == r.Output {
		r.Output = n.Inputs[0]
	} else {
		n.Op, n.Attributes = "Identity", nil
	}
}

// bothOf makes a node that joins 1 − p and p, for p = σ(z), join the logits 0 and z, as scikit-learn's classifiers of two classes need it. It returns
// false for other nodes.
func (r *reader) bothOf(n *Node) bool {
	if n.Op != "Concat" || len(n.Inputs) != 2 {
		return false
	}
	rest, ok := r.makes(n.Inputs[0], nil)
	if !ok || rest.Op != "Sub" || len(rest.Inputs) != 2 || rest.Inputs[1] != n.Inputs[1] || !r.isOne(rest.Inputs[0]) {
		return false
	}
	p, ok := r.makes(n.Inputs[1], nil)
	if !ok || p.Op != "Sigmoid" || len(p.Inputs) != 1 {
		return false
	}
	p.Op, rest.Inputs = "Identity", []string{n.Inputs[1], n.Inputs[1]}
	return true
}

// isOne says whether a constant is the number 1.
func (r *reader) isOne(name string) bool {
	t := r.weights[name]
	for i := range r.Constants {
		if r.Constants[i].Name == name {
			t = &r.Constants[i]
		}
	}
	if n, ok := r.makes(name, nil); ok && n.Op == "Constant" {
		t = n.Attributes["value"].Tensor
	}
	if t == nil || product(t.Shape) != 1 {
		return false
	}
	v, err := raw.Dense(t.Type, t.Shape, t.Data)
	return err == nil && isFloat(t.Type) && graph.Floats(v)[0] == 1
}

// of returns the half of the outputs with names, and whether the last of them still has to be split.
func (h Half) of(names []string) (half []string, split bool) {
	switch n := len(names) / 2; {
	case h == AllOutputs || len(names)%2 == 1:
		return names, h != AllOutputs
	case h == FirstHalf:
		return names[:n], false
	default:
		return names[n:], false
	}
}

// split appends nodes that take a half of the output.
func (r *reader) split() {
	flat, halves := joinedOutputs+" flat", []string{joinedOutputs + " first half", joinedOutputs + " second half"}
	r.Nodes = append(r.Nodes, Node{Op: "Flatten", Name: "halve", Inputs: []string{r.Output}, Outputs: []string{flat}},
		Node{Op: "Split", Name: "halve", Inputs: []string{flat}, Outputs: halves, Attributes: map[string]Attribute{"axis": {Int: 1}}})
	r.Output = halves[r.o.Half-FirstHalf]
}

// joinedOutputs is the name of several outputs that were joined.
const joinedOutputs = "outputs of the network"

// join appends nodes that join outputs.
func (r *reader) join(outputs []string) {
	join := Node{Op: "Concat", Name: "join", Outputs: []string{joinedOutputs}, Attributes: map[string]Attribute{"axis": {Int: 1}}}
	for i, name := range outputs {
		flat := fmt.Sprint(joinedOutputs, " ", i+1)
		r.Nodes = append(r.Nodes, Node{Op: "Flatten", Name: "join", Inputs: []string{name}, Outputs: []string{flat}})
		join.Inputs = append(join.Inputs, flat)
	}
	r.Nodes, r.Output = append(r.Nodes, join), joinedOutputs
}
