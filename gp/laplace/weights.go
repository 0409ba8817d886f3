package laplace

import (
	"fmt"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// chooser choose which of a network's parameters are uncertain, at least one; the
// others stay as they are. nil stands for allParams. Any function of this form will do.
type chooser func(net layers.Network) ([]*graph.Param, error)

// allParams chooses every parameter.
func allParams(net layers.Network) ([]*graph.Param, error) {
	if p := net.Params(); len(p) > 0 {
		return p, nil
	}
	return nil, fmt.Errorf("laplace: the network has no parameters")
}

// lastLayerParams chooses the parameters of the last layer, see [layers.LastLayer].
func lastLayerParams(net layers.Network) ([]*graph.Param, error) {
	if p := layers.LastLayer(net); len(p) > 0 {
		return p, nil
	}
	return allParams(net)
}

// named chooses parameters by their names, in which * stands for any letters.
func named(names ...string) chooser {
	return func(net layers.Network) ([]*graph.Param, error) {
		if len(names) == 0 {
			return nil, fmt.Errorf("laplace: no parameters are named; the network has %q", layers.Names(net.Params()))
		}
		chosen, err := layers.Choose(net, names...)
		if err != nil {
			return nil, fmt.Errorf("laplace: %w", err)
		}
		return chosen, nil
	}
}
