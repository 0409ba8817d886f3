package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
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

// parameters are the arrays of a posterior, as a file holds them.
type parameters struct {
	header map[string]any
	arrays []array
	class  []int // the output of each inducing point
}

// Header implements gp.Saved.
func (p *parameters) Header(v any) error {
	text, err := json.Marshal(p.header)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// Array implements gp.Saved.
func (p *parameters) Array(name string, _ tensor.Dtype, _ ...int) (*tensor.Dense, error) {
	for _, a := range p.arrays {
		if a.name == name {
			return a.value, nil
		}
	}
	return nil, fmt.Errorf("no array %s", name)
}

// inducing says which outputs inducing points carry: they take turns.
func inducing(points, outputs int) []int {
	class := make([]int, points)
	for i := range class {
		class[i] = i % outputs
	}
	return class
}

// layer returns VaLLA's parameters for a network with the given number of outputs, at inducing
// inputs z. Its L is not the identity and its σ₀ is not 1, so that a comparison depends on both.
func (m maker) layer(z *tensor.Dense, outputs int) *parameters {
	points := z.Shape()[0]
	class, l := inducing(points, outputs), make([]float64, points*(points+1)/2)
	for i := range points {
		l[i*(i+3)/2] = 1
	}
	for i := range l {
		l[i] += 0.05 * m.NormFloat64()
	}
	return &parameters{
		header: map[string]any{"inducing": points, "class": class, "inputs": z.Shape()[1:]}, class: class,
		arrays: []array{
			{"valla.z", z}, {"valla.l", graph.NewParam("", l, m.dt, len(l)).Value},
			{"valla.log_prior_std", graph.NewParam("", []float64{math.Log(priorStd)}, m.dt, 1).Value},
		},
	}
}

// posterior returns the posterior of parameters on a network.
func (p *parameters) posterior(of gp.Method, net layers.Network, l likelihood.Likelihood) (gp.Stored, error) {
	return of.Restore(context.Background(), net, l, p)
}

// made returns the constructor of a piece of work on a network that draw makes.
func made(draw func(maker) (layers.Sequential, error), then func(maker, layers.Sequential) (*work, error)) func(tensor.Dtype) (*work, error) {
	return func(dt tensor.Dtype) (*work, error) {
		m := newMaker(dt)
		net, err := draw(m)
		if err != nil {
			return nil, err
		}
		return then(m, net)
	}
}

// perceptronOf returns a function that draws a perceptron.
func perceptronOf(spec layers.MLP) func(maker) (layers.Sequential, error) {
	return func(m maker) (layers.Sequential, error) { return spec.New(m.dt, m.Rand) }
}

// arrays returns the arrays for the other side: x, y, the network, and the layer if it is not
// nil.
func arrays(net layers.Network, x, y *tensor.Dense, l *parameters) []array {
	list := []array{{"x", x}, {"y", y}}
	for _, p := range layers.Arrays(net) {
		list = append(list, array{"net." + p.Name, clone(p.Value)})
	}
	if l == nil {
		return list
	}
	noise := graph.NewParam("noise", []float64{math.Log(noiseVariance)}, x.Dtype(), 1)
	return append(list, array{"z", clone(l.arrays[0].value)}, array{"l", clone(l.arrays[1].value)}, array{"class", labels(l.class)},
		array{"log_prior_std", clone(l.arrays[2].value)}, array{"log_noise_variance", noise.Value})
}

// labels returns outputs as an array for the other side.
func labels(class []int) *tensor.Dense {
	out := make([]int64, len(class))
	for i, c := range class {
		out[i] = int64(c)
	}
	return tensor.New(tensor.WithShape(len(out)), tensor.WithBacking(out))
}

func clone(t *tensor.Dense) *tensor.Dense { return t.Clone().(*tensor.Dense) }

// lik returns the likelihood of targets with the given number of columns.
func lik(outputs int, dt tensor.Dtype) likelihood.Likelihood {
	if outputs == 1 {
		return likelihood.NewGaussian(noiseVariance, dt)
	}
	return likelihood.Softmax{}
}

// problem returns the problem of a network and examples x, y. The network has an output for each column of y.
func problem(net layers.Network, x, y *tensor.Dense) gp.Problem {
	return gp.Problem{Net: net, Likelihood: lik(y.Shape()[1], x.Dtype()), Train: gp.Examples{X: x, Y: y}}
}

// vallaStep makes a step of VaLLA with Adam on a perceptron, with mini-batches of a size. Where the data set
// has as many rows, the order of examples does not matter.
func vallaStep(spec layers.MLP, inducing, size, rows int) func(tensor.Dtype) (*work, error) {
	return made(perceptronOf(spec), func(m maker, net layers.Sequential) (*work, error) {
		l := m.layer(m.normal(inducing, spec.Inputs), spec.Outputs)
		return fitStep(l, problem(net, m.normal(rows, spec.Inputs), m.targets(rows, spec.Outputs)), size, 0)
	})
}

// resNetStep makes the same step on a ResNet-20.
func resNetStep(inducing int) func(tensor.Dtype) (*work, error) {
	return made(maker.resNet, func(m maker, net layers.Sequential) (*work, error) {
		l := m.layer(m.images(inducing), resNetClasses)
		return fitStep(l, problem(net, m.images(batch), m.oneHot(batch, resNetClasses)), batch, memoryLimit)
	})
}

// stepper is a posterior that makes steps of a fit from where it is.
type stepper interface {
	Objective(ctx context.Context, p gp.Problem, r gp.Run, batch int) (*train.Graph, error)
}

// fitStep returns the work of a step of VaLLA on a mini-batch of a problem, within a memory.
func fitStep(l *parameters, p gp.Problem, size int, memory int64) (*work, error) {
	given := arrays(p.Net, p.Train.X, p.Train.Y, l)
	q, err := l.posterior(valla.Method, p.Net, p.Likelihood)
	if err != nil {
		return nil, err
	}
	obj, err := q.(stepper).Objective(context.Background(), p, gp.Run{Memory: memory}, size)
	if err != nil {
		return nil, err
	}
	return objectiveStep(obj, &train.Adam{}, given), nil
}

// objectiveStep returns the work of a step of an optimizer.
func objectiveStep(obj *train.Graph, o train.Optimizer, given []array) *work {
	iteration, loss := 0, 0.0
	_, flops := obj.Program().Flops()
	return &work{
		arrays: given,
		bytes:  int64(obj.Program().Bytes()),
		needed: operations(flops, given[0].value.Dtype()),
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
	return made(perceptronOf(spec), func(m maker, net layers.Sequential) (*work, error) {
		l, x := m.layer(m.normal(inducing, spec.Inputs), spec.Outputs), m.normal(predicted, spec.Inputs)
		given := arrays(net, x, m.targets(1, spec.Outputs), l)
		q, err := l.posterior(valla.Method, net, lik(spec.Outputs, m.dt))
		if err != nil {
			return nil, err
		}
		w := predictStep(q, x, given)
		w.needed, err = rowsNeed(&valla.Settings{Inducing: inducing}, problem(net, x, m.targets(predicted, spec.Outputs)), predicted)
		return w, err
	})
}

// operations returns a number of operations of an element type.
func operations(n int, dt tensor.Dtype) result.Operations {
	if dt == tensor.Float32 {
		return result.Operations{Single: float64(n)}
	}
	return result.Operations{Double: float64(n)}
}

// rowsNeed returns what predictions of n rows need at least, by the plan of a fit to a problem.
func rowsNeed(s gp.Estimator, p gp.Problem, n float64) (result.Operations, error) {
	e, err := s.Estimate(context.Background(), p, gp.Run{})
	return result.Operations(e.RowFlops.Times(n)), err
}

// fitNeeds returns what a fit to a problem needs at least, by its plan.
func fitNeeds(s gp.Estimator, p gp.Problem) (result.Operations, error) {
	e, err := s.Estimate(context.Background(), p, gp.Run{})
	return result.Operations(e.Flops), err
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
