package valla

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

func TestZZ(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	spec, _ := layers.NewResNet(20, layers.Projection, 10)
	net, _ := spec.New(tensor.Float32, rng)
	images := func(n int) *tensor.Dense {
		x := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(n, 3, 32, 32))
		for i := range x.Float32s() {
			x.Float32s()[i] = float32(rng.NormFloat64())
		}
		return x
	}
	for _, v := range [][3]int{{100, 100, 3}, {100, 100, 10}, {100, 10, 3}, {50, 100, 3}, {100, 100, 2}} {
		z := images(v[1])
		class := make([]int, v[1])
		for i := range class {
			class[i] = i % 10
		}
		for _, fixed := range []bool{false, true} {
			layer, err := New(jacobian.NTK{Net: net}, z, class)
			if err != nil {
				t.Fatal(err)
			}
			n := &natural{f: Natural{Net: net, Layer: layer, Likelihood: likelihood.Softmax{}, FixInducing: fixed}, outputs: 10, dt: tensor.Float32, alpha: 1}
			if v[2] < 10 {
				n.picks = n.newPicks(v[2])
				n.picks.local, _ = newLocal(n.f.Likelihood, 1, v[0], 10, n.dt)
			}
			n.inputs = &inputs{ask: request{rng: rng}}
			g, err := n.inputsGraph(images(v[0]).Shape(), v[0])
			if err != nil {
				t.Fatal(err)
			}
			p, err := graph.Compile(g.b, []*graph.Node{g.out}, g.options())
			if err != nil {
				t.Fatal(err)
			}
			a, e := p.Flops()
			fmt.Println(v, "fixed", fixed, "Gflop", a/1e9, e/1e9, "MB", p.Bytes()/1e6)
		}
	}
	_ = time.Now
}
