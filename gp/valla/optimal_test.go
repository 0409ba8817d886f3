package valla

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

const toyNoise = 0.3

// optimal draws a toy and gives it the optimal A for its own examples.
func optimal(t *testing.T, seed uint64, dt tensor.Dtype, s size) (p *toy, jitter float64) {
	t.Helper()
	p = newToy(t, seed, dt, s)
	p.lik = likelihood.NewGaussian(toyNoise, dt)
	jitter, err := p.layer.OptimalA(ctx, p.x, toyNoise)
	if err != nil {
		t.Fatal(err)
	}
	return p, jitter
}

// TestOptimalAFormula compares Q with the Q of the optimal A by inverses:
//
//	Q = κ − K_xz K_z⁻¹ K_zx + K_xz (K_z + σ⁻² Σ_n K_zn K_nz)⁻¹ K_zx
func TestOptimalAFormula(t *testing.T) {
	for seed := range uint64(5) {
		p, jitter := optimal(t, seed, tensor.Float64, size{2, 4})
		if jitter != 0 {
			t.Errorf("seed %d: jitter %g for four different points", seed, jitter)
		}
		s := p.state(t)
		data := mat.DenseCopyOf(s.kz)
		for _, k := range s.kxz {
			g := product(k.T(), k)
			g.Scale(1/toyNoise, g)
			data.Add(data, g)
		}
		var middle mat.Dense
		middle.Sub(inverse(t, data), inverse(t, s.kz))
		for i, k := range s.kxz {
			want := product(k, &middle, k.T())
			want.Add(s.kx[i], want)
			fixture.Close(t, "Q", mat.DenseCopyOf(s.q[i]).RawMatrix().Data, want.RawMatrix().Data, 1e-8)
		}
	}
}

// TestOptimalABound: no other L gives a smaller negative evidence lower bound.
func TestOptimalABound(t *testing.T) {
	for seed := range uint64(5) {
		p, _ := optimal(t, seed, tensor.Float64, size{2, 4})
		loss := p.loss(t, 0, toyBatch)
		best := loss.values(t)[0][0]
		rng := rand.New(rand.NewPCG(seed, 8))
		length := norm(p.layer.L.Floats())
		for _, far := range []float64{1e-3, 1e-1, 1, 10} {
			for range 20 {
				dir := graph.Floats(small.Normal(rng, tensor.Float64, len(p.layer.L.Floats())))
				h := far * length / norm(dir)
				if got := moved(p.layer.L, dir, h, func() float64 { return loss.values(t)[0][0] }); !(got > best) {
					t.Errorf("seed %d: %.15g at the optimal L, %.15g at a distance of %g of its length", seed, best, got, far)
				}
			}
		}
	}
}

// TestOptimalAOfDoublePoints: a point that is there twice makes K_z singular. It is
// factored with a jitter that is reported, and changes nothing.
func TestOptimalAOfDoublePoints(t *testing.T) {
	once, _ := optimal(t, 1, tensor.Float64, size{1, 3})
	twice, _ := optimal(t, 1, tensor.Float64, size{1, 3})
	z := once.layer.Z.Floats()
	doubled := append(append([]float64{}, z...), z[:2]...)
	twice.layerOf(t, tensor.New(tensor.WithShape(4, 2), tensor.WithBacking(doubled)), nil)
	twice.layer.LogPriorStd.Set(0, once.layer.LogPriorStd.At(0))
	jitter, err := twice.layer.OptimalA(ctx, twice.x, toyNoise)
	if err != nil {
		t.Fatal(err)
	}
	if !(jitter > 0 && jitter < 1e-10) {
		t.Errorf("jitter %g for a singular K_z, want a positive one below 1e-10", jitter)
	}
	got, want := variances(t, twice.net, twice.layer, twice.x), variances(t, once.net, once.layer, once.x)
	fixture.Close(t, "variance", got, want, 1e-6)
}

// TestOptimalAFloat32: K_z is known to 6e-8 only, so jitter may be needed; the
// variance agrees with float64 to some thousandths.
func TestOptimalAFloat32(t *testing.T) {
	for seed := range uint64(5) {
		single, jitter := optimal(t, seed, tensor.Float32, size{2, 4})
		double, _ := optimal(t, seed, tensor.Float64, size{2, 4})
		got, want := variances(t, single.net, single.layer, single.x), variances(t, double.net, double.layer, double.x)
		fixture.Close(t, "variance", got, want, 5e-3)
		if jitter > 1e-6 {
			t.Errorf("seed %d: jitter %g", seed, jitter)
		}
	}
}

func TestOptimalAErrors(t *testing.T) {
	p := newToy(t, 1, tensor.Float64, size{2, 4})
	before := p.layer.L.Floats()
	for noise, want := range map[float64]string{-1: "noise variance -1", 0: "noise variance 0", math.NaN(): "noise variance NaN"} {
		if _, err := p.layer.OptimalA(ctx, p.x, noise); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.layer.OptimalA(ended, p.x, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: error %v", err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for what, c := range map[string]struct {
		x    *tensor.Dense
		want string
	}{
		"width": {small.Normal(rng, tensor.Float64, 5, 3), "3) and (2, 6)"},
		"type":  {small.Normal(rng, tensor.Float32, 5, 2), "float32"},
	} {
		if _, err := p.layer.OptimalA(ctx, c.x, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", what, err, c.want)
		}
	}
	p.layer.LogPriorStd.Set(0, -1000) // σ₀² is 0 in float64, and so is K_z
	if jitter, err := p.layer.OptimalA(ctx, p.x, 1); !errors.Is(err, gp.ErrJitter) {
		t.Errorf("K_z = 0: error %v, jitter %g, want gp.ErrJitter", err, jitter)
	}
	fixture.Close(t, "L after errors", p.layer.L.Floats(), before, 0)
}
