package valla

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
)

// SampleOptions say what [Model.Sample] draws.
type SampleOptions struct {
	Samples int    // number of functions; at least 1
	Noise   bool   // in regression: draw targets, which scatter around the function, instead of the function
	Seed    uint64 // seed of the samples
}

// Sample draws functions from the posterior and returns their values at all rows of x [N,…]
// together: targets [S,N,T] in the units of the data, or in classification the class probabilities [S,N,C] of
// each function. Values with the same first index belong to one function, so that sums, differences and maxima
// over rows are meaningful. With Noise the targets have the observation model or the laws of the residuals. A temperature or a vector of a calibration counts, conformal intervals do not.
//
// Sample needs a posterior that knows the covariance between rows; the methods with Joint in their [gp.Method]
// have such posteriors. Sample needs memory for two matrices of (N·C)² numbers. If there is too little memory,
// the error is a *graph.MemoryError.
func (m *Model) Sample(ctx context.Context, x *tensor.Dense, o SampleOptions) (_ *tensor.Dense, err error) {
	defer explain("sample", &err)
	if o.Samples < 1 {
		return nil, settings.Errorf("%d samples, expected at least one", o.Samples)
	}
	if o.Noise && m.Task.Classifies() {
		return nil, settings.Errorf("samples with noise of classes, which have none")
	}
	p, err := m.joint()
	if err != nil {
		return nil, err
	}
	in, err := m.Task.Inputs.Apply(x, m.Dtype())
	if err != nil {
		return nil, err
	}
	n, c := in.Shape()[0], m.Task.Size()
	size := int64(n) * int64(c)
	if err := graph.CheckMemory(fmt.Sprintf("the covariance of %d rows", n), 16*size*(size+int64(o.Samples))); err != nil {
		return nil, err
	}
	rng := holdout.Rand(o.Seed, holdout.Samples)
	drawn, err := gp.Sample(ctx, p, in, o.Samples, rng)
	if err != nil {
		return nil, err
	}
	if o.Noise {
		return m.scattered(ctx, in, drawn.Float64s(), rng)
	}
	return m.sampled(ctx, in, drawn.Float64s(), o.Samples, n, c)
}

// scattered returns targets [S,N,T] in the units of the data that scatter around values f [S,N,T] of the network's
// outputs at the inputs in.
func (m *Model) scattered(ctx context.Context, in *tensor.Dense, f []float64, rng *rand.Rand) (*tensor.Dense, error) {
	p, err := m.predict(ctx, in, PredictOptions{}, nil)
	if err != nil {
		return nil, err
	}
	n, c := in.Shape()[0], m.Task.Size()
	for i, v := range f {
		f[i] = p.Scatter(i/c%n, i%c, v, rng)
	}
	return tensor.New(tensor.WithShape(len(f)/(n*c), n, c), tensor.WithBacking(f)), nil
}

// sampled turns values [S,N,C] of the network's outputs at the inputs in into the units of the data, or into
// probabilities.
func (m *Model) sampled(ctx context.Context, in *tensor.Dense, f []float64, shape ...int) (*tensor.Dense, error) {
	c := shape[2]
	if m.Task.Classifies() {
		for row := range slices.Chunk(f, c) {
			kernel.Softmax(row, row)
		}
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(f)), nil
	}
	if s := m.Task.Scale; s != nil {
		units, err := s.Units(ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range f {
			f[i] *= units[i%len(units)]
		}
	}
	values := m.Task.Decode(tensor.New(tensor.WithShape(len(f)/c, c), tensor.WithBacking(f)))
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values.Float64s())), nil
}

// joint returns the joint distribution of the network's outputs.
func (m *Model) joint() (gp.JointPosterior, error) {
	var can []string
	for _, how := range method.All() {
		if how.Joint {
			can = append(can, how.Name)
		}
	}
	expected := "expected a posterior of one of the methods " + strings.Join(can, ", ")
	if m.Posterior == nil {
		return nil, settings.Errorf("a network without a posterior has no functions to draw: %s", expected)
	}
	p, ok := m.Posterior.Stored.(gp.JointPosterior)
	if !ok {
		return nil, settings.Errorf("%s does not know the covariance between rows, which samples of functions need: %s", m.Posterior, expected)
	}
	if by := m.affine(); by.Mean != nil {
		return gp.ScaledJoint{JointPosterior: p, By: by}, nil
	}
	return p, nil
}
