package onnx

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers"
)

// ClassEnds are the operators that turn logits into probabilities of classes, or into their logarithms.
var ClassEnds = []string{"Softmax", "LogSoftmax", "Sigmoid"}

// Options say how a file becomes a network.
type Options struct {
	// Input is the shape of one example, where the file leaves it open. Of several inputs it is one length, for all open axes.
	Input []int
	// Frozen are the names, in which * stands for any letters, of arrays that are not trained although
	// they are floating-point numbers: the file does not tell a table of fixed positions from a
	// learned one. A name that fits no array is an error.
	Frozen []string
	// Ends are operators, such as [ClassEnds], that are left out where they are the last: the observation model applies them itself.
	Ends []string
	// Outputs are the names of the outputs of the file that are the outputs of the network, one after the other; nil
	// stands for the only output of the file.
	Outputs []string
	// Half takes one half of the outputs alone, such as the means of a network that gives means and then variances.
	Half Half
}

// Half is a half of the outputs of a network.
type Half int

// The halves.
const (
	AllOutputs Half = iota // both halves
	FirstHalf              // the first half
	SecondHalf             // the second half
)

// File is a network that was read, with its weights.
type File struct {
	Form layers.SequentialForm // the network without its weights
	// Buffers are the arrays that are not trained, by their names or because they standardise the inputs, beside
	// the statistics of batch normalisation and the arrays of [Options.Frozen].
	Buffers []string
	Ended   string             // the operator of [Options.Ends] that was left out; "" if there was none
	weights map[string]*Tensor // by the names of the arrays
}

// Read reads the ONNX file at path. Errors are one line: they name the file and, if an operator
// is not supported, the node, the operator and the opset.
func Read(name string, o Options) (*File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := decode(data, filepath.Dir(name), o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Network returns the network with the weights of the file, in the element type dt.
func (f *File) Network(dt tensor.Dtype) (layers.Sequential, error) {
	net, err := layers.Build(f.Form, dt, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range layers.Arrays(net) {
		t := f.weights[p.Name]
		if t == nil {
			continue // cannot be: the form was made of these weights
		}
		v, err := raw.Dense(t.Type, t.Shape, t.Data)
		if err != nil {
			return nil, fmt.Errorf("onnx: array %q: %w", p.Name, err)
		}
		if i, x := graph.FirstNonFinite(v); i >= 0 {
			return nil, fmt.Errorf("onnx: array %q: element %d is %g, expected finite numbers", p.Name, i, x)
		}
		p.Value = graph.Convert(v, dt)
		if i, _ := graph.FirstNonFinite(p.Value); i >= 0 {
			return nil, fmt.Errorf("onnx: array %q: element %d is too large for %v", p.Name, i, dt)
		}
	}
	return net, nil
}

// decode reads a ModelProto.
func decode(data []byte, dir string, o Options) (*File, error) {
	r, err := readModel(data, dir, o)
	if err != nil {
		return nil, err
	}
	return r.file()
}

// readModel reads the graph of a ModelProto.
func readModel(data []byte, dir string, o Options) (*reader, error) {
	model, err := parse(data)
	if err != nil {
		return nil, err
	}
	if !model.has(7) {
		return nil, fmt.Errorf("no ONNX model: there is no graph")
	}
	r := &reader{Graph: Graph{Narrow: true, ExamplesFirst: true}, files: &files{dir: dir, parts: map[part][]byte{}, taken: map[string]int64{}}, o: o, weights: map[string]*Tensor{}, refused: map[string]error{}}
	if r.Opset, err = opset(model); err != nil {
		return nil, err
	}
	g, err := model.message(7)
	if err == nil {
		r.functions, err = readFunctions(model, r.Opset)
	}
	if err != nil {
		return nil, err
	}
	return r, r.read(g)
}

// opset returns the version of ONNX's own operators.
func opset(model fields) (int, error) {
	for i, err := range model.messages(8) {
		if err != nil {
			return 0, err
		}
		if d := i.text(1); d == "" || d == "ai.onnx" {
			if v := i.int(2); v >= minOpset && v <= maxOpset {
				return int(v), nil
			}
			return 0, fmt.Errorf("opset %d, expected %d to %d; export with opset_version=17", i.int(2), minOpset, maxOpset)
		}
	}
	return 0, fmt.Errorf("the model does not name its opset")
}

// reader makes a Graph of a file.
type reader struct {
	Graph
	files   *files             // beside the file
	o       Options            // of Read
	input   []int              // shape of one example, if there is one input
	weights map[string]*Tensor // floating-point initialisers that are arrays
	order   []string           // names of the weights, in the order of the file
	ended   string             // the operator that was left out at the end
	refused map[string]error   // of initialisers and values of nodes, which matter where the output needs them

	functions functions // that nodes may call
	calls     int       // of functions
}

// read reads a GraphProto.
func (r *reader) read(g fields) error {
	if g.has(15) {
		return fmt.Errorf("sparse initialisers are not supported")
	}
	constants, err := r.initialisers(g)
	if err != nil {
		return err
	}
	if err := r.nodes(g, 1, scope{}); err != nil {
		return err
	}
	if err := r.inputs(g, constants); err != nil {
		return err
	}
	return r.outputs(g)
}

// initialisers reads the arrays of the graph. It returns the names of those that are constants:
// integers, and single numbers without a shape.
func (r *reader) initialisers(g fields) (constants map[string]bool, err error) {
	constants = map[string]bool{}
	for m, err := range g.messages(5) {
		if err != nil {
			return nil, err
		}
		t, err := readTensor(m, r.files)
		strange := errors.Is(err, errType) && len(r.refused) < maxRefused
		if err != nil && !strange {
			return nil, err
		}
		if constants[t.Name] || r.weights[t.Name] != nil {
			return nil, fmt.Errorf("two initialisers are called %q", t.Name)
		}
		if strange {
			constants[t.Name], r.refused[t.Name] = true, err
			continue
		}
		if isFloat(t.Type) && len(t.Shape) > 0 && product(t.Shape) > 0 {
			r.weights[t.Name] = t
			r.order = append(r.order, t.Name)
			continue
		}
		constants[t.Name] = true
		r.Constants = append(r.Constants, *t)
	}
	return constants, nil
}

// maxRefused bounds the initialisers and nodes that are kept with their errors.
const maxRefused = 1000

// refusal is the error about a node that is not supported. It matters where the output needs the node.
type refusal struct{ error }

// readNode reads a NodeProto, which may call a function. outer are the attributes of the function whose body has the
// node.
func readNode(m fields, from *files, outer map[string]Attribute, call bool) (Node, error) {
	n := Node{Op: m.text(4), Name: m.text(3), Inputs: m.texts(1), Outputs: m.texts(2)}
	if n.Op == "" {
		return n, fmt.Errorf("%q names no operator", n.Name)
	}
	if domain := m.text(7); domain != "" && domain != "ai.onnx" && !call {
		if n.Op = domain + "::" + n.Op; operators[n.Op] == nil {
			return n, refusal{fmt.Errorf("%q (%s of %s): operators beyond ONNX's own are not supported, unless a package registers them", n.Name, shown(m.text(4)), shown(domain))}
		}
	}
	for a, err := range m.messages(5) {
		if err != nil {
			return n, err
		}
		name := a.text(1)
		if a.has(6) || a.has(11) {
			return n, refusal{fmt.Errorf("%q (%s): graphs inside a node are not supported", n.Name, shown(n.Op))}
		}
		v, err := readAttribute(a, from)
		if ref := a.text(21); ref != "" {
			var given bool
			if v, given = outer[ref]; !given {
				continue
			}
		}
		if err != nil {
			return n, refusal{fmt.Errorf("%q (%s): attribute %q: %w", n.Name, shown(n.Op), name, err)}
		}
		if n.Attributes == nil {
			n.Attributes = map[string]Attribute{}
		}
		n.Attributes[name] = v
	}
	return n, nil
}

func readAttribute(a fields, from *files) (v Attribute, err error) {
	v.Int, v.Text, v.Texts = a.int(3), a.text(4), a.texts(9)
	if f, err := a.floats(2); err != nil {
		return v, err
	} else if len(f) > 0 {
		v.Float = f[len(f)-1]
	}
	if v.Floats, err = a.floats(7); err != nil {
		return v, err
	}
	if v.Ints, err = a.ints(8); err != nil {
		return v, err
	}
	if a.has(5) {
		t, err := a.message(5)
		if err != nil {
			return v, err
		}
		v.Tensor, err = readTensor(t, from)
		return v, err
	}
	return v, nil
}

// prune leaves out what the output does not depend on, and makes each initialiser that is only
// copied by an Identity a parameter of its own: exporters store equal weights once. What is left and cannot be read is an error.
func (r *reader) prune() error {
	needed := map[string]bool{r.Output: true}
	var kept []Node
	for _, n := range slices.Backward(r.Nodes) {
		if !slices.ContainsFunc(n.Outputs, func(name string) bool { return needed[name] }) {
			continue
		}
		if n.Op == "Identity" && len(n.Inputs) == 1 && len(n.Outputs) == 1 && r.weights[n.Inputs[0]] != nil {
			r.weights[n.Outputs[0]] = r.weights[n.Inputs[0]]
			r.order = append(r.order, n.Outputs[0])
			continue
		}
		for _, name := range n.Inputs {
			needed[name] = true
		}
		kept = append(kept, n)
	}
	slices.Reverse(kept)
	r.Nodes = kept
	r.order = slices.DeleteFunc(r.order, func(name string) bool { return !needed[name] })
	r.Constants = slices.DeleteFunc(r.Constants, func(c Tensor) bool { return !needed[c.Name] })
	for _, name := range slices.Sorted(maps.Keys(r.refused)) {
		if needed[name] {
			return r.refused[name]
		}
	}
	return nil
}

// settings are the numbers of those inputs of operators that are settings, not weights, although
// the file may hold them as floating-point arrays.
var settings = map[string][]int{"Clip": {1, 2}, "Pow": {1}, "Pad": {1, 2}, "Resize": {1, 2, 3}, "Range": {0, 1, 2}, "Where": {0}, "OneHot": {1, 2}, "Dropout": {1}}

// untrained returns the names of the statistics of batch normalisation and of the frozen arrays.
func (r *reader) untrained() (map[string]bool, error) {
	state := map[string]bool{}
	for _, n := range r.Nodes {
		if n.Op == "BatchNormalization" {
			for _, name := range n.Inputs[min(3, len(n.Inputs)):] {
				state[name] = true
			}
		}
	}
	for _, pattern := range r.o.Frozen {
		fits := false
		for name := range r.weights {
			if layers.MatchName(pattern, name) {
				fits, state[name] = true, true
			}
		}
		if !fits {
			return nil, fmt.Errorf("no array of the file fits the frozen name %q", pattern)
		}
	}
	return state, nil
}

// fixed returns the names of the arrays that are settings of operators, or masks.
func (r *reader) fixed() map[string]bool {
	fixed := map[string]bool{}
	for name, t := range r.weights {
		fixed[name] = raw.IsMask(t.Type, t.Data)
	}
	for _, n := range r.Nodes {
		for i, name := range n.Inputs {
			fixed[name] = fixed[name] || slices.Contains(settings[n.Op], i)
		}
	}
	return fixed
}

// file prunes the graph and sorts the initialisers into parameters, state and constants.
func (r *reader) file() (*File, error) {
	if err := r.prune(); err != nil {
		return nil, err
	}
	r.tie()
	state, err := r.untrained()
	if err != nil {
		return nil, err
	}
	f, buffers, fixed := &File{weights: map[string]*Tensor{}, Ended: r.ended}, r.buffers(), r.fixed()
	for _, name := range r.order {
		t := r.weights[name]
		if fixed[name] {
			c := *t
			c.Name = name
			r.Constants = append(r.Constants, c)
			continue
		}
		if buffers[name] && !state[name] {
			state[name], f.Buffers = true, append(f.Buffers, name)
		}
		r.Arrays = append(r.Arrays, Array{Name: name, Shape: t.Shape, State: state[name]})
		f.weights[name] = t
	}
	if r.Inputs != nil {
		r.input = []int{r.Graph.width()}
	}
	f.Form = layers.SequentialForm{Input: r.input, Layers: layers.Layers{r.Graph}}
	out, err := layers.OutputShape(f.Form.Layers, r.input...)
	if err != nil {
		return nil, err
	}
	if len(out) != 1 {
		f.Form.Layers = append(f.Form.Layers, layers.Flatten{})
	}
	return f, layers.Check(f.Form)
}
