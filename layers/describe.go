package layers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
)

// Describer is a network that can say which layers it was made of. A network that is its
// own description, a [Layer], need not be one.
type Describer interface {
	// Describe lists the layers, or says which setting a description cannot hold.
	Describe() (Layers, error)
}

// ErrNotDescribed is the kind of error that [Describe] returns for a network with a part
// that is neither a [Describer] nor a [Layer].
var ErrNotDescribed = errors.New("does not say which layers it is made of")

// Describe returns the form of a network for examples of the given shape: the reverse of
// [Build], for networks that were put together in Go. It fails with one line where the
// form would build another network: where a part is no [Describer], where layers share
// parameters, or where the layers do not fit the shape. Weights are not part of a form.
func Describe(net Network, input ...int) (SequentialForm, error) {
	list, err := describe(net)
	if err != nil {
		return SequentialForm{}, fmt.Errorf("layers: describing a network: %w", err)
	}
	f := SequentialForm{Input: slices.Clone(input), Layers: list}
	m := counter()
	if _, err := m.form(f); err != nil {
		return SequentialForm{}, err
	}
	if err := m.sameArrays(Arrays(net)); err != nil {
		return SequentialForm{}, fmt.Errorf("layers: describing a network: %w", err)
	}
	return f, nil
}

func describe(net Network) (Layers, error) {
	switch n := net.(type) {
	case Sequential:
		return describeAll(n)
	case Residual:
		return describeResidual(n)
	case Ensemble:
		return describeEnsemble(n)
	case Dense:
		return Layers{DenseLayer{Name: layerName(n.W), Outputs: n.W.Value.Shape()[1]}}, nil
	case Describer:
		return n.Describe()
	case Layer:
		return Layers{n}, nil
	}
	return nil, fmt.Errorf("a %T %w", net, ErrNotDescribed)
}

// sameArrays returns an error unless m has counted arrays of these names and shapes.
func (m *Maker) sameArrays(arrays []*graph.Param) error {
	for _, p := range arrays {
		if got := m.shapes[p.Name]; !slices.Equal(got, p.Value.Shape()) {
			return fmt.Errorf("array %q has shape %v, by the description %v", p.Name, p.Value.Shape(), got)
		}
	}
	if len(arrays) != len(m.shapes) {
		return fmt.Errorf("there are %d arrays, by the description %d", len(arrays), len(m.shapes))
	}
	return nil
}

// layerName is the name of the layer whose weights are p.
func layerName(p *graph.Param) string { return strings.TrimSuffix(p.Name, ".weight") }

// describeAll describes networks that are applied one after the other.
func describeAll(list []Network) (Layers, error) {
	var all Layers
	for i, n := range list {
		part, err := describe(n)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i+1, err)
		}
		all = append(all, part...)
	}
	return all, nil
}

// describeResidual describes a network with a shortcut.
func describeResidual(r Residual) (Layers, error) {
	inner, err := describe(r.Inner)
	if err != nil || r.Shortcut == nil {
		return Layers{ResidualLayer{Inner: inner}}, err
	}
	short, err := describe(r.Shortcut)
	return Layers{ResidualLayer{Inner: inner, Shortcut: short}}, err
}

// Describe implements Describer.
func (n batchNorm) Describe() (Layers, error) {
	if n.eps == 0 || n.momentum == 0 {
		return nil, fmt.Errorf("batch norm %q: eps %g and momentum %g; a description holds no zeros", layerName(n.gamma), n.eps, n.momentum)
	}
	return Layers{BatchNorm{Name: layerName(n.gamma), Eps: n.eps, Momentum: n.momentum}}, nil
}
