package valla

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestEstimate: it grows with the steps, leaves the settings alone, and ends with the context.
func TestEstimate(t *testing.T) {
	problems := small.Must(t, gptest.Problems)
	for _, optimizer := range []string{"natural", "adam"} {
		for _, p := range problems[:3] {
			few, many := &Settings{Inducing: 5, Iterations: 10, Optimizer: optimizer}, &Settings{Inducing: 5, Iterations: 10_000_000, Optimizer: optimizer}
			a, err := few.Estimate(t.Context(), p.Problem, gp.Run{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := many.Estimate(t.Context(), p.Problem, gp.Run{})
			if err != nil || !(a.Seconds > 0 && b.Seconds > 10*a.Seconds) || a.Bytes < 1000 || a.Cheaper != "" || b.Cheaper == "" || b.CheaperSeconds >= b.Seconds/2 || few.Iterations != 10 {
				t.Errorf("%s, %s: %+v and %+v, error %v", p.Name, optimizer, a, b, err)
			}
			if a.Flops.Single > 0 || !(a.Flops.Double > 0 && b.Flops.Double > 10*a.Flops.Double && a.RowFlops.Double > 0 && a.RowFlops == b.RowFlops) {
				t.Errorf("%s, %s: operations %v and %v, of a prediction %v and %v", p.Name, optimizer, a.Flops, b.Flops, a.RowFlops, b.RowFlops)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := few.Estimate(ended, p.Problem, gp.Run{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %s: error %v", p.Name, optimizer, err)
			}
		}
	}
}

// TestEstimateFlops: the operations are those of the formulas for one σ₀, in the type of the network's numbers for the products of
// the network and the kernel, and in float64 for the algebra. Several σ₀ take more time, and no more operations.
func TestEstimateFlops(t *testing.T) {
	const m, batch, steps = 100, 100, 50
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		f, x, y := benchFit(t, benchCases[0].net, m, dt)
		p := gp.Problem{Net: f.Net, Likelihood: f.Likelihood, Train: gp.Examples{X: x, Y: y}}
		s := &Settings{Inducing: m, BatchSize: batch, Iterations: steps, FixPrior: true, NoiseStd: 1}
		one, err := s.Estimate(t.Context(), p, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		s.FixPrior = false
		several, err := s.Estimate(t.Context(), p, gp.Run{})
		if err != nil || several.Flops != one.Flops {
			t.Errorf("%v: %v operations for several σ₀, %v for one, error %v", dt, several.Flops, one.Flops, err)
		}
		algebra := float64(steps * 2 * m * m * (spectra*m + 3*batch))
		products := one.Flops.Double - algebra
		if dt == tensor.Float32 {
			products = one.Flops.Single
			if one.Flops.Double != algebra {
				t.Errorf("algebra of %v operations, expected %v", one.Flops.Double, algebra)
			}
		}
		// By hand the network and the kernel of a step of Adam, which computes the same, without its algebra.
		hand := steps * float64(kernelFlops(benchCases[0].net, m, batch))
		if products < 0.9*hand || products > 1.1*hand {
			t.Errorf("%v: products of %v operations, expected about %v", dt, products, hand)
		}
	}
}

// TestPlannedInducing: a plan counts the inducing points of the fit, of which a greedy choice has no more than the settings ask for,
// however many classes there are.
func TestPlannedInducing(t *testing.T) {
	const n, c = 12, 9
	labels := dense.Cycle(n, c)
	net, err := layers.MLP{Inputs: 2, Hidden: []int{3}, Outputs: c, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 2*n)
	for i := range x {
		x[i] = math.Sin(float64(i * i))
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: dense.Of(x, n, 2), Y: small.OneHot(labels, c, tensor.Float64)}}
	for init, want := range map[string]int{"greedy": 4, "kmeans++": c} {
		for _, optimizer := range []string{optimizerNatural, optimizerAdam} {
			s := &Settings{Inducing: 4, Init: init, Optimizer: optimizer, Iterations: 3}
			f := &fitting{r: gp.Run{}}
			if f.s, f.p, _, err = s.resolve(t.Context(), p, f.r); err != nil {
				t.Fatal(err)
			}
			plan, err := f.plan()
			if err != nil {
				t.Fatal(err)
			}
			_, class, err := f.inducing()
			if name := fmt.Sprintf("valla: a fit with %d inducing points", want); err != nil || plan.What != name || len(class) != want {
				t.Errorf("%s, %s: planned %q, found %d points, expected %q, error %v", init, optimizer, plan.What, len(class), name, err)
			}
		}
	}
	// Nine points take more than this memory, four do not.
	s := &Settings{Inducing: 4, Init: "greedy", Iterations: 3}
	if _, _, _, err := s.resolve(t.Context(), p, gp.Run{Memory: gp.Numbers(4, 9, 9) - 1}); errors.As(err, new(*graph.MemoryError)) && strings.Contains(err.Error(), "9 inducing points") {
		t.Errorf("error %v of four points", err)
	}
}
