package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
)

// Activation is a pointwise function, named as in [Activations].
type Activation string

var activations = map[Activation]func(*graph.Builder, *graph.Node) *graph.Node{
	"tanh":     (*graph.Builder).Tanh,
	"relu":     (*graph.Builder).ReLU,
	"erf":      (*graph.Builder).Erf,
	"softplus": (*graph.Builder).Softplus,
	"sigmoid":  (*graph.Builder).Sigmoid,
	"sin":      (*graph.Builder).Sin,
}

// Activations lists the known names in alphabetical order.
func Activations() []Activation { return slices.Sorted(maps.Keys(activations)) }

// Check returns an error that lists the known names if a is not one of them.
func (a Activation) Check() error {
	if _, ok := activations[a]; ok {
		return nil
	}
	var names []string
	for _, n := range Activations() {
		names = append(names, string(n))
	}
	return fmt.Errorf("layers: unknown activation %q; known are %s", string(a), strings.Join(names, ", "))
}

// Forward implements Network.
func (a Activation) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if err := a.Check(); err != nil {
		return b.Fail(err)
	}
	return activations[a](b, x)
}

// Params implements Network: there are none.
func (a Activation) Params() []*graph.Param { return nil }
