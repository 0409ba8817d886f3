package sngp

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// loss is what one mini-batch gives.
type loss struct {
	Total   *graph.Node // with the penalty of l2
	Data    *graph.Node // the mean over the mini-batch
	updates []layers.Update

	features *graph.Param // becomes φ [B,m], of which a moving average is made; nil without
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
		l.updates = append(l.updates, updates...)
	}
	h := f.units(b, x, &l)
	phi := f.post.head.Features(b, h)
	l.Data = f.data(b, y, f.post.head.Values(b, phi))
	if l.Total = l.Data; f.s.L2 != 0 {
		for _, w := range f.post.net.linear {
			l.Total = b.Add(l.Total, b.Scale(b.Sum(b.Square(b.Param(f.raw.Params()[w.array]))), f.s.L2))
		}
	}
	if f.average != nil && b.Err() == nil {
		n, m := phi.Shape()[0], phi.Shape()[1]
		l.features = graph.NewParam(nameFeatures, make([]float64, n*m), b.Dtype(), n, m)
		l.updates = append(l.updates, layers.Update{Param: l.features, Value: phi})
	}
	return l
}

// units writes the hidden units in training, with what stands for the network's arrays.
func (f *fitting) units(b *graph.Builder, x *graph.Node, l *loss) *graph.Node {
	if f.s.BatchNorm != normTraining {
		return f.post.net.hidden.Forward(b, x)
	}
	h, updates := layers.Training(b, f.post.net.hidden, x)
	l.updates = append(l.updates, f.raw.Own(updates)...)
	return h
}

// data writes the loss of values.
func (f *fitting) data(b *graph.Builder, y, values *graph.Node) *graph.Node {
	if f.classes() {
		return train.CrossEntropy(b, y, values)
	}
	return train.SquaredError(b, y, values)
}

// objective builds the graph that a step runs. A mini-batch that needs more than the memory is
// computed in parts, if nothing else than the gradient is made of it.
func (f *fitting) objective() (train.Objective, error) {
	what := fmt.Sprintf("sngp: a step with %d random features", f.s.Features)
	size, _, err := graph.Tile(what, f.s.BatchSize, f.r.Memory, f.stepBytes)
	if err != nil {
		return nil, err
	}
	b := graph.NewBuilder(f.p.Dtype())
	var rows train.Source = train.Rows{All: f.p.Train.X}
	if f.s.Augment {
		rows = f.p.Augmented
	}
	batches, err := train.NewBatchesOf(b, rows, f.p.Train.Y, f.s.BatchSize, f.s.BatchSize/size, f.r.Seed)
	if err != nil {
		return nil, fmt.Errorf("sngp: %w", err)
	}
	l := f.loss(b, batches.X(), batches.Y())
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("sngp: %w", err)
	}
	return f.compiled(b, l, batches)
}

const (
	// copiesTrained of each trained array exist: its values, its sum of gradients, two moments
	// of Adam, its best values.
	copiesTrained = 5
	// runtimeBytes is what any program takes, and what kernels use as a workspace.
	runtimeBytes = 64 << 20
)

// stepBytes is the memory of a step on size examples at a time, and of the covariance.
func (f *fitting) stepBytes(size int) (int64, error) {
	if f.average != nil || f.s.BatchNorm == normTraining {
		size = f.s.BatchSize // such a step has no parts
	}
	b := graph.NewBuilder(f.p.Dtype())
	x := b.Input("x", append([]int{size}, f.post.net.input...)...)
	y := b.Input("y", size, f.p.Outputs())
	l := f.loss(b, x, y)
	if b.Err() != nil {
		return 0, fmt.Errorf("sngp: %w", b.Err())
	}
	varying := append(nodes(b, f.params()), x, y)
	outputs := append(graph.Grad(b, l.Total, nodes(b, f.params())...), l.Total)
	numbers := 0
	for _, p := range f.params() {
		numbers += copiesTrained * p.Value.Shape().TotalSize()
	}
	for _, u := range l.updates {
		varying, outputs = append(varying, b.Param(u.Param)), append(outputs, u.Value)
		numbers += copiesTrained * u.Param.Value.Shape().TotalSize()
	}
	program, err := graph.Plan(b, outputs, graph.Options{Varying: varying})
	if err != nil {
		return 0, err
	}
	elements, err := f.post.cov.size(0)
	return runtimeBytes + f.averagingBytes() + int64(program) + int64(b.Dtype().Size())*int64(numbers) + 2*8*int64(elements), err
}

// validate is the mean loss of the validation rows, by the weights as they are now.
func (f *fitting) validate(ctx context.Context) (float64, error) {
	if err := f.refresh(); err != nil {
		return 0, err
	}
	y := graph.Floats(f.p.Validation.Y)
	sum, c := 0.0, f.p.Outputs()
	err := f.post.each(ctx, f.p.Validation.X, func(first int, _, values []float64) error {
		for i := 0; i < len(values); i += c {
			sum -= f.p.Likelihood.LogDensity(y[first*c+i:first*c+i+c], values[i:i+c])
		}
		return nil
	})
	return sum / float64(f.p.Validation.N()), err
}
