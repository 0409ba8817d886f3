package mfvi

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// TestSampleCounts: the divergence from the prior is divided by the number of all rows of which the examples are a sample, and the usual
// prior has this number.
func TestSampleCounts(t *testing.T) {
	r := perceptron(t, "reg_")
	n := r.p.Train.N()
	share := func(more int) float64 {
		r.p.More = more
		f := newFitting(r.p, gp.Run{}, Settings{Estimator: flipout, LogStd: -2, LogStdRate: new(1e-3), PriorStd: 1})
		b := graph.NewBuilder(tensor.Float64)
		s := f.write(b, b.Param(&graph.Param{Name: "x", Value: r.p.Train.X}), b.Param(&graph.Param{Name: "y", Value: r.p.Train.Y}))
		prog, err := graph.Compile(b, []*graph.Node{s.Loss, s.data}, graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, noise := range s.noises {
			if err := prog.Bind(noise.node, tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(noise.node.Shape()...))); err != nil {
				t.Fatal(err)
			}
		}
		if err := prog.Run(); err != nil {
			t.Fatal(err)
		}
		return prog.Scalar(s.Loss) - prog.Scalar(s.data)
	}
	if alone, of := share(0), share(2*n); alone <= 0 || math.Abs(3*of-alone) > 1e-9*alone {
		t.Errorf("the divergence adds %g of three times as many rows, %g of the sample alone", of, alone)
	}
	s, err := (&Settings{}).complete(r.p)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 / math.Sqrt(5e-4*3*float64(n)); math.Abs(s.PriorStd-want) > 1e-12 {
		t.Errorf("prior standard deviation %g, want %g", s.PriorStd, want)
	}
}
