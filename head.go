package valla

import (
	"context"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// head is what a network of two outputs for each of T targets learns: outputs [B,2T], of which the first T are the first
// outputs of all targets. The rows tell each target alone, so that a loss is the sum of the losses of the targets.
type head struct {
	name string // tells trainings apart
	// node writes the losses of targets y and their two outputs, [B,T] each.
	node func(b *graph.Builder, y, first, second *graph.Node) *graph.Node
	one  func(y, first, second float64) float64 // the loss of one target
}

// noiseHead learns the mean and the logarithm h of the noise variance by the Gaussian likelihood (Nix and Weigend 1994,
// Estimating the mean and variance of the target probability distribution): ½(h + (y − f)²·e^−h), a constant left out.
var noiseHead = &head{
	name: "noise head " + string(task.LogVariance),
	node: func(b *graph.Builder, y, f, h *graph.Node) *graph.Node {
		return b.Scale(b.Add(h, b.Mul(b.Square(b.Sub(y, f)), b.Exp(b.Neg(h)))), 0.5)
	},
	one: func(y, f, h float64) float64 { return 0.5 * (h + (y-f)*(y-f)*math.Exp(-h)) },
}

// loss is the mean of the losses over a batch.
func (h *head) loss(b *graph.Builder, y, f *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	t := y.Shape()[1]
	all := h.node(b, y, b.Slice(f, 1, 0, t), b.Slice(f, 1, t, 2*t))
	return b.Scale(b.Sum(all), 1/float64(y.Shape()[0]))
}

// heldLoss returns the loss of the targets y [T] and the outputs f [2T] of one row.
func (h *head) heldLoss(y, f []float64) (sum float64) {
	for t := range y {
		sum += h.one(y[t], f[t], f[len(y)+t])
	}
	return sum
}

// headed completes the options of a network that tells the noise of each row.
func (o TrainOptions) headed() (TrainOptions, error) {
	if o.NoiseHead != "" {
		switch {
		case o.NoiseHead != task.LogVariance:
			return o, settings.Errorf("noise head %q of a network that is trained here, expected %q", o.NoiseHead, task.LogVariance)
		case o.Classes || o.Likelihood != nil:
			return o, settings.Errorf("a noise head of a network of classes or of a likelihood, expected a regression")
		}
		o.head = noiseHead
	}
	if o.chosen && o.head != o.by { // other losses need other steps
		o.Training.Iterations, o.Training.WeightDecay, o.Training.KeepLast = 0, nil, false
	}
	return o, nil
}

// widen gives the network two outputs for each target, with random weights, if it has a head.
func (t *training) widen() error {
	if t.form = t.model.Form; t.o.head == nil {
		return nil
	}
	wide, err := layers.Widened(t.form, 2*t.model.Task.Size())
	if err != nil {
		return err
	}
	net, err := layers.Build(wide, t.model.Dtype(), holdout.Rand(t.o.Seed+t.o.member, holdout.Weights))
	t.model.Form, t.model.Net = wide, net
	return err
}

// halve makes the second outputs of a network of the form f, which was widened, the scale of the noise.
func (m *Model) halve(f layers.Form) error {
	scale, err := layers.Narrowed(m.Net, f, m.Task.Size())
	if err != nil {
		return err
	}
	s := &task.Scale{Of: task.LogVariance, Form: f, Dtype: m.Dtype()}
	s.Own(scale)
	m.Net, err = layers.Narrowed(m.Net, f, 0)
	m.Form, m.Task.Scale = f, s
	return err
}

// noise gives m, which is the network of the training or of a trial, its noise by examples. The second outputs of a noise head
// become its scale.
func (t *training) noise(ctx context.Context, m *Model, e gp.Examples) (err error) {
	if t.o.NoiseHead == "" {
		return m.estimateNoise(ctx, e)
	}
	if m.Task.Scale == nil {
		if err := m.halve(t.form); err != nil {
			return err
		}
	}
	if e, err = m.Task.Scale.Scaled(e); err != nil {
		return err
	}
	return m.estimateNoise(ctx, e)
}
