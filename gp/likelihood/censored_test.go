package likelihood_test

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// TestCensoredFarAway: the log density and its slope are finite and right where the function lies far on either side of
// a bound, for open and closed intervals and for values that were seen.
func TestCensoredFarAway(t *testing.T) {
	l, err := likelihood.Named("censored")
	if err != nil {
		t.Fatal(err)
	}
	model, err := l.Start(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range [][]float64{{1, likelihood.Open}, {-likelihood.Open, 1}, {0.5, 1}, {1, 1}} {
		for _, f := range []float64{-1e4, -100, 0, 100, 1e4} {
			b := graph.NewBuilder(tensor.Float64)
			at := b.Input("f", 1, 1)
			term := model.LogDensityNode(b, b.Const("y", y, 1, 2), at)
			slope := graph.VJP(b, []*graph.Node{term}, []*graph.Node{b.Fill(1, 1)}, []*graph.Node{at})[0]
			p, err := graph.Compile(b, []*graph.Node{term, slope}, graph.Options{})
			if err == nil {
				err = p.Bind(at, tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float64{f})))
			}
			if err == nil {
				err = p.Run()
			}
			if err != nil {
				t.Fatal(err)
			}
			got, want, down := graph.Floats(p.Value(term))[0], model.LogDensity(y, []float64{f}), graph.Floats(p.Value(slope))[0]
			if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) || math.IsNaN(down) || math.IsInf(down, 0) {
				t.Errorf("target %v, f %g: log density %g with the slope %g, want %g", y, f, got, down, want)
			}
		}
	}
}
