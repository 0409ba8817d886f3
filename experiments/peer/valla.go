package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// maker draws the arrays of a piece of work. It draws the same arrays every time.
type maker struct {
	*rand.Rand
	dt tensor.Dtype // the element type of all arrays
}

func newMaker(dt tensor.Dtype) maker { return maker{rand.New(rand.NewPCG(1, 2)), dt} }

// normal draws a standard normal array.
func (m maker) normal(shape ...int) *tensor.Dense {
	v := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range v {
		v[i] = m.NormFloat64()
	}
	return graph.Convert(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v)), m.dt)
}

// oneHot returns one-hot targets of n examples. The classes take turns.
func (m maker) oneHot(n, classes int) *tensor.Dense {
	v := make([]float64, n*classes)
	for i := range n {
		v[i*classes+i%classes] = 1
	}
	return graph.Convert(tensor.New(tensor.WithShape(n, classes), tensor.WithBacking(v)), m.dt)
}

// targets returns targets of n examples: numbers for one output, and classes otherwise.
func (m maker) targets(n, outputs int) *tensor.Dense {
	if outputs == 1 {
		return m.normal(n, 1)
	}
	return m.oneHot(n, outputs)
}

const (
	priorStd      = 0.1
	noiseVariance = 0.1
	memoryLimit   = 4 << 30 // of a step on a ResNet
)

// layer returns a VaLLA layer on a network with the given number of outputs. Its L is not the
// identity and its σ₀ is not 1, so that a comparison depends on both.
func (m maker) layer(net layers.Network, z *tensor.Dense, outputs int) (*valla.Layer, error) {
	class := make([]int, z.Shape()[0])
	for i := range class {
		class[i] = i % outputs
	}
	l, err := valla.New(jacobian.NTK{Net: net}, z, class)
	if err != nil {
		return nil, err
	}
	for i := range l.L.Value.Shape()[0] {
		l.L.Set(i, l.L.At(i)+0.05*m.NormFloat64())
	}
	l.LogPriorStd.Set(0, math.Log(priorStd))
	return l, nil
}

// perceptron draws a network and a layer on it.
func (m maker) perceptron(spec layers.MLP, inducing int) (layers.Network, *valla.Layer, error) {
	net, err := spec.New(m.dt, m.Rand)
	if err != nil {
		return nil, nil, err
	}
	l, err := m.layer(net, m.normal(inducing, spec.Inputs), spec.Outputs)
	return net, l, err
}

// arrays returns the arrays for the other side: x, y, the network, and the layer if it is not
// nil.
func arrays(net layers.Network, x, y *tensor.Dense, l *valla.Layer) []array {
	list := []array{{"x", x}, {"y", y}}
	for _, p := range layers.Arrays(net) {
		list = append(list, array{"net." + p.Name, clone(p.Value)})
	}
	if l == nil {
		return list
	}
	class := make([]int64, len(l.Class))
	for i, c := range l.Class {
		class[i] = int64(c)
	}
	noise := graph.NewScalar("noise", math.Log(noiseVariance), l.Z.Value.Dtype())
	return append(list, array{"z", clone(l.Z.Value)}, array{"l", clone(l.L.Value)},
		array{"class", tensor.New(tensor.WithShape(len(class)), tensor.WithBacking(class))},
		array{"log_prior_std", clone(l.LogPriorStd.Value)}, array{"log_noise_variance", noise.Value})
}

func clone(t *tensor.Dense) *tensor.Dense { return t.Clone().(*tensor.Dense) }

// lik returns the likelihood of targets with the given number of columns.
func lik(outputs int, dt tensor.Dtype) likelihood.Likelihood {
	if outputs == 1 {
		return likelihood.NewGaussian(noiseVariance, dt)
	}
	return likelihood.Softmax{}
}

// vallaStep makes a step of VaLLA with Adam on a perceptron. The mini-batch is the whole data
// set, so that the order of examples does not matter.
func vallaStep(spec layers.MLP, inducing, size int) func(tensor.Dtype) (*work, error) {
	return vallaStepOf(spec, inducing, size, size)
}

// vallaStepOf makes the step with mini-batches of a size, of a data set with more rows.
func vallaStepOf(spec layers.MLP, inducing, size, rows int) func(tensor.Dtype) (*work, error) {
	return func(dt tensor.Dtype) (*work, error) {
		m := newMaker(dt)
		net, l, err := m.perceptron(spec, inducing)
		if err != nil {
			return nil, err
		}
		f := valla.Fit{Net: net, Layer: l, Likelihood: lik(spec.Outputs, dt), BatchSize: size}
		return fitStep(f, m.normal(rows, spec.Inputs), m.targets(rows, spec.Outputs))
	}
}

// resNetStep makes the same step on a ResNet-20.
func resNetStep(inducing int) func(tensor.Dtype) (*work, error) {
	return func(dt tensor.Dtype) (*work, error) {
		m := newMaker(dt)
		net, err := m.resNet()
		if err != nil {
			return nil, err
		}
		l, err := m.layer(net, m.images(inducing), resNetClasses)
		if err != nil {
			return nil, err
		}
		f := valla.Fit{Net: net, Layer: l, Likelihood: lik(resNetClasses, dt), BatchSize: batch, MemoryLimit: memoryLimit}
		return fitStep(f, m.images(batch), m.oneHot(batch, resNetClasses))
	}
}

// fitStep returns the work of a step of a fit.
func fitStep(f valla.Fit, x, y *tensor.Dense) (*work, error) {
	obj, err := f.Objective(train.Rows{All: x}, y)
	if err != nil {
		return nil, err
	}
	return objectiveStep(obj, &train.Adam{}, arrays(f.Net, x, y, f.Layer)), nil
}

// objectiveStep returns the work of a step of an optimizer.
func objectiveStep(obj *train.Graph, o train.Optimizer, given []array) *work {
	iteration, loss := 0, 0.0
	_, flops := obj.Program().Flops()
	return &work{
		arrays: given,
		bytes:  int64(obj.Program().Bytes()),
		flops:  int64(flops),
		step: func(ctx context.Context) (err error) {
			if loss, err = obj.Evaluate(ctx, iteration); err != nil {
				return fmt.Errorf("step %d: %w", iteration, err)
			}
			iteration++
			return o.Step(obj.Params(), 1)
		},
		values: func() values { return values{"loss": {loss}} },
	}
}

// vallaPredict predicts mean and covariance of 1,000 points, and the probit probabilities of
// classes. The first step also computes the parts that depend on Z, L and σ₀ alone.
func vallaPredict(spec layers.MLP, inducing int) func(tensor.Dtype) (*work, error) {
	return func(dt tensor.Dtype) (*work, error) {
		m := newMaker(dt)
		net, l, err := m.perceptron(spec, inducing)
		if err != nil {
			return nil, err
		}
		x := m.normal(predicted, spec.Inputs)
		return predictStep(valla.NewPosterior(net, l), x, arrays(net, x, m.targets(1, spec.Outputs), l)), nil
	}
}

// predictStep returns the work of a prediction of a posterior at x.
func predictStep(p gp.Posterior, x *tensor.Dense, given []array) *work {
	var g gp.Gaussian
	var probs []float64
	e, fault := gp.NewEngine(p, x.Shape()[1:], gp.EngineOptions{})
	return &work{
		arrays: given,
		step: func(ctx context.Context) (err error) {
			if err = fault; err == nil {
				g, err = e.PredictAll(ctx, x)
			}
			if err == nil && g.Outputs() > 1 {
				probs = gp.Probit(probs, g)
			}
			return err
		},
		values: func() values {
			v := values{"mean": g.Mean, "covariance": g.Cov}
			if probs != nil {
				v["probabilities"] = probs
			}
			return v
		},
	}
}
