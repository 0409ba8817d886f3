package gp

import (
	"context"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Point is the posterior of a network whose weights are certain: the mean is the output of
// the MAP network, and the covariance is zero.
type Point struct {
	Net   layers.Network // whose outputs are the mean
	Dtype tensor.Dtype   // of the network
}

// pointBatch is the number of inputs that a Point evaluates at a time, at most.
const pointBatch = 250

// Mean returns the network's outputs [N,C] at each of the inputs x [N,…], float64.
func (p Point) Mean(ctx context.Context, x *tensor.Dense) (*tensor.Dense, error) {
	b := graph.NewBuilder(p.Dtype)
	xn := b.Input("x", append([]int{max(1, min(pointBatch, x.Shape()[0]))}, x.Shape()[1:]...)...)
	f, err := graph.NewBatched(b, xn, p.Net.Forward(b, xn))
	if err != nil {
		return nil, err
	}
	n, c := x.Shape()[0], 0
	var mean []float64
	err = f.Each(ctx, x, func(_, rows int, out []*tensor.Dense) error {
		c = out[0].Shape()[1]
		mean = append(mean, graph.Floats(out[0])[:rows*c]...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(n, c), tensor.WithBacking(mean)), nil
}

// Compile implements Posterior. What adds covariances to the predictions of a Point asks it for covariances, whatever it is asked
// for itself.
func (p Point) Compile(r Request) (Compiled, error) {
	b := graph.NewBuilder(p.Dtype)
	x := b.Input("x", r.Input()...)
	f, err := r.Batch(0, b, x, p.Net.Forward(b, x))
	return compiledPoint{f, r.Marginal}, err
}

// compiledPoint is the Compiled of a Point.
type compiledPoint struct {
	f        *graph.Batch // computes the outputs
	marginal bool         // predictions have variances alone
}

// Predict implements Compiled.
func (p compiledPoint) Predict(_ context.Context, x []float64, g *Gaussian) error {
	out, err := p.f.Run(x)
	if err != nil {
		return err
	}
	c := out[0].Shape()[1]
	n := len(x) / p.f.Width()
	g.ResizeFor(n, c, false, p.marginal)
	g.SetMean(out[0])
	clear(g.Cov)
	return nil
}

// Bytes implements Compiled.
func (p compiledPoint) Bytes() int64 { return int64(p.f.Bytes()) }
