package valla_test

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

// TestPosterior runs the conformance suite on layers in a random state and on
// layers with the optimal A.
func TestPosterior(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, outputs := range []int{1, 3} {
			for _, best := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v C=%d optimal=%t", dt, outputs, best), func(t *testing.T) {
					p := newToy(t, 4, dt, size{outputs, 5})
					if best {
						p, _ = optimal(t, 4, dt, size{outputs, 5})
					}
					std := p.layer.PriorStd()
					gptest.Check(t, gptest.Case{
						Posterior: valla.NewPosterior(p.net, p.layer), X: p.x, Batch: valla.PredictBatch,
						Net: p.net, Prior: jacobian.NTK{Net: p.net}, PriorVariance: std * std,
					})
				})
			}
		}
	}
}

// TestRefresh: after Refresh, predictions are those of a new posterior, whichever
// parameter was changed.
func TestRefresh(t *testing.T) {
	p := newToy(t, 5, tensor.Float64, size{2, 3})
	post := valla.NewPosterior(p.net, p.layer)
	post.Refresh() // before the first prediction there is nothing to do
	before, err := post.Predict(ctx, p.x)
	if err != nil {
		t.Fatal(err)
	}
	last := before.Cov.Float64s()
	for _, q := range append(p.layer.Params(), p.net.Params()[0]) {
		q.Set(0, q.At(0)+0.3)
		post.Refresh()
		got, err := post.Predict(ctx, p.x)
		if err != nil {
			t.Fatal(err)
		}
		want, err := valla.NewPosterior(p.net, p.layer).Predict(ctx, p.x)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, "mean after a change of "+q.Name, got.Mean.Float64s(), want.Mean.Float64s(), 0)
		fixture.Close(t, "covariance after a change of "+q.Name, got.Cov.Float64s(), want.Cov.Float64s(), 0)
		if fixture.RelErr(got.Cov.Float64s(), last) < 1e-6 {
			t.Errorf("a change of %s does not show", q.Name)
		}
		last = got.Cov.Float64s()
	}
}
