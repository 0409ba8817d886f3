// Package parts registers a layer, a form of network and an operator of ONNX models with packages of another
// module. A program that imports this package has all three.
package parts

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

func init() {
	layers.RegisterLayer[Gain]("gain")
	layers.Register[Funnel]("funnel")
}

// Gain is a layer that multiplies each feature by a weight, which is 1 at first.
type Gain struct{}

// Kind implements layers.Layer.
func (Gain) Kind() string { return "gain" }

// Make implements layers.Layer.
func (Gain) Make(m *layers.Maker, in []int) (layers.Network, []int, error) {
	if len(in) != 1 {
		return nil, nil, fmt.Errorf("inputs of shape %v, expected vectors [D]", in)
	}
	return gain{m.Param(m.Name("", "gain")+".weight", func(*rand.Rand) float64 { return 1 }, in[0])}, in, nil
}

type gain struct{ w *graph.Param }

func (g gain) Params() []*graph.Param { return []*graph.Param{g.w} }

func (g gain) Forward(b *graph.Builder, x *graph.Node) *graph.Node { return b.Mul(x, b.Param(g.w)) }

// Funnel is a form of network: dense layers, each of half the width of the layer before, with a Gain in front and
// the operator swish between the layers.
type Funnel struct {
	Inputs int `json:"inputs"` // width of the inputs
	Widest int `json:"widest"` // width of the first dense layer
}

// Kind implements layers.Form.
func (Funnel) Kind() string { return "funnel" }

// InputShape implements layers.Form.
func (f Funnel) InputShape() []int { return []int{f.Inputs} }

// OutputSize implements layers.Form.
func (Funnel) OutputSize() int { return 1 }

// String implements layers.Form.
func (f Funnel) String() string { return fmt.Sprintf("funnel of %d", f.Widest) }

// Structure implements layers.Form.
func (f Funnel) Structure() (layers.Layers, error) {
	if f.Inputs < 1 || f.Widest < 2 {
		return nil, errors.New("a funnel has inputs, and a width of two or more")
	}
	all := layers.Layers{Gain{}}
	for n := f.Widest; n > 1; n /= 2 {
		all = append(all, layers.DenseLayer{Outputs: n}, swished)
	}
	return append(all, layers.DenseLayer{Outputs: 1}), nil
}

// New implements layers.Form.
func (f Funnel) New(dt tensor.Dtype, rng *rand.Rand) (layers.Sequential, error) {
	return layers.Build(f, dt, rng)
}
