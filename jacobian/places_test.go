package jacobian_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// convolved has convolutions with few places, whose rows are not formed where there are six outputs:
// one place, four places, and the same filters with four places and with one, of which rows are formed
// for the product of the four with themselves only.
var convolved = map[string]example{
	"one place":   {"", true, onImages(3, func(m *maker) formula { return m.conv("c", 2, 3, 4, 1, 0).Forward })},
	"four places": {"", true, onImages(32, func(m *maker) formula { return m.conv("c", 2, 8, 3, 2, 1).Forward })},
	"filters used twice": {"", false, onImages(2, func(m *maker) formula {
		first, again := m.conv("c", 2, 2, 3, 2, 1), m.conv("d", 2, 2, 4, 4, 0)
		second := first
		second.stride, second.padding = 4, 1
		return func(b *builder, x *node) *node {
			y := b.Tanh(first.Forward(b, x))
			return b.Add(again.Forward(b, x), second.Forward(b, b.Pad(b.Pad(y, 2, 0, 4), 3, 0, 4)))
		}
	})},
}

// TestPlaces compares the kernels of convolutions with few places with the kernels of dense rows,
// with the gradients by the inducing inputs. Rows of filters are not formed.
func TestPlaces(t *testing.T) {
	for name, e := range convolved {
		t.Run(name, func(t *testing.T) {
			p := newProblem(e.make, tensor.Float64, 3, 4, 6)
			want, got := p.everything(t, dense).run(t), p.everything(t, factored).run(t)
			for i, what := range []string{"Diag", "Cross", "Gram", "sum", "gradient"} {
				near(t, what, got[i], want[i], 1e-12)
			}
			b := graph.NewBuilder(p.dt)
			k := jacobian.NTK{Net: p.net}
			x, z := b.Param(p.x), b.Param(p.z)
			for i, n := range []*node{k.Variances(b, x), k.Diag(b, x), k.Cross(b, x, z, p.class)} {
				for _, a := range graph.Ancestors(n) {
					if _, formed := graph.FilterRows(a); formed && e.factored {
						t.Errorf("kernel %d forms the rows %v", i, a.Shape())
					}
				}
			}
		})
	}
}

// TestVariances compares them with the diagonals of Diag, and their gradients.
func TestVariances(t *testing.T) {
	check := func(t rapid.TB, net network, c int) {
		for _, alg := range []bool{factored, dense} {
			b := graph.NewBuilder(tensor.Float64)
			k, x := jacobian.NTK{Net: net, Dense: alg}, b.Param(leaf(rand.New(rand.NewPCG(1, 2)), "X", tensor.Float64, 3, inputs))
			var nodes []*node
			for i, v := range []*node{k.Variances(b, x), b.Diag(k.Diag(b, x))} {
				weights := b.Const(fmt.Sprint("weights ", i), fixture.Normal(rand.New(rand.NewPCG(5, 6)), 3*c), 3, c)
				nodes = append(nodes, v, graph.Grad(b, b.Sum(b.Mul(v, weights)), x)[0])
			}
			v := compile(t, b, nodes...).run(t)
			near(t, "variances", v[0], v[2], 1e-12)
			near(t, "gradient", v[1], v[3], 1e-11)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(1, 4).Draw(t, "outputs")
		check(t, drawNetwork(t, c), c)
	})
	for _, e := range convolved {
		check(t, build(e.make, tensor.Float64, 6), 6)
	}
}
