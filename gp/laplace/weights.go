package laplace

import (
	"fmt"
	"slices"

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

// LastLayer chooses the parameters of the last network with any in a
// layers.Sequential, itself taken apart if it is one.
func LastLayer(net layers.Network) ([]*graph.Param, error) {
	switch n := net.(type) {
	case layers.Sequential:
		for _, l := range slices.Backward(n) {
			if len(l.Params()) > 0 {
				return LastLayer(l)
			}
		}
	case layers.Residual:
		return LastLayer(n.Inner)
	}
	return All(net)
}

// Named chooses parameters by their names.
func Named(names ...string) Weights {
	return func(net layers.Network) ([]*graph.Param, error) {
		var chosen []*graph.Param
		for _, name := range names {
			i := slices.IndexFunc(net.Params(), func(p *graph.Param) bool { return p.Name == name })
			if i < 0 || slices.Contains(chosen, net.Params()[i]) {
				return nil, fmt.Errorf("laplace: parameter %q is unknown or named twice; the network has %q", name, paramNames(net))
			}
			chosen = append(chosen, net.Params()[i])
		}
		if len(chosen) == 0 {
			return nil, fmt.Errorf("laplace: no parameters are named; the network has %q", paramNames(net))
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

// part is a network of whose parameters only some count.
type part struct {
	layers.Network
	chosen []*graph.Param
}

func (p part) Params() []*graph.Param { return p.chosen }
