package fmgp

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestSampleCounts: the loss of examples that stand for three rows each is the loss of a set that has each of them three times.
func TestSampleCounts(t *testing.T) {
	for _, classes := range []bool{false, true} {
		p := newProblem(t, 12, 2, classes, tensor.Float64)
		_, q := fit(t, Settings{Inducing: 4, Iterations: 3}, p, gp.Run{})
		loss := func(of gp.Problem) float64 {
			at, err := q.network.points(context.Background(), of.Train.X, 0, untold)
			if err != nil {
				t.Fatal(err)
			}
			rows := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(at.Shape()...))
			if err := at.Load(rows, dense.Indices(of.Train.N()), 0); err != nil {
				t.Fatal(err)
			}
			f := &fitting{p: of, layer: q.layer, lik: of.Likelihood}
			f.s.Alpha = new(1.0)
			b := graph.NewBuilder(tensor.Float64)
			return small.Values(t, b, f.loss(b, small.Given(b, "rows", rows), small.Given(b, "y", of.Train.Y)))[0][0]
		}
		sample, thrice := p, p
		sample.More = 24
		thrice.Train = p.Train.Rows(slices.Repeat(dense.Indices(12), 3))
		alone, got, want := loss(p), loss(sample), loss(thrice)
		if math.Abs(got-want) > 1e-9*math.Abs(want) || math.Abs(alone-want) < 1e-3*math.Abs(want) {
			t.Errorf("classes %v: loss %.9g of a sample and %.9g of its rows alone, want %.9g", classes, got, alone, want)
		}
	}
}

// TestSampleSplits: the epistemic part of a sample whose examples stand for three rows each is the part that all rows tell.
func TestSampleSplits(t *testing.T) {
	p := newProblem(t, 12, 1, false, tensor.Float64)
	_, q := fit(t, Settings{Inducing: 4, Iterations: 3}, p, gp.Run{})
	epistemic := func(of gp.Problem) []float64 {
		at, err := q.network.points(t.Context(), of.Train.X, 0, untold)
		if err != nil {
			t.Fatal(err)
		}
		f := &fitting{p: of, layer: q.layer, lik: of.Likelihood, post: q, train: at}
		f.s.Alpha = new(1.0)
		if err := f.split(t.Context()); err != nil {
			t.Fatal(err)
		}
		g, err := gp.Predict(t.Context(), q, p.Train.X)
		if err != nil {
			t.Fatal(err)
		}
		return g.Epistemic
	}
	sample, thrice := p, p
	sample.More = 24
	thrice.Train = p.Train.Rows(slices.Repeat(dense.Indices(12), 3))
	fixture.Close(t, "epistemic shares", epistemic(sample), epistemic(thrice), 1e-9)
}
