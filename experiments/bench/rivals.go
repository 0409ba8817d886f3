package bench

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/fmgp"
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
		net := layers.Dense{
			W: graph.NewParam("weight", graph.Floats(m.normal(inputs, outputs)), dt, inputs, outputs),
			B: graph.NewParam("bias", make([]float64, outputs), dt, outputs),
		}
		p := problem(net, m.normal(size, inputs), m.targets(size, outputs))
		mean, err := gp.Point{Net: net, Dtype: dt}.Mean(context.Background(), p.Train.X)
		if err != nil {
			return nil, err
		}
		l := m.fmgpLayer(m.normal(inducing, inputs), outputs, length)
		q, err := l.posterior(fmgp.Method, net, p.Likelihood)
		if err != nil {
			return nil, err
		}
		obj, err := q.(stepper).Objective(context.Background(), p, gp.Run{}, size)
		if err != nil {
			return nil, err
		}
		given := []array{{"x", p.Train.X}, {"y", p.Train.Y}, {"outputs", graph.Convert(mean, dt)}, {"length", graph.NewParam("", []float64{length}, dt, 1).Value},
			{"z", clone(l.arrays[0].value)}, {"class", labels(l.class)}}
		for _, w := range obj.Params() {
			if w.Name == "fmgp.surrogate_mean" {
				for i := range inducing {
					(&graph.Param{Value: w.Value}).Set(i, 0.1*m.NormFloat64())
				}
				given = append(given, array{"surrogate", clone(w.Value)})
			}
		}
		return objectiveStep(obj, &train.Adam{}, given), nil
	}
}

// fmgpLayer returns FMGP's parameters at inducing inputs z, as a published fit starts them.
func (m maker) fmgpLayer(z *tensor.Dense, outputs int, length float64) *parameters {
	points, inputs := z.Shape()[0], z.Shape()[1]
	triangle := func(n int, below float64) []float64 { // 1 on the diagonal, packed row by row
		var v []float64
		for i := range n {
			v = append(append(v, slices.Repeat([]float64{below}, i)...), 1)
		}
		return v
	}
	l, r := triangle(points, 0), triangle(outputs, math.Exp(-1))
	p := &parameters{class: inducing(points, outputs)}
	p.header = map[string]any{"class": p.class, "inputs": []int{inputs}, "kernel": "rbf"}
	p.arrays = []array{
		{"fmgp.z", z}, {"fmgp.l", graph.NewParam("", l, m.dt, len(l)).Value}, {"fmgp.r", graph.NewParam("", r, m.dt, len(r)).Value},
		{"fmgp.log_length", graph.NewParam("", slices.Repeat([]float64{math.Log(length)}, inputs), m.dt, inputs).Value},
		{"fmgp.log_amplitude", graph.NewParam("", []float64{0}, m.dt, 1).Value},
	}
	return p
}

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
var ellaFit = made(perceptronOf(mnist), func(m maker, net layers.Sequential) (*work, error) {
	x, y, probe := m.normal(ellaRows, mnist.Inputs), m.oneHot(ellaRows, mnist.Outputs), m.normal(ellaProbe, mnist.Inputs)
	s := ella.Settings{Points: ellaPoints, Rank: ellaRank, PointOutput: "label", PriorStd: ellaPrior}
	p := problem(net, x, y)
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
	var err error
	if w.needed, err = fitNeeds(&s, p); err != nil {
		return nil, err
	}
	w.arrays = append(arrays(net, x, y, nil), array{"probe", probe},
		array{"prior_std", graph.NewParam("", []float64{ellaPrior}, m.dt, 1).Value}, array{"rank", graph.NewParam("", []float64{ellaRank}, m.dt, 1).Value})
	z, output := fitted.Posterior.(pointed).Points()
	w.arrays = append(w.arrays, array{"z", z}, array{"class", labels(output)})
	return w, nil
})

// pointed is a posterior of ELLA.
type pointed interface {
	Points() (z *tensor.Dense, output []int)
}
