package onnx

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// A file may define operators as functions, whose bodies are nodes. A call of a function becomes the nodes of its
// body, with names of their own.

// Bounds for functions that call functions.
const (
	maxDepth = 32
	maxNodes = 1 << 18
)

// functions are the functions of a model by domain, name and overload.
type functions map[string]fields

// functionKey names a function or the function that a node calls.
func functionKey(domain, name, overload string) string {
	if domain == "ai.onnx" {
		domain = ""
	}
	return strings.Join([]string{domain, name, overload}, "\x00")
}

// readFunctions returns the functions of a ModelProto with the given opset.
func readFunctions(model fields, version int) (functions, error) {
	all := functions{}
	for f, err := range model.messages(25) {
		if err != nil {
			return nil, err
		}
		for i, err := range f.messages(9) {
			if err != nil {
				return nil, err
			}
			if d := i.text(1); (d == "" || d == "ai.onnx") && int(i.int(2)) != version {
				return nil, fmt.Errorf("the function %s has the opset %d, the model %d, expected one opset", shown(f.text(1)), i.int(2), version)
			}
		}
		key := functionKey(f.text(10), f.text(1), f.text(13))
		if all[key] != nil {
			return nil, fmt.Errorf("two functions are called %s", shown(f.text(1)))
		}
		all[key] = f
	}
	return all, nil
}

// nodes appends the nodes of a graph, or of a function's body, to the reader's.
func (r *reader) nodes(of fields, num protowire.Number, s scope) error {
	at := 0
	for m, err := range of.messages(num) {
		at++
		if err == nil {
			err = r.node(m, s)
		}
		if err == nil {
			continue
		}
		err = fmt.Errorf("node %d: %w", at, err)
		if !errors.As(err, new(refusal)) || len(r.refused) >= maxRefused {
			return err
		}
		for _, name := range m.texts(2) {
			r.refused[s.outside(name)] = err
		}
	}
	return nil
}

// scope is where a node stands: the graph of the model, or a call of a function.
type scope struct {
	depth      int                  // of calls
	prefix     string               // of the names inside a function
	names      map[string]string    // the values of a caller by the names inside the function
	attributes map[string]Attribute // of the call
}

// outside returns the name of a value in the whole graph.
func (s scope) outside(name string) string {
	if out, ok := s.names[name]; ok {
		return out
	}
	if name == "" || s.depth == 0 {
		return name
	}
	return s.prefix + name
}

// node appends a node, or the nodes of the function that the node calls.
func (r *reader) node(m fields, s scope) error {
	f, call := r.functions[functionKey(m.text(7), m.text(4), m.text(8))]
	n, err := readNode(m, r.files, s.attributes, call)
	if err != nil {
		return err
	}
	for i, name := range n.Inputs {
		n.Inputs[i] = s.outside(name)
	}
	for i, name := range n.Outputs {
		n.Outputs[i] = s.outside(name)
	}
	if len(r.Nodes) >= maxNodes {
		return fmt.Errorf("more than %d nodes", maxNodes)
	}
	if !call {
		n.Name = s.prefix + n.Name
		r.Nodes = append(r.Nodes, n)
		return nil
	}
	if s.depth >= maxDepth {
		return fmt.Errorf("the function %s: more than %d calls inside each other", shown(n.Op), maxDepth)
	}
	if err := r.call(n, f, s.depth+1); err != nil {
		return fmt.Errorf("the function %s: %w", shown(n.Op), err)
	}
	return nil
}

// call appends the nodes of a function f that n calls.
func (r *reader) call(n Node, f fields, depth int) error {
	r.calls++
	s := scope{depth: depth, prefix: fmt.Sprintf("%s #%d/", n.Op, r.calls), names: map[string]string{}, attributes: map[string]Attribute{}}
	if r.calls > maxNodes {
		return fmt.Errorf("more than %d calls", maxNodes)
	}
	inputs, outputs := f.texts(4), f.texts(5)
	if len(n.Inputs) > len(inputs) || len(n.Outputs) > len(outputs) {
		return fmt.Errorf("%d inputs and %d outputs, expected at most %d and %d", len(n.Inputs), len(n.Outputs), len(inputs), len(outputs))
	}
	for i, name := range inputs {
		s.names[name] = ""
		if i < len(n.Inputs) {
			s.names[name] = n.Inputs[i]
		}
	}
	for i, name := range outputs {
		if i < len(n.Outputs) && n.Outputs[i] != "" {
			if from, input := s.names[name]; input { // an input that is returned
				r.Nodes = append(r.Nodes, Node{Op: "Identity", Inputs: []string{from}, Outputs: []string{n.Outputs[i]}})
				continue
			}
			s.names[name] = n.Outputs[i]
		}
	}
	for a, err := range f.messages(11) {
		if err != nil {
			return err
		}
		if s.attributes[a.text(1)], err = readAttribute(a, r.files); err != nil {
			return err
		}
	}
	for name, a := range n.Attributes {
		s.attributes[name] = a
	}
	return r.nodes(f, 7, s)
}
