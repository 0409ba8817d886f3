package jacobian_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Along and Directional give J(x) v of every network, for one direction, for as many as
// outputs and for more, by forward and by reverse passes.
func TestAlong(t *testing.T) {
	const batch, outputs = 3, 2
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, e := range examples() {
			p := newProblem(e.make, dt, batch, 1, outputs)
			size, j := layers.Count(p.net), p.rows(t, p.x, dense)
			for _, k := range []int{1, outputs, outputs + 3} {
				v := leaf(rand.New(rand.NewPCG(uint64(k), 2)), "v", dt, k, size)
				var want []float64
				for row := range batch * outputs {
					for d := range k {
						want = append(want, dot(j[row*size:(row+1)*size], v.Floats()[d*size:(d+1)*size]))
					}
				}
				b := graph.NewBuilder(dt)
				x := b.Param(p.x)
				got := compile(t, b, jacobian.Along(b, p.net, x, p.net.Forward(b, x), v.Value)).run(t)[0]
				what := fmt.Sprint(e.name, ", ", dt, ", ", k, " directions")
				near(t, what, got, want, tolerances[dt])
				if e.name == "examples compared with each other" || e.name == "batch mean taken away" {
					continue // whose batches must be whole
				}
				f, err := jacobian.NewDirectional(p.net, p.x.Value.Shape()[1:], v.Value, 2, 1<<30)
				if err != nil || f.Outputs() != outputs {
					t.Fatalf("%s: %v", what, err)
				}
				got = got[:0]
				if err := f.Each(t.Context(), p.x.Value, func(_ int, _, along []float64) error { got = append(got, along...); return nil }); err != nil {
					t.Fatal(err)
				}
				near(t, what+" in batches", got, want, tolerances[dt])
			}
		}
	}
}

// Parts share the elements of a row.
func TestParts(t *testing.T) {
	net, err := layers.MLP{Inputs: 2, Hidden: []int{3}, Outputs: 1, Activation: "tanh"}.New(tensor.Float32, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	v := leaf(rand.New(rand.NewPCG(2, 2)), "v", tensor.Float32, 2, layers.Count(net)).Value
	parts, at := jacobian.Parts(net, v, 1), layers.Count(net)
	for i, part := range parts {
		if !part.Shape().Eq(net.Params()[i].Value.Shape()) {
			t.Errorf("part %d has shape %v", i, part.Shape())
		}
		part.Float32s()[0] = 42
		if v.Float32s()[at] != 42 {
			t.Errorf("part %d is a copy", i)
		}
		at += part.Shape().TotalSize()
	}
}

// Too little memory, a wrong network, no inputs and an ended context are errors.
func TestDirectionalErrors(t *testing.T) {
	p := newProblem(examples()[0].make, tensor.Float64, 3, 1, 2)
	v := leaf(rand.New(rand.NewPCG(2, 2)), "v", tensor.Float64, 4, layers.Count(p.net)).Value
	var refused *graph.MemoryError
	if _, err := jacobian.NewDirectional(p.net, []int{inputs}, v, 8, 1); !errors.As(err, &refused) {
		t.Errorf("a byte of memory: error %v", err)
	}
	cube := network{forward: func(b *builder, x *node) *node { return b.Reshape(p.net.Forward(b, x), x.Shape()[0], 2, 1) }, params: p.net.params}
	if _, err := jacobian.NewDirectional(cube, []int{inputs}, v, 8, 1<<30); err == nil {
		t.Error("outputs with three axes are taken")
	}
	f, err := jacobian.NewDirectional(p.net, []int{inputs}, v, 8, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	visit := func(int, []float64, []float64) error { return nil }
	if err := f.Each(t.Context(), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(0, inputs)), visit); err == nil {
		t.Error("no inputs are taken")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Each(ended, p.x.Value, visit); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: error %v", err)
	}
	stop := errors.New("stop")
	if err := f.Each(t.Context(), p.x.Value, func(int, []float64, []float64) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v of visit", err)
	}
}
