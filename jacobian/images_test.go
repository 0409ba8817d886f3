package jacobian_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers/layertest"
	"gorgonia.org/tensor"
)

// TestFixtureImages: Jacobians and kernels of convolutional networks, by both
// algorithms.
func TestFixtureImages(t *testing.T) {
	for _, name := range []string{"conv_cls", "resnet_cls"} {
		for _, v := range variants {
			t.Run(fmt.Sprint(name, " ", v), func(t *testing.T) {
				a, net := layertest.Images(t, name, v.dt)
				b := graph.NewBuilder(v.dt)
				x := small.Given(b, "X", graph.Convert(a.Dense(t, "X"), v.dt))
				z := small.Given(b, "Z", graph.Convert(a.Dense(t, "Z"), v.dt))
				class := classes(t, a, z.Shape()[0])
				k := jacobian.NTK{Net: net, Dense: v.alg}
				if a.Has("J_X") {
					fixture.Close(t, "J_X", jacobianRows(t, b, k.Rows(b, x)), layertest.Columns(t, net, a.Floats(t, "J_X")), tolerances[v.dt])
				}
				s2 := math.Pow(a.Scalar(t, "sigma0"), 2)
				got := small.Values(t, b, net.Forward(b, x), b.Scale(k.Diag(b, x), s2), b.Scale(b.Transpose(k.Cross(b, x, z, class)), s2), b.Scale(k.Gram(b, z, class), s2))
				for i, key := range []string{"g_X", "Kx", "Kxz", "Kz"} {
					fixture.Close(t, key, got[i], a.Floats(t, key), tolerances[v.dt])
				}
			})
		}
	}
}

// TestStructuredImages: no parameter of the networks falls back to dense rows, which
// would show as many more steps for more examples.
func TestStructuredImages(t *testing.T) {
	for _, name := range []string{"conv_cls", "resnet_cls"} {
		_, net := layertest.Images(t, name, tensor.Float64)
		steps := func(examples int) int {
			b := graph.NewBuilder(tensor.Float64)
			x := b.Input("x", examples, 3, 8, 8)
			p, err := graph.Compile(b, []*graph.Node{jacobian.NTK{Net: net}.Diag(b, x)}, graph.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, each := p.Steps()
			return each
		}
		if two, five := steps(2), steps(5); two != five {
			t.Errorf("%s: %d steps for 2 examples, %d for 5", name, two, five)
		}
	}
}
