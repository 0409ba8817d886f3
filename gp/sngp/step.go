package sngp

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// loss is what one mini-batch gives.
type loss struct {
	steps.Step             // Loss is Data with the penalty of l2
	Data       *graph.Node // the mean of the loss over the mini-batch
}

// loss writes the objective at inputs x [B,…] and targets y [B,C], after one step of power
// iteration.
func (f *fitting) loss(b *graph.Builder, x, y *graph.Node) loss {
	var l loss
	f.raw.Use(b)
	for _, s := range f.bounded {
		w, updates := s.next(b)
		own, _ := s.Weights()
		b.Let(own, w)
		l.Updates = append(l.Updates, updates...)
	}
	h := f.units(b, x, &l)
	phi := f.post.head.Features(b, h)
	l.Data = f.data(b, y, f.post.head.Values(b, phi))
	if l.Loss = l.Data; f.s.L2 != 0 {
		for _, w := range f.post.net.linear {
			l.Loss = b.Add(l.Loss, b.Scale(b.Sum(b.Square(b.Param(f.raw.Params()[w.array]))), f.s.L2))
		}
	}
	if f.average != nil && b.Err() == nil {
		n, m := phi.Shape()[0], phi.Shape()[1]
		features := graph.NewParam(nameFeatures, make([]float64, n*m), b.Dtype(), n, m)
		l.Updates = append(l.Updates, layers.Update{Param: features, Value: phi})
		l.Wrap = func(g *train.Graph) train.Objective {
			return &averaging{Graph: g, keep: *f.s.Average, features: features.Value, average: f.average}
		}
	}
	return l
}

// units writes the hidden units in training, with what stands for the network's arrays.
func (f *fitting) units(b *graph.Builder, x *graph.Node, l *loss) *graph.Node {
	if f.s.BatchNorm != normTraining {
		return f.post.net.hidden.Forward(b, x)
	}
	h, updates := layers.Training(b, f.post.net.hidden, x)
	l.Updates = append(l.Updates, f.raw.Own(updates)...)
	return h
}

// data writes the loss of values.
func (f *fitting) data(b *graph.Builder, y, values *graph.Node) *graph.Node {
	if f.classes() {
		return train.CrossEntropy(b, y, values)
	}
	return train.SquaredError(b, y, values)
}

// steps describes the fit in steps.
func (f *fitting) steps() (*steps.Graph, error) {
	elements, err := f.post.cov.size(0)
	h := f.post.head
	g := &steps.Graph{
		What: fmt.Sprintf("sngp: a step with %d random features", f.s.Features), BatchSize: f.s.BatchSize,
		Trained: f.params(), Beside: cmp.Or(f.beside, f.averagingBytes()+2*8*int64(elements)),
		Write: func(b *graph.Builder, x, y *graph.Node) steps.Step { return f.loss(b, x, y).Step },
		Fit: steps.Fit{
			Problem: f.p, Run: f.r, Settings: &f.s, Likelihood: f.p.Likelihood, Held: f.held,
			Identity: []string{
				"SNGP with" + f.s.ofTraining(),
				fmt.Sprintf("frequencies %s, phases %s", train.Checksum(h.W.Value), train.Checksum(h.Phase.Value)),
			},
			Loop: train.Config{
				Iterations: f.s.Iterations, Optimizer: f.s.optimizer(), Schedule: f.s.course(),
				ValidateEvery: f.s.ValidateEvery, KeepLast: f.s.KeepLast, CheckpointEvery: checkpointEvery,
			},
		},
	}
	if f.s.Augment {
		g.Rows = f.p.Augmented
	}
	return g, err
}

// held returns the values [N·C] of the held-out rows, by the weights as they are now.
func (f *fitting) held(ctx context.Context) (gp.Gaussian, error) {
	if err := f.refresh(); err != nil {
		return gp.Gaussian{}, err
	}
	var mean []float64
	err := f.post.each(ctx, f.p.Validation.X, func(_ int, _, values []float64) error {
		mean = append(mean, values...)
		return nil
	})
	return gp.Certain(mean, f.p.Outputs()), err
}
