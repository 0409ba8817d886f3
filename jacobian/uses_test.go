package jacobian_test

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// repeatedly applies the same weights and bias n times.
type repeatedly struct {
	layers.Dense
	n int
}

func (r repeatedly) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	for range r.n {
		x = b.Tanh(r.Dense.Forward(b, x))
	}
	return x
}

// TestManyUses: a kernel of parameters that are used n times has a number of nodes that is linear in n, and
// the values of the dense rows.
func TestManyUses(t *testing.T) {
	count := func(n int) int {
		net := repeatedly{layers.NewDense("layer", 2, 2, tensor.Float64, rand.New(rand.NewPCG(1, 2))), n}
		b := graph.NewBuilder(tensor.Float64)
		x := b.Const("x", []float64{1, -.5, .3, 2, -1, .7}, 3, 2)
		k := jacobian.NTK{Net: net}
		fast := k.Variances(b, x)
		nodes := len(b.Graph().AllNodes())
		if n < 20 {
			k.Dense = true
			v := compile(t, b, fast, k.Variances(b, x)).run(t)
			near(t, "variances", v[0], v[1], 1e-12)
		}
		return nodes
	}
	few, many := count(10), count(10*20)
	if many > 25*few {
		t.Errorf("%d nodes for 10 uses, %d for 200", few, many)
	}
}
