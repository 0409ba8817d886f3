package valla

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers/layertest"
	"gorgonia.org/tensor"
)

// TestFixtureImages checks every quantity of the loss and its gradients on
// convolutional networks.
func TestFixtureImages(t *testing.T) {
	for _, name := range []string{"conv_cls", "resnet_cls"} {
		for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-8, tensor.Float32: 1e-3} {
			t.Run(fmt.Sprint(name, " ", dt), func(t *testing.T) {
				a, net := layertest.Images(t, name, dt)
				p := &problem{a: a, dt: dt, net: net, x: graph.Convert(a.Dense(t, "X"), dt), lik: likelihood.Softmax{}}
				_, shape := a.F64(t, "g_X")
				p.y = small.OneHot(a.Ints(t, "y"), shape[1], dt)
				var err error
				if p.layer, err = NewLayer(jacobian.NTK{Net: net}, graph.Convert(a.Dense(t, "Z"), dt), a.Ints(t, "zc")); err != nil {
					t.Fatal(err)
				}
				p.setState(t)
				p.checkLoss(t, "", "a1", 1, tol)
			})
		}
	}
}
