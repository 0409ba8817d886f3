package valla

import (
	"context"
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
)

// network returns the network in the units of its task: with several targets, each output is divided by the scale of
// its residuals, so that one noise variance serves targets of different units and precision. Where the task has a scale
// of the noise at each input, the outputs are divided by it.
func (m *Model) network() layers.Network {
	if m.Task.Scale != nil {
		return layers.Ratio{Net: m.scaled(), By: m.Task.Scale}
	}
	return m.scaled()
}

// scaled returns the network with each output divided by the scale of its residuals.
func (m *Model) scaled() layers.Sequential {
	r, ok := m.Task.Outputs.(*task.Regression)
	if !ok || r.Noise == nil {
		return m.Net
	}
	factors := make([]float64, len(r.Noise))
	for t, v := range r.Noise {
		factors[t] = 1 / v
	}
	return layers.Rescaled(m.Net, factors)
}

// estimateNoise sets the noise of a regression to the scale of the residuals at examples: the noise variance of one
// target, and the scales of several targets. Other models have no noise.
func (m *Model) estimateNoise(ctx context.Context, e gp.Examples) error {
	r, ok := m.Task.Outputs.(*task.Regression)
	if !ok || !likelihood.Noisy(m.Task.Likelihood()) {
		return nil
	}
	f, err := m.outputs(ctx, e.X)
	if err != nil {
		return err
	}
	own, y, w := *r, graph.Floats(e.Y), m.Task.Likelihood().Width()
	scales := make([]float64, m.Task.Size())
	for t := range scales {
		v := noiseVariance(m.Task.Likelihood(), columns(y, t*w, w, len(y)/e.N()), columns(f, t, 1, len(scales)))
		if held := m.held(v); !(held > 0 && kernel.Finite(held)) {
			return fmt.Errorf("target %q: the mean squared residual is %g, expected a positive number that a %v can hold to take for the noise variance", r.Names[t*w], v, m.Dtype())
		}
		own.NoiseVariance, scales[t] = v, math.Sqrt(v)
	}
	if len(scales) > 1 {
		own.Noise, own.NoiseVariance = scales, 1
	}
	m.Task.Outputs = &own
	return nil
}

// held returns v as the element type of the network holds it.
func (m *Model) held(v float64) float64 {
	if m.Dtype() == tensor.Float32 {
		return float64(float32(v))
	}
	return v
}

// columns returns the w columns from the column first of rows of a width.
func columns(v []float64, first, w, width int) (out []float64) {
	for ; first < len(v); first += width {
		out = append(out, v[first:first+w]...)
	}
	return out
}

// noiseVariance returns the squared scale of the noise of one output at which targets y [N·W] are likeliest around f [N]:
// with Gaussian noise, the mean squared residual.
func noiseVariance(l likelihood.Likelihood, y, f []float64) float64 {
	if likelihood.IsGaussian(l) {
		sum := 0.0
		for i := range y {
			sum += (y[i] - f[i]) * (y[i] - f[i])
		}
		return sum / float64(len(y))
	}
	w, around := l.Width(), math.Log(likelihood.NoiseVariance(l))
	return math.Exp(kernel.Golden(func(log float64) float64 {
		sum, with := 0.0, likelihood.WithNoise(l, math.Exp(log))
		for i := range f {
			sum -= with.LogDensity(y[i*w:(i+1)*w], f[i:i+1])
		}
		return sum
	}, around-noiseRange, around+noiseRange))
}

// noiseRange bounds how far the logarithm of the noise variance of a target lies from the logarithm for all targets.
const noiseRange = 40
