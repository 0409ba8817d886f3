package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
)

// Activation is a pointwise function, named as in [Activations]. In a list of [Layers] its
// name is its kind.
type Activation string

var activations = map[Activation]func(*graph.Builder, *graph.Node) *graph.Node{
	"tanh":       (*graph.Builder).Tanh,
	"relu":       (*graph.Builder).ReLU,
	"erf":        (*graph.Builder).Erf,
	"softplus":   (*graph.Builder).Softplus,
	"sigmoid":    (*graph.Builder).Sigmoid,
	"sin":        (*graph.Builder).Sin,
	"gelu":       (*graph.Builder).GELU,
	"silu":       (*graph.Builder).SiLU,
	"mish":       (*graph.Builder).Mish,
	"elu":        func(b *graph.Builder, x *graph.Node) *graph.Node { return b.ELU(x, 1) },
	"selu":       (*graph.Builder).SELU,
	"leaky-relu": func(b *graph.Builder, x *graph.Node) *graph.Node { return b.LeakyReLU(x, 0.01) },
	"hard-swish": (*graph.Builder).HardSwish,
}

// Activations lists the known names in alphabetical order.
func Activations() []Activation { return slices.Sorted(maps.Keys(activations)) }

// Check returns an error that lists the known names if a is not a known name.
func (a Activation) Check() error {
	if err := a.check(); err != nil {
		return fmt.Errorf("layers: %w", err)
	}
	return nil
}

func (a Activation) check() error {
	if _, ok := activations[a]; ok {
		return nil
	}
	var names []string
	for _, n := range Activations() {
		names = append(names, string(n))
	}
	return fmt.Errorf("unknown activation %q; known are %s", string(a), strings.Join(names, ", "))
}

func init() {
	for _, a := range Activations() {
		layerKinds.register(string(a), nil, func(fields []byte) (Layer, error) {
			_, err := decodeStrict[struct{}](fields)
			return a, err
		})
	}
}

// Make implements Layer.
func (a Activation) Make(_ *Maker, in []int) (Network, []int, error) { return a, in, a.check() }

// Forward implements Network.
func (a Activation) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if err := a.Check(); err != nil {
		return b.Failf("%w", err)
	}
	return activations[a](b, x)
}

// Params implements Network: there are none.
func (a Activation) Params() []*graph.Param { return nil }

// Pointwise implements Site: an activation is a function of each element alone.
func (a Activation) Pointwise() bool { return true }
