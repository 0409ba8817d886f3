package gp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// counting notes how many examples a network is written for.
type counting struct {
	layers.Network
	examples *int
}

func (c counting) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	*c.examples = x.Shape()[0]
	return c.Network.Forward(b, x)
}

// TestPointFew: the means of a few inputs are not computed for a whole batch.
func TestPointFew(t *testing.T) {
	net, err := layers.MLP{Inputs: 2, Outputs: 3}.New(tensor.Float64, rand.New(rand.NewPCG(2, 3)))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int{1: 1, 6: 6, pointBatch + 1: pointBatch} {
		got := 0
		p := Point{counting{net, &got}, tensor.Float64}
		mean, err := p.Mean(context.Background(), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n, 2)))
		if err != nil || mean.Shape()[0] != n || got != want {
			t.Errorf("%d inputs: error %v, means %v, computed for %d inputs, expected %d", n, err, mean, got, want)
		}
	}
}

// TestPoint: means are the network's, by plain loops, for more inputs than a batch.
func TestPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	net, err := layers.MLP{Inputs: 2, Outputs: 3}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	const n = 2*pointBatch + 7
	x := make([]float64, 2*n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	in := tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(x))
	p := Point{net, tensor.Float64}
	g, err := Predict(context.Background(), p, in)
	if err != nil {
		t.Fatal(err)
	}
	w, b := net.Params()[0], net.Params()[1]
	for i := range n {
		for c := range 3 {
			want := x[2*i]*w.At(c) + x[2*i+1]*w.At(3+c) + b.At(c)
			if got := g.Mean[3*i+c]; !(math.Abs(got-want) < 1e-14) {
				t.Fatalf("mean of input %d, output %d: %g, want %g", i, c, got, want)
			}
		}
	}
	if len(g.Cov) != 9*n || slices.Max(g.Cov) != 0 || slices.Min(g.Cov) != 0 {
		t.Errorf("%d covariances, expected %d zeros", len(g.Cov), 9*n)
	}
	if mean, err := p.Mean(context.Background(), in); err != nil || !slices.Equal(mean.Float64s(), g.Mean) {
		t.Errorf("the mean alone differs, error %v", err)
	}
	if _, err := p.Mean(context.Background(), graph.Convert(in, tensor.Float32)); err == nil {
		t.Error("inputs of another element type were taken")
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Predict(stopped, p, in); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancelling", err)
	}
}
