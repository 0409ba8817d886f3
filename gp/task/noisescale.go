package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Scale is the scale of the noise as a network gives it for each input, such as the second output of a network that was
// trained by the Gaussian likelihood with a variance for each row. Targets and outputs count in this unit, so that the
// noise variance in the network's units is a factor of the network's own variances, 1 where these are right.
type Scale struct {
	Of    ScaleOf           // what the outputs of Net are
	Form  layers.Form       // describes Net
	Net   layers.Sequential // outputs [B,T]; all its arrays are certain, see Own
	Dtype tensor.Dtype      // element type of Net
}

// Own makes net, which nothing else uses, the network of s. Its arrays get names that no other network has.
func (s *Scale) Own(net layers.Sequential) {
	s.Net = net
	for _, p := range layers.Arrays(net) {
		p.Name = "scale/" + p.Name
	}
}

// ScaleOf says what a network tells about the noise.
type ScaleOf string

// What networks tell about the noise.
const (
	LogVariance ScaleOf = "log-variance"
	Variance    ScaleOf = "variance"
)

// Check returns an error for an unknown name.
func (o ScaleOf) Check() error {
	if o != LogVariance && o != Variance {
		return settings.Errorf("noise head %q, expected %q or %q", o, LogVariance, Variance)
	}
	return nil
}

// Forward implements layers.Network: the standard deviations [B,T] of the noise.
func (s *Scale) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	v := s.Net.Forward(b, x)
	if s.Of == LogVariance {
		return b.Exp(b.Scale(v, 0.5))
	}
	return b.Sqrt(v)
}

// Params implements layers.Network: all arrays are certain.
func (s *Scale) Params() []*graph.Param { return nil }

// check returns an error if the scale does not suit a task.
func (s *Scale) check(t Task) error {
	if err := s.Of.Check(); err != nil {
		return err
	}
	r, ok := t.Outputs.(*Regression)
	if !ok || r.width() != 1 || !positive(r.NoiseVariance) {
		return fmt.Errorf("a scale of the noise of %s, expected a regression with noise", t.Kind())
	}
	if in, c := s.Form.InputShape(), layers.OutputSize(s.Form); !slices.Equal(in, t.Inputs.Shape) || c != t.Size() {
		return fmt.Errorf("the scale of the noise takes examples of shape %v and has %d outputs, expected %v and %d", in, c, t.Inputs.Shape, t.Size())
	}
	return nil
}

// Posterior returns the scales as means of a posterior of certain weights.
func (s *Scale) Posterior() gp.Point {
	return gp.Point{Net: s, Dtype: s.Dtype}
}

// Units returns the scales of the noise [N,T] at inputs x [N,…] in the network's units. A scale that is not positive is an
// error that names its row.
func (s *Scale) Units(ctx context.Context, x *tensor.Dense) ([]float64, error) {
	all, err := s.Posterior().Mean(ctx, x)
	if err != nil {
		return nil, err
	}
	units := all.Float64s()
	for i, u := range units {
		if !positive(u) {
			return nil, fmt.Errorf("row %d (counting from 0): the standard deviation of the noise is %g, expected a positive number", i*x.Shape()[0]/len(units), u)
		}
	}
	return units, nil
}

// Scaled returns examples with their targets in units of the scale.
func (s *Scale) Scaled(e gp.Examples) (gp.Examples, error) {
	y, err := s.apply(e.X, e.Y, func(v, unit float64) float64 { return v / unit })
	return gp.Examples{X: e.X, Y: y}, err
}

// apply returns f of each target of y [N,T] and the scale of its noise at the inputs x [N,…].
func (s *Scale) apply(x, y *tensor.Dense, f func(v, unit float64) float64) (*tensor.Dense, error) {
	units, err := s.Units(context.Background(), x)
	if err != nil {
		return nil, err
	}
	out := graph.Floats(y)
	for i, u := range units {
		out[i] = f(out[i], u)
	}
	return graph.Convert(tensor.New(tensor.WithShape(y.Shape()...), tensor.WithBacking(out)), y.Dtype()), nil
}
