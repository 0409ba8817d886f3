package main

import (
	"context"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// fmgpStep makes a step of FMGP with Adam on rows of a number of inputs, whose outputs of the
// network are given to both sides.
func fmgpStep(inputs, outputs, inducing, size int) func(tensor.Dtype) (*work, error) {
	return func(dt tensor.Dtype) (*work, error) {
		m := newMaker(dt)
		length := math.Sqrt(float64(inputs)) // about the median distance
		given := []array{{"x", m.normal(size, inputs)}, {"y", m.targets(size, outputs)}, {"outputs", m.normal(size, outputs)},
			{"length", graph.NewParam("", []float64{length}, dt, 1).Value}}
		class, labels := make([]int, inducing), make([]int64, inducing)
		for i := range class {
			class[i], labels[i] = i%outputs, int64(i%outputs)
		}
		l, err := fmgp.NewLayer(fmgp.NewKernel(inputs, 0, outputs, length, 1, dt), m.normal(inducing, inputs), class)
		if err != nil {
			return nil, err
		}
		for i := range inducing {
			l.Mean.Set(i, 0.1*m.NormFloat64())
		}
		obj, err := fmgpObjective(l, lik(outputs, dt), given[:3])
		if err != nil {
			return nil, err
		}
		given = append(given, array{"z", clone(l.Z.Value)}, array{"surrogate", clone(l.Mean.Value)},
			array{"class", tensor.New(tensor.WithShape(inducing), tensor.WithBacking(labels))})
		return objectiveStep(obj, &train.Adam{}, given), nil
	}
}

// fmgpObjective is the objective of x, y and the network's outputs.
func fmgpObjective(l *fmgp.Layer, lik likelihood.Likelihood, given []array) (*train.Graph, error) {
	b, feed := graph.NewBuilder(l.Z.Value.Dtype()), fixed{}
	var nodes []*graph.Node
	for _, a := range given {
		n := b.Input(a.name, a.value.Shape()...)
		nodes, feed[n] = append(nodes, n), a.value
	}
	loss := l.Loss(b, nodes[0], nodes[1], nodes[2], fmgp.Objective{Likelihood: lik, Alpha: 1, N: given[0].value.Shape()[0]})
	if err := b.Err(); err != nil {
		return nil, err
	}
	return train.NewGraph(b, loss.Loss, append(l.Params(), lik.Params()...), feed)
}

// fixed is a train.Feed of one mini-batch that is always the same.
type fixed map[*graph.Node]*tensor.Dense

func (f fixed) Inputs() map[*graph.Node]*tensor.Dense { return f }
func (fixed) Parts() int                              { return 1 }
func (fixed) Load(int, int) error                     { return nil }

// Sizes of a fit of ELLA.
const (
	ellaRows   = 1000
	ellaPoints = 100
	ellaRank   = 10 // the classes' directions, which stand apart from the others
	ellaPrior  = 0.2
	ellaProbe  = 20 // rows whose covariances are compared
)

// ellaFit fits ELLA to a perceptron's classes, with points that carry the outputs of their
// classes. Both sides have the same points.
func ellaFit(dt tensor.Dtype) (*work, error) {
	m := newMaker(dt)
	net, err := mnist.New(dt, m.Rand)
	if err != nil {
		return nil, err
	}
	x, y, probe := m.normal(ellaRows, mnist.Inputs), m.oneHot(ellaRows, mnist.Outputs), m.normal(ellaProbe, mnist.Inputs)
	s := ella.Settings{Points: ellaPoints, Rank: ellaRank, PointOutput: "label", PriorStd: ellaPrior}
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: x, Y: y}}
	var fitted *gp.Fitted
	w := &work{step: func(ctx context.Context) (err error) {
		fitted, err = s.Fit(ctx, p, gp.Run{})
		return err
	}, values: func() values {
		g, err := gp.Predict(context.Background(), fitted.Posterior, probe)
		if err != nil {
			return values{}
		}
		return values{"covariance": g.Cov}
	}}
	if err := w.step(context.Background()); err != nil { // which draws the points
		return nil, err
	}
	w.arrays = append(arrays(layers.Network(net), x, y, nil), array{"probe", probe},
		array{"prior_std", graph.NewParam("", []float64{ellaPrior}, dt, 1).Value}, array{"rank", graph.NewParam("", []float64{ellaRank}, dt, 1).Value})
	w.arrays = append(w.arrays, pointArrays(fitted.Posterior.(*ella.Posterior))...)
	return w, nil
}

// pointArrays returns the points of a posterior with their outputs.
func pointArrays(p *ella.Posterior) []array {
	z, output := p.Points()
	class := make([]int64, len(output))
	for i, c := range output {
		class[i] = int64(c)
	}
	return []array{{"z", z}, {"class", tensor.New(tensor.WithShape(len(class)), tensor.WithBacking(class))}}
}
