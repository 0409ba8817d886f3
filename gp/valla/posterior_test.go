package valla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
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
						Posterior: newPosterior(p.net, p.layer), X: p.x,
						Net: p.net, Prior: jacobian.NTK{Net: p.net}, PriorVariance: std * std,
					})
				})
			}
		}
	}
}

// TestRefresh: after Refresh, predictions equal a new posterior's predictions, whichever
// parameter was changed.
func TestRefresh(t *testing.T) {
	p := newToy(t, 5, tensor.Float64, size{2, 3})
	post := newPosterior(p.net, p.layer)
	post.Refresh() // before the first prediction there is nothing to do
	before, err := gp.Predict(ctx, post, p.x)
	if err != nil {
		t.Fatal(err)
	}
	last := before.Cov
	for _, q := range append(p.layer.Params(), p.net.Params()[0]) {
		q.Set(0, q.At(0)+0.3)
		post.Refresh()
		got, err := gp.Predict(ctx, post, p.x)
		if err != nil {
			t.Fatal(err)
		}
		want, err := gp.Predict(ctx, newPosterior(p.net, p.layer), p.x)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, "mean after a change of "+q.Name, got.Mean, want.Mean, 0)
		fixture.Close(t, "covariance after a change of "+q.Name, got.Cov, want.Cov, 0)
		if fixture.RelErr(got.Cov, last) < 1e-6 {
			t.Errorf("a change of %s does not show", q.Name)
		}
		last = got.Cov
	}
}

// TestSample: samples of the joint posterior have its mean and its variances within
// five standard errors of 4,000 draws, and Cov(f₀, f₁) too.
func TestSample(t *testing.T) {
	const n = 4000
	p := newToy(t, 6, tensor.Float64, size{2, 3})
	post := newPosterior(p.net, p.layer)
	s, err := gp.Sample(ctx, post, p.x, n, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	mean, cov, err := post.Joint(ctx, p.x)
	if err != nil {
		t.Fatal(err)
	}
	m := mean.Shape().TotalSize()
	column := func(i int) []float64 {
		v := make([]float64, n)
		for r := range v {
			v[r] = s.Float64s()[r*m+i] - mean.Float64s()[i]
		}
		return v
	}
	first := column(0)
	for i := range m {
		c, v, v0 := cov.Float64s()[i], cov.Float64s()[i*m+i], cov.Float64s()[0]
		at := column(i)
		average := 0.0
		for _, x := range at {
			average += x / n
		}
		for _, q := range []struct {
			what                 string
			got, want, deviation float64
		}{
			{"mean", average, 0, math.Sqrt(v)},
			{"variance", dot(at, at) / n, v, math.Sqrt(2) * v},
			{"covariance with the first", dot(at, first) / n, c, math.Sqrt(v*v0 + c*c)},
		} {
			if d := math.Abs(q.got - q.want); d > 5*q.deviation/math.Sqrt(n) {
				t.Errorf("value %d: %s is %g, want %g", i, q.what, q.got, q.want)
			}
		}
	}
}
