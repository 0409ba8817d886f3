package laplace

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
)

// TestEstimate: every structure has one, for every problem that it can be fitted to; its bytes are
// within the limit that the fit keeps, and less memory than that refuses both.
func TestEstimate(t *testing.T) {
	problems := small.Must(t, gptest.Problems)
	for _, p := range problems {
		for _, s := range []gp.Settings{
			&Settings{Structure: "full"}, &Settings{Structure: "kfac"}, &Settings{Structure: "diag", Hyper: "grid"},
			&Settings{Structure: "lowrank"}, &Settings{Structure: "full", Weights: []string{"last-layer"}, Priors: "per-layer"}, &SubsetSettings{Points: 5},
		} {
			if _, err := s.Fit(t.Context(), p.Problem, gp.Run{}); err != nil {
				continue // this method does not go with this problem
			}
			e, err := s.(gp.Estimator).Estimate(t.Context(), p.Problem, gp.Run{})
			if err != nil || !(e.Seconds > 0) || e.Bytes < 100 {
				t.Errorf("%s, %+v: %+v, error %v", p.Name, s, e, err)
			}
			if _, err := s.(gp.Estimator).Estimate(t.Context(), p.Problem, gp.Run{Memory: e.Bytes / 2}); err == nil {
				if _, err := s.Fit(t.Context(), p.Problem, gp.Run{Memory: e.Bytes / 2}); err == nil {
					t.Errorf("%s, %+v: half of %d bytes suffices", p.Name, s, e.Bytes)
				}
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.(gp.Estimator).Estimate(ended, p.Problem, gp.Run{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %+v: error %v", p.Name, s, err)
			}
		}
	}
}

// TestEstimateFlops: the exact fit of all weights with given hyper-parameters takes N·P² operations for H and P³/3 for its factor, and
// those of the Jacobian rows.
func TestEstimateFlops(t *testing.T) {
	const rows, inputs, hidden = 500, 4, 10
	net, err := layers.MLP{Inputs: inputs, Hidden: []int{hidden}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	zeros := func(columns int) *tensor.Dense {
		return tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(rows, columns))
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(1, tensor.Float64), Train: gp.Examples{X: zeros(inputs), Y: zeros(1)}}
	e, err := (&Settings{Structure: "full", PriorStd: 1, NoiseStd: 1}).Estimate(t.Context(), p, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	const weights = hidden*(inputs+2) + 1
	least := float64(rows*weights*weights + weights*weights*weights/3)
	most := least + rows*4*2*weights // forth and back
	if e.Flops.Single != 0 || e.Flops.Double < least || e.Flops.Double > most {
		t.Errorf("%v operations, expected %v to %v", e.Flops, least, most)
	}
}

// TestImagesEstimate: the structures that need all rows of images are planned, with the products of these rows.
func TestImagesEstimate(t *testing.T) {
	p := images(t, options{Likelihood: likelihood.Softmax{}}, tensor.Float64, 400, 3)
	of := gp.Problem{Net: p.net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: p.x, Y: p.y}}
	var flops []float64
	for _, points := range []int{20, 40} {
		e, err := (&SubsetSettings{Points: points}).Estimate(t.Context(), of, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		flops = append(flops, e.Flops.Double)
	}
	if !(flops[1] > 2.5*flops[0]) || flops[1] > 8*flops[0] {
		t.Errorf("twice the points take %v operations", flops)
	}
}

// TestTokensEstimate: the time and the memory of KFAC grow with the rows of a table of tokens, not with their square.
func TestTokensEstimate(t *testing.T) {
	var seconds, bytes []float64
	for _, rows := range []int{3000, 30000} {
		form := layers.SequentialForm{Input: []int{4}, Layers: layers.Layers{
			layers.Embedding{Rows: rows, Width: 32}, layers.PoolSteps{Take: "mean"}, layers.DenseLayer{Outputs: 2}}}
		net, err := layers.Build(form, tensor.Float32, rand.New(rand.NewPCG(1, 0)))
		if err != nil {
			t.Fatal(err)
		}
		x, y := make([]float64, 40), make([]float64, 20)
		for i := range x {
			x[i], y[i/4*2] = float64(i), 1
		}
		e := gp.Examples{X: graph.Convert(dense.Of(x, 10, 4), tensor.Float32), Y: graph.Convert(dense.Of(y, 10, 2), tensor.Float32)}
		cost, err := (&Settings{Structure: "kfac"}).Estimate(t.Context(), gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: e, Validation: &e}, gp.Run{Memory: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		seconds, bytes = append(seconds, cost.Seconds), append(bytes, float64(cost.Bytes))
	}
	if seconds[1] > 30*seconds[0]+5 || bytes[1] > 11*bytes[0] { // the seconds hold those of the estimate itself
		t.Errorf("ten times the tokens take %v seconds and %v bytes", seconds, bytes)
	}
}
