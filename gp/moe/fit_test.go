package moe

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// A fit whose context ends while the last experts are fitted beside each other ends with the context's error.
func TestEndedBesideTheLast(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := eachExpert(ctx, 1, func(int) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, expected the context's", err)
	}
}

// TestRowOfCellsFits: with a single input an expert has two neighbours, so that the experts take little memory.
func TestRowOfCellsFits(t *testing.T) {
	net, err := layers.MLP{Inputs: 1, Hidden: []int{100, 100}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	x := dense.Of(make([]float64, 20_000), 20_000, 1)
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(1, tensor.Float64), Train: gp.Examples{X: x, Y: x}}
	s := Settings{PriorStd: 1, NoiseStd: 1}
	if _, err := s.Estimate(t.Context(), p, gp.Run{}); err != nil {
		t.Error(err)
	}
}

// TestGateMemory: the gate holds the kernel of one batch of rows, however many rows there are, and nothing after the fit.
func TestGateMemory(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 4000, 4, 2, false)
	held := map[int]int64{}
	for _, n := range []int{1000, 4000} {
		plan, f := &gp.Plan{}, &fitting{p: p, s: Settings{Points: 50}, limit: gp.Run{}.Limit()}
		if err := f.planGate(plan, n); err != nil {
			t.Fatal(err)
		}
		held[n] = plan.Held()
	}
	if held[1000] != held[4000] {
		t.Errorf("planned bytes by rows: %v", held)
	}
	p.Train = p.Train.Rows(dense.Indices(60))
	q := small.Fit(t, &Settings{Experts: 2, Points: 6, PriorStd: 1, NoiseStd: 1}, p, gp.Run{}).Posterior
	state, err := q.State()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := gptest.Memory(state)
	if err != nil {
		t.Fatal(err)
	}
	back, err := restore(t.Context(), p.Net, p.Likelihood, saved)
	if err != nil {
		t.Fatal(err)
	}
	if q.(*posterior).gate.run != nil || back.(*posterior).gate.run != nil {
		t.Error("the gate keeps what a fit needs")
	}
}

// TestOperations: the plan has the operations of all experts, each a fit of LLA to its rows, and of a row those of one expert.
func TestOperations(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 60, 4, 2, false)
	e, err := (&Settings{Experts: 3, Points: 6, Alone: true, PriorStd: 1, NoiseStd: 1}).Estimate(t.Context(), p, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	p.Train, p.Validation = p.Train.Rows(dense.Indices(20)), nil
	one, err := (&laplace.Settings{PriorStd: 1, NoiseStd: 1}).Estimate(t.Context(), p, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if !(one.Flops.Double > 0 && e.Flops.Double > 3*one.Flops.Double && one.RowFlops.Double > 0 && e.RowFlops.Double > one.RowFlops.Double) {
		t.Errorf("operations %v and %v of a row, of an expert %v and %v", e.Flops, e.RowFlops, one.Flops, one.RowFlops)
	}
}
