package onnx

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/raw"
	"github.com/go-valla/valla/layers"
)

// Places is a network that ends in one dense layer at each place, such as the pixels of an image or the words of a text: a
// convolution of 1×1, or a dense layer over the last axis.
type Places struct {
	Trunk *File // what comes before that layer: its outputs are the features of all places, flattened
	// Shape is the shape of the features of one example: [E,…] for a convolution and […,E] for a dense layer.
	Shape []int
	First bool // the features are the first axis

	weight, bias *Tensor // [C,E] if First or turned, otherwise [E,C]; bias may be nil
	turned       bool    // see weight
}

// ReadPlaces reads the ONNX file at path, as [Read], and divides it before its last layer.
func ReadPlaces(path string, o Options) (*Places, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := decodePlaces(data, filepath.Dir(path), o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// decodePlaces is ReadPlaces of a ModelProto.
func decodePlaces(data []byte, dir string, o Options) (*Places, error) {
	r, err := readModel(data, dir, o)
	if err != nil {
		return nil, err
	}
	p, err := r.cut()
	if err != nil {
		return nil, err
	}
	if p.Trunk, err = r.file(); err != nil {
		return nil, err
	}
	if p.Shape, err = layers.OutputShape(p.Trunk.Form.Layers[:1], p.Trunk.Form.Input...); err != nil {
		return nil, err
	}
	if n := len(p.Shape); n < 2 {
		return nil, fmt.Errorf("features of shape %v before the last layer, expected several places", p.Shape)
	}
	return p, nil
}

// cut makes the input of the last layer the output of the graph, and returns that layer.
func (r *reader) cut() (*Places, error) {
	copies := []string{"Identity"}
	n, ok := r.makes(r.Output, copies)
	p := &Places{}
	if ok && n.Op == "Add" && len(n.Inputs) == 2 {
		at := slices.IndexFunc(n.Inputs, func(name string) bool { return r.weights[name] != nil })
		if at >= 0 && len(r.weights[n.Inputs[at]].Shape) == 1 {
			p.bias = r.weights[n.Inputs[at]]
			n, ok = r.makes(n.Inputs[1-at], copies)
		}
	}
	if !ok || len(n.Inputs) < 2 || r.weights[n.Inputs[1]] == nil {
		return nil, r.noPlaces()
	}
	p.weight = r.weights[n.Inputs[1]]
	switch {
	case n.Op == "MatMul" && len(p.weight.Shape) == 2:
	case n.Op == "Conv" && p.bias == nil && n.single() && len(p.weight.Shape) > 2 && product(p.weight.Shape[2:]) == 1:
		p.First, p.turned = true, true
		if len(n.Inputs) > 2 {
			if p.bias = r.weights[n.Inputs[2]]; p.bias == nil {
				return nil, r.noPlaces()
			}
		}
	default:
		return nil, r.noPlaces()
	}
	if p.bias != nil && !slices.Equal(p.bias.Shape, []int{p.classes()}) { // Add would broadcast one of them
		return nil, r.noPlaces()
	}
	r.Output = n.Inputs[0]
	return p, nil
}

// classes returns the number C of outputs of the last layer.
func (p *Places) classes() int {
	if p.turned {
		return p.weight.Shape[0]
	}
	return p.weight.Shape[1]
}

// single reports whether a convolution with a kernel of one element takes each place alone.
func (n Node) single() bool {
	other := func(v int64) bool { return v != 1 }
	pads, strides := n.Attributes["pads"].Ints, n.Attributes["strides"].Ints
	group := n.Attributes["group"].Int
	return !slices.ContainsFunc(pads, func(v int64) bool { return v != 0 }) && !slices.ContainsFunc(strides, other) && group <= 1
}

// makes returns the node that makes a value, behind nodes of the operators past.
func (r *reader) makes(name string, past []string) (n *Node, ok bool) {
	for range r.Nodes {
		at := slices.IndexFunc(r.Nodes, func(n Node) bool { return slices.Equal(n.Outputs, []string{name}) })
		if at < 0 {
			return nil, false
		}
		if n = &r.Nodes[at]; !slices.Contains(past, n.Op) || len(n.Inputs) == 0 {
			return n, true
		}
		name = n.Inputs[0]
	}
	return nil, false
}

func (r *reader) noPlaces() error {
	return fmt.Errorf("the output %q is not that of one dense layer or of one convolution of 1×1 at each place", r.Output)
}

// Count returns the number P of places of an example and the number E of features of each.
func (p *Places) Count() (places, features int) {
	features = p.Shape[len(p.Shape)-1]
	if p.First {
		features = p.Shape[0]
	}
	return product(p.Shape) / features, features
}

// Rows returns the features [N·P,E] of all places of N examples, whose features v [N,Shape…] the trunk gives: the places of
// the first example, row-major, then those of the next.
func (p *Places) Rows(v []float64) []float64 {
	if !p.First {
		return v
	}
	places, features := p.Count()
	out, size := make([]float64, len(v)), places*features
	for i := 0; i < len(v); i += size {
		kernel.Transpose(out[i:i+size], features, v[i:i+size], places, features, places)
	}
	return out
}

// Head returns the last layer as a network of the features of one place.
func (p *Places) Head(dt tensor.Dtype) (layers.Form, layers.Sequential, error) {
	_, e := p.Count()
	v, err := raw.Dense(p.weight.Type, p.weight.Shape, p.weight.Data)
	if err != nil {
		return nil, nil, err
	}
	w := graph.Floats(v)
	c := len(w) / e
	if p.turned {
		w = make([]float64, c*e)
		kernel.Transpose(w, c, graph.Floats(v), e, c, e)
	}
	b := make([]float64, c)
	if p.bias != nil {
		if v, err = raw.Dense(p.bias.Type, p.bias.Shape, p.bias.Data); err != nil {
			return nil, nil, err
		}
		b = graph.Floats(v)
	}
	form := layers.SequentialForm{Input: []int{e}, Layers: layers.Layers{layers.DenseLayer{Name: "head", Outputs: c}}}
	net, err := layers.Build(form, dt, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, nil, err
	}
	head := net[0].(layers.Dense)
	for i, x := range w {
		head.W.Set(i, x)
	}
	for i, x := range b {
		head.B.Set(i, x)
	}
	return form, net, nil
}
