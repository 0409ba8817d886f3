package gp_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// plain is a posterior that cannot be compiled.
type plain struct{ gp.Posterior }

// TestScale: means and covariances are changed, compiled or not, and the posterior stays.
func TestScale(t *testing.T) {
	net, err := layers.MLP{Inputs: 2, Hidden: []int{3}, Outputs: 2, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	in := []float64{0.5, -1, 2, 0.25}
	x := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(in))
	of := unit{gp.Point{Net: net, Dtype: tensor.Float64}}
	want, err := of.Predict(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	by := gp.Affine{Mean: []float64{0.5, 2}, Shift: []float64{1, -1}, Std: []float64{3, 0.2}}
	check := func(what string, g gp.Latents) {
		t.Helper()
		for i, v := range g.Mean {
			if w := by.Mean[i%2]*want.Mean.Float64s()[i] + by.Shift[i%2]; math.Abs(v-w) > 1e-12 {
				t.Errorf("%s: mean %g, want %g", what, v, w)
			}
		}
		for i, v := range g.Cov {
			if w := by.Std[i/2%2] * by.Std[i%2] * want.Cov.Float64s()[i]; math.Abs(v-w) > 1e-12 {
				t.Errorf("%s: covariance %g, want %g", what, v, w)
			}
		}
		for i, v := range g.Probs { // their logarithms are logits
			p, odds := want.Probs.Float64s()[i/2*2:i/2*2+2], 0.0
			for k := range p {
				odds += math.Exp(by.Mean[k]*math.Log(p[k]) + by.Shift[k])
			}
			if w := math.Exp(by.Mean[i%2]*math.Log(p[i%2])+by.Shift[i%2]) / odds; math.Abs(v-w) > 1e-12 || len(g.Probs) != 4 {
				t.Errorf("%s: %d probabilities, %g, want %g", what, len(g.Probs), v, w)
			}
		}
	}
	for what, p := range map[string]gp.Posterior{"compiled": of, "plain": plain{of}} {
		s := gp.Scale(p, by)
		g, err := s.Predict(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		check(what, g.Latents())
		c, ok := s.(gp.Compiler)
		if ok != (what == "compiled") {
			t.Fatalf("%s: a Compiler: %t", what, ok)
		}
		if !ok {
			continue
		}
		run, err := c.Compile([]int{2}, 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		var l gp.Latents
		for range 2 { // the second time into used slices
			if err := run.Latents(t.Context(), in, &l); err != nil {
				t.Fatal(err)
			}
			check(what+", in batches", l)
		}
	}
}

// unit is a network whose outputs have the covariance 1, 2, 3 … in rows, and the
// probabilities softmax(mean).
type unit struct{ gp.Point }

func (u unit) Predict(ctx context.Context, x *tensor.Dense) (gp.Gaussian, error) {
	g, err := u.Point.Predict(ctx, x)
	if err == nil {
		fill(g.Cov.Float64s())
		g.Probs = g.Mean.Clone().(*tensor.Dense)
		soften(g.Probs.Float64s())
	}
	return g, err
}

func (u unit) Compile(shape []int, size int, limit int64) (gp.Compiled, error) {
	c, err := u.Point.Compile(shape, size, limit)
	return unitCompiled{c}, err
}

type unitCompiled struct{ gp.Compiled }

func (u unitCompiled) Latents(ctx context.Context, x []float64, g *gp.Latents) error {
	err := u.Compiled.Latents(ctx, x, g)
	fill(g.Cov)
	g.ResizeProbs()
	copy(g.Probs, g.Mean)
	soften(g.Probs)
	return err
}

func soften(v []float64) {
	for row := range slices.Chunk(v, 2) {
		gp.Softmax(row)
	}
}

func fill(v []float64) {
	for i := range v {
		v[i] = float64(i + 1)
	}
}
