package valla

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// TestLikeliest: the likeliest classes have the covariances that they have among all classes; the others have the least variance
// among them, and no covariance. With all classes nothing changes.
func TestLikeliest(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		p := newToy(t, 4, dt, size{5, 6})
		all, err := gp.Predict(ctx, newPosterior(p.net, p.layer), p.x)
		if err != nil {
			t.Fatal(err)
		}
		for k := 1; k < 5; k++ {
			few := newPosterior(p.net, p.layer)
			few.likeliest = k
			got, err := gp.Predict(ctx, few, p.x)
			if err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%v, %d of 5: ", dt, k)
			fixture.Close(t, what+"mean", got.Mean, all.Mean, 0)
			tolerance := 1e-12
			if dt == tensor.Float32 { // the order of the terms of a sum may differ
				tolerance = 1e-6
			}
			fixture.Close(t, what+"covariances", got.Cov, widenedByHand(all, k), tolerance)
			gptest.Check(t, gptest.Case{Posterior: few, X: p.x, Net: p.net})
		}
	}
}

// widenedByHand returns the covariances of all outputs of which the k likeliest alone have their own.
func widenedByHand(g gp.Gaussian, k int) []float64 {
	c, cov := g.Outputs(), make([]float64, len(g.Cov))
	for i := range g.N() {
		mean, from, to := g.Mean[i*c:(i+1)*c], g.Block(i), cov[i*c*c:(i+1)*c*c]
		ascending := slices.Sorted(slices.Values(mean))
		kept := func(a int) bool { return mean[a] >= ascending[c-k] }
		least := slices.Max(from)
		for a := range c {
			for b := range c {
				if kept(a) && kept(b) {
					to[a*c+b] = from[a*c+b]
				}
			}
			if kept(a) {
				least = min(least, from[a*c+a])
			}
		}
		for a := range c {
			if !kept(a) {
				to[a*c+a] = least
			}
		}
	}
	return cov
}

// TestWidenedVariances: a validation widens variances as predictions do.
func TestWidenedVariances(t *testing.T) {
	got := widened([]float64{3, 2, 5, 7}, []float64{1, 3, 0, 2}, 2, 4)
	fixture.Close(t, "variances", got, []float64{2, 3, 2, 2, 5, 5, 7, 5}, 0)
}
