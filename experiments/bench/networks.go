package bench

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

const resNetClasses = 10

// resNet draws a ResNet-20. Its running statistics differ from the statistics of a new network.
func (m maker) resNet() (layers.Sequential, error) {
	spec, err := layers.NewResNet(20, layers.Projection, resNetClasses)
	if err != nil {
		return nil, err
	}
	net, err := spec.New(m.dt, m.Rand)
	if err != nil {
		return nil, err
	}
	for _, p := range layers.State(net) {
		for i := range p.Value.Shape().TotalSize() {
			p.Set(i, p.At(i)+0.2*m.Float64())
		}
	}
	return net, nil
}

// images draws n pictures of CIFAR-10's size.
func (m maker) images(n int) *tensor.Dense { return m.normal(n, 3, 32, 32) }

// resNetForward computes the outputs of a ResNet-20 in evaluation mode.
var resNetForward = made(maker.resNet, func(m maker, net layers.Sequential) (*work, error) {
	b, x := graph.NewBuilder(m.dt), m.images(batch)
	in := b.Input("x", x.Shape()...)
	out := net.Forward(b, in)
	p, err := graph.Compile(b, []*graph.Node{out}, graph.Options{Varying: []*graph.Node{in}})
	if err != nil {
		return nil, err
	}
	if err := p.Bind(in, x); err != nil {
		return nil, err
	}
	_, flops := p.Flops()
	return &work{
		arrays: arrays(net, x, m.oneHot(1, resNetClasses), nil),
		bytes:  int64(p.Bytes()),
		needed: operations(flops, m.dt),
		step:   func(context.Context) error { return p.Run() },
		values: func() values { return values{"outputs": graph.Floats(p.Value(out))} },
	}, nil
})

// mapStep makes a step of Adam on the cross entropy of a perceptron.
func mapStep(spec layers.MLP) func(tensor.Dtype) (*work, error) {
	return made(perceptronOf(spec), func(m maker, net layers.Sequential) (*work, error) {
		return m.train(net, m.normal(batch, spec.Inputs), m.oneHot(batch, spec.Outputs), &train.Adam{})
	})
}

// resNetMAP makes a step of SGD with momentum on the cross entropy of a ResNet-20, whose batch
// norm is in training mode.
var resNetMAP = made(maker.resNet, func(m maker, net layers.Sequential) (*work, error) {
	return m.train(net, m.images(batch), m.oneHot(batch, resNetClasses), &train.SGD{LR: 1e-2, Momentum: 0.9})
})

// train makes a step of an optimizer on the cross entropy of a network.
func (m maker) train(net layers.Network, x, y *tensor.Dense, o train.Optimizer) (*work, error) {
	b := graph.NewBuilder(m.dt)
	batches, err := train.NewBatches(b, x, y, batch, 1)
	if err != nil {
		return nil, err
	}
	given := arrays(net, x, y, nil)
	out, updates := layers.Training(b, net, batches.X())
	obj, err := train.NewGraph(b, train.CrossEntropy(b, batches.Y(), out), net.Params(), batches, updates...)
	if err != nil {
		return nil, err
	}
	return objectiveStep(obj, o, given), nil
}

const laplaceExamples = 10_000

// laplaceFit fits a linearized Laplace approximation with given hyper-parameters.
func laplaceFit(s *laplace.Settings) func(tensor.Dtype) (*work, error) {
	return made(perceptronOf(mnist), func(m maker, net layers.Sequential) (*work, error) {
		x, y := m.laplaceData()
		needed, err := fitNeeds(s, problem(net, x, y))
		return &work{
			arrays: arrays(net, x, y, nil),
			needed: needed,
			step: func(ctx context.Context) error {
				_, err := s.Posterior(ctx, problem(net, x, y), gp.Run{})
				return err
			},
			values: func() values { return values{} },
		}, err
	})
}

// laplacePredict predicts 1,000 points with a linearized Laplace approximation.
func laplacePredict(s *laplace.Settings) func(tensor.Dtype) (*work, error) {
	return made(perceptronOf(mnist), func(m maker, net layers.Sequential) (*work, error) {
		x, y := m.laplaceData()
		probe := m.normal(predicted, mnist.Inputs)
		p, err := s.Posterior(context.Background(), problem(net, x, y), gp.Run{})
		if err != nil {
			return nil, err
		}
		w := predictStep(p, probe, append(arrays(net, x, y, nil), array{"probe", probe}))
		all := w.values
		w.values = func() values { return values{"mean": all()["mean"]} }
		w.needed, err = rowsNeed(s, problem(net, x, y), predicted)
		return w, err
	})
}

// laplaceData draws the inputs and the targets of a fit.
func (m maker) laplaceData() (x, y *tensor.Dense) {
	return m.normal(laplaceExamples, mnist.Inputs), m.oneHot(laplaceExamples, mnist.Outputs)
}
