package valla

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// A large network is predicted with a few inputs at a time; what an input gets does not depend on
// those beside it.
func TestLargePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of convolutions")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	spec, err := layers.NewResNet(20, layers.Projection, 3)
	if err != nil {
		t.Fatal(err)
	}
	net, err := spec.New(tensor.Float32, rng)
	if err != nil {
		t.Fatal(err)
	}
	images := func(n int) *tensor.Dense {
		x := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(n, 3, 32, 32))
		for i := range x.Float32s() {
			x.Float32s()[i] = float32(rng.NormFloat64())
		}
		return x
	}
	layer, err := NewLayer(jacobian.NTK{Net: net}, images(2), []int{0, 2})
	if err != nil {
		t.Fatal(err)
	}
	layer.LogPriorStd.Set(0, -3)
	p, x := newPosterior(net, layer), images(22)
	predict := func(rows ...int) gp.Gaussian {
		return small.Predict(t, p, data.TakeRows(x, rows))
	}
	var rows []int
	for i := range 22 {
		rows = append(rows, i)
	}
	all, part := predict(rows...), predict(19, 20, 21)
	for i, want := range part.Cov {
		if got := all.Cov[19*9+i]; math.Abs(got-want) > 1e-5*math.Abs(part.Cov[i/9*9]) {
			t.Errorf("covariance %d is %g beside other inputs, %g by itself", i, got, want)
		}
	}
}
