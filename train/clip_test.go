package train

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// slowlyClipped is an objective whose gradients are clipped number by number.
type slowlyClipped struct {
	testObjective
	limit float64
}

func (o slowlyClipped) Evaluate(ctx context.Context, iteration int) (float64, error) {
	loss, err := o.testObjective.Evaluate(ctx, iteration)
	sum := 0.0
	for _, p := range o.Params() {
		for _, g := range float64s(p.Grad) {
			sum += g * g
		}
	}
	for _, p := range o.Params() {
		if norm := math.Sqrt(sum); norm > o.limit && p.Grad.Dtype() == tensor.Float32 {
			for i := range p.Grad.Float32s() {
				p.Grad.Float32s()[i] *= float32(o.limit / norm)
			}
		} else if norm > o.limit {
			for i := range p.Grad.Float64s() {
				p.Grad.Float64s()[i] *= o.limit / norm
			}
		}
	}
	return loss, err
}

// A run with ClipNorm is the run on gradients that a slow loop has clipped.
func TestClipNorm(t *testing.T) {
	forEach(t, func(t *testing.T, newOptimizer func() Optimizer, obj func() testObjective) {
		const limit = 4 // between the norms of the gradients
		fast, slow, free := obj(), obj(), obj()
		for _, r := range []struct {
			obj   Objective
			limit float64
		}{{fast, limit}, {slowlyClipped{slow, limit}, 0}, {free, 0}} {
			if _, err := Run(t.Context(), r.obj, Config{Iterations: 20, Optimizer: newOptimizer(), ClipNorm: r.limit}); err != nil {
				t.Fatal(err)
			}
		}
		got, want, other, differs := values(fast), values(slow), values(free), false
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-5*(1+math.Abs(want[i])) {
				t.Errorf("number %d is %v, want %v", i, got[i], want[i])
			}
			differs = differs || math.Abs(got[i]-other[i]) > 1e-3
		}
		if !differs {
			t.Error("nothing was clipped: the test shows nothing")
		}
	})
}

// values returns the numbers of all parameters.
func values(o Objective) (all []float64) {
	for _, p := range o.Params() {
		all = append(all, float64s(p.Value)...)
	}
	return all
}

// Gradients whose squares overflow are clipped, and gradients within the limit keep their bits.
func TestClip(t *testing.T) {
	huge, small := newParam[float64]("a", []int{2}, 0, 0), newParam[float32]("b", []int{1}, 0)
	copy(huge.Grad.Float64s(), []float64{3e300, -4e300})
	clip([]Param{huge}, 10)
	if g := huge.Grad.Float64s(); math.Abs(g[0]-6) > 1e-12 || math.Abs(g[1]+8) > 1e-12 {
		t.Errorf("gradient %v, want 6 and -8", g)
	}
	small.Grad.Float32s()[0] = 0.3
	if clip([]Param{small}, 0.5); small.Grad.Float32s()[0] != 0.3 {
		t.Errorf("gradient %v, want 0.3", small.Grad.Float32s())
	}
}

// A negative limit is refused, and a checkpoint of a run with another limit too.
func TestClipNormErrors(t *testing.T) {
	for _, limit := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := Run(t.Context(), newBowl[float64](), Config{ClipNorm: limit}); err == nil || !strings.Contains(err.Error(), "ClipNorm") {
			t.Errorf("limit %g: error %v", limit, err)
		}
	}
	c := Config{Iterations: 2, ClipNorm: 1, Checkpoint: filepath.Join(t.TempDir(), "c"), Resume: true}
	for _, limit := range []float64{1, 2} {
		c.ClipNorm = limit
		if _, err := Run(t.Context(), newBowl[float64](), c); (err == nil) != (limit == 1) {
			t.Errorf("limit %g: error %v", limit, err)
		}
	}
}
