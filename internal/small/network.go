package small

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Dense returns the layer with PyTorch's weights NAME.weight [out,in] and NAME.bias [out].
func Dense(t testing.TB, a fixture.Arrays, name string, dt tensor.Dtype) layers.Dense {
	t.Helper()
	w, s := a.F64(t, name+".weight")
	turned := make([]float64, len(w))
	kernel.Transpose(turned, s[0], w, s[1], s[0], s[1])
	return layers.Dense{
		W: graph.NewParam(name+".weight", turned, dt, s[1], s[0]),
		B: graph.NewParam(name+".bias", a.Floats(t, name+".bias"), dt, s[0]),
	}
}

// Published returns the tanh network with PyTorch's weights 0.weight [out,in], 0.bias [out], 2.weight, ….
func Published(t testing.TB, a fixture.Arrays, dt tensor.Dtype) (net layers.Sequential) {
	t.Helper()
	for i := 0; a.Has(fmt.Sprint(i, ".weight")); i += 2 {
		if i > 0 {
			net = append(net, layers.Activation("tanh"))
		}
		net = append(net, Dense(t, a, fmt.Sprint(i), dt))
	}
	return net
}

// Numbered returns the network with the weights W1 [in,out], b1 [out], W2, … and an activation between
// its layers.
func Numbered(t testing.TB, a fixture.Arrays, act layers.Activation, dt tensor.Dtype) (net layers.Sequential) {
	t.Helper()
	param := func(letter string, i int) *graph.Param {
		name := fmt.Sprint(letter, i)
		return &graph.Param{Name: name, Value: graph.Convert(a.Dense(t, name), dt)}
	}
	for i := 1; a.Has(fmt.Sprint("W", i)); i++ {
		if i > 1 {
			net = append(net, act)
		}
		net = append(net, layers.Dense{W: param("W", i), B: param("b", i)})
	}
	return net
}
