package gp_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestScale: means, covariances and probabilities are changed, and the posterior stays.
func TestScale(t *testing.T) {
	net, err := layers.MLP{Inputs: 2, Hidden: []int{3}, Outputs: 2, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	in := []float64{0.5, -1, 2, 0.25}
	x := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(in))
	of := unit{gp.Point{Net: net, Dtype: tensor.Float64}}
	want := small.Predict(t, of, x)
	by := gp.Affine{Mean: []float64{0.5, 2}, Shift: []float64{1, -1}, Std: []float64{3, 0.2}}
	check := func(what string, g gp.Gaussian) {
		t.Helper()
		for i, v := range g.Mean {
			if w := by.Mean[i%2]*want.Mean[i] + by.Shift[i%2]; math.Abs(v-w) > 1e-12 {
				t.Errorf("%s: mean %g, want %g", what, v, w)
			}
		}
		for i, v := range g.Cov {
			if w := by.Std[i/2%2] * by.Std[i%2] * want.Cov[i]; math.Abs(v-w) > 1e-12 {
				t.Errorf("%s: covariance %g, want %g", what, v, w)
			}
		}
		for i, v := range g.Probs { // their logarithms are logits
			p, odds := want.Probs[i/2*2:i/2*2+2], 0.0
			for k := range p {
				odds += math.Exp(by.Mean[k]*math.Log(p[k]) + by.Shift[k])
			}
			if w := math.Exp(by.Mean[i%2]*math.Log(p[i%2])+by.Shift[i%2]) / odds; math.Abs(v-w) > 1e-12 || len(g.Probs) != 4 {
				t.Errorf("%s: %d probabilities, %g, want %g", what, len(g.Probs), v, w)
			}
		}
	}
	s := gp.Scale(of, by)
	g := small.Predict(t, s, x)
	check("predicted", g)
	run, err := s.Compile(gp.Request{Shape: []int{2}, Size: 2})
	if err != nil {
		t.Fatal(err)
	}
	var l gp.Gaussian
	for range 2 { // the second time into used slices
		if err := run.Predict(t.Context(), in, &l); err != nil {
			t.Fatal(err)
		}
		check("compiled", l)
	}
	if again, err := gp.Predict(t.Context(), of, x); err != nil || !slices.Equal(again.Mean, want.Mean) || !slices.Equal(again.Cov, want.Cov) {
		t.Errorf("the posterior itself has changed, error %v", err)
	}
}

// unit is a network whose outputs have the covariance 1, 2, 3, 4 in rows, and the
// probabilities softmax(mean).
type unit struct{ gp.Point }

func (u unit) Compile(r gp.Request) (gp.Compiled, error) {
	c, err := u.Point.Compile(r)
	return unitCompiled{c}, err
}

type unitCompiled struct{ gp.Compiled }

func (u unitCompiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	err := u.Compiled.Predict(ctx, x, g)
	fill(g.Cov)
	g.ResizeProbs()
	copy(g.Probs, g.Mean)
	soften(g.Probs)
	return err
}

func soften(v []float64) {
	for row := range slices.Chunk(v, 2) {
		kernel.Softmax(row, row)
	}
}

func fill(v []float64) {
	for i := range v {
		v[i] = float64(i%4 + 1)
	}
}
