package laplace

import (
	"fmt"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// Weights choose which of a network's parameters are uncertain, at least one; the
// others stay as they are. nil stands for [All]. Any function of this form will do.
type Weights func(net layers.Network) ([]*graph.Param, error)

// All chooses every parameter.
func All(net layers.Network) ([]*graph.Param, error) {
	if p := net.Params(); len(p) > 0 {
		return p, nil
	}
	return nil, fmt.Errorf("laplace: the network has no parameters")
}

// LastLayer chooses the parameters of the last layer, see [layers.LastLayer].
func LastLayer(net layers.Network) ([]*graph.Param, error) {
	if p := layers.LastLayer(net); len(p) > 0 {
		return p, nil
	}
	return All(net)
}

// Named chooses parameters by their names, in which * stands for any letters.
func Named(names ...string) Weights {
	return func(net layers.Network) ([]*graph.Param, error) {
		if len(names) == 0 {
			return nil, fmt.Errorf("laplace: no parameters are named; the network has %q", paramNames(net))
		}
		chosen, err := layers.Choose(net, names...)
		if err != nil {
			return nil, fmt.Errorf("laplace: %w", err)
		}
		return chosen, nil
	}
}

// paramNames lists the names of a network's parameters.
func paramNames(net layers.Network) (names []string) {
	for _, p := range net.Params() {
		names = append(names, p.Name)
	}
	return names
}
