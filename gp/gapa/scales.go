package gapa

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

const (
	// scaleBatch is how many rows a step takes by which the variances are learned.
	scaleBatch = 2000
	// scaleRate is the learning rate of these steps.
	scaleRate = 0.05
	// leastSpread is the least variance of an activation that is not learned.
	leastSpread = 1
	// scaleCheck is how many steps lie between two looks at the validation rows.
	scaleCheck = 50
)

// learning finds the logarithms of the variances c² [d], and of the noise variance where
// the targets have noise that is not known, by Adam on the loss of the training rows. With a law learning finds all
// parameters of the observation model.
type learning struct {
	loss                     // of the targets
	rows, held *sample       // held is nil without validation rows
	start      mixture       // the factor and the noise variance at the first step
	freeNoise  bool          // the noise variance is learned
	d          int           // number of activations
	theta      []float64     // of a law, the parameters of the observation model at the first step [P]; P = 1 without one
	logs       *tensor.Dense // [d+P]: log c², and the change of theta, or of the logarithm of the noise
	grad       *tensor.Dense // [d+P]
}

func newLearning(l loss, rows, held *sample, start mixture, freeNoise bool) *learning {
	out := &learning{loss: l, rows: rows, held: held, start: start, freeNoise: freeNoise, d: rows.d}
	if l.law != nil {
		out.theta = graph.Flat(l.law.lik.Params())
	}
	n := rows.d + max(1, len(out.theta))
	out.logs, out.grad = dense.Of(make([]float64, n), n), dense.Of(make([]float64, n), n)
	return out
}

// state returns c² and the mixture that the logarithms stand for. It sets the parameters of a law.
func (l *learning) state() (scales []float64, by mixture) {
	for _, v := range l.logs.Float64s()[:l.d] {
		scales = append(scales, math.Exp(v))
	}
	by, change := l.start, l.logs.Float64s()[l.d:]
	if l.law == nil {
		by.noise *= math.Exp(change[0])
		return scales, by
	}
	theta := slices.Clone(l.theta)
	kernel.Add(theta, theta, change[:len(theta)])
	graph.Unflat(l.law.lik.Params(), theta)
	by.noise = likelihood.NoiseVariance(l.law.lik)
	return scales, by
}

// run makes steps, and returns the variances of the state with the smallest loss on the
// validation rows, or of the last one without these, with the noise variance.
func (l *learning) run(ctx context.Context, steps int) (scales []float64, noise float64, err error) {
	adam, best, kept := &train.Adam{LR: scaleRate}, math.Inf(1), []float64(nil)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if err := l.differentiate(step); err != nil {
			return nil, 0, err
		}
		if err := adam.Step([]train.Param{{Name: "log variances", Value: l.logs, Grad: l.grad}}, 1); err != nil {
			return nil, 0, err
		}
		if (step+1)%scaleCheck != 0 && step+1 != steps {
			continue
		}
		now, by := l.state()
		value := math.Inf(-1)
		if l.held != nil {
			if value, err = l.held.value(l.loss, l.held.variances(now), by); err != nil {
				return nil, 0, err
			}
		}
		if kept == nil || value < best || l.held == nil {
			kept, best = slices.Clone(l.logs.Float64s()), value
		}
	}
	copy(l.logs.Float64s(), kept)
	scales, by := l.state()
	return scales, by.noise, nil
}

// differentiate sets the gradient of the loss of the rows of a step.
func (l *learning) differentiate(step int) error {
	n := l.rows.n()
	size := min(scaleBatch, n)
	from := batchAt(step, n, size)
	rows := l.rows.part(from, from+size)
	scales, by := l.state()
	_, grad, err := rows.loss(l.loss, rows.variances(scales), by)
	if err != nil {
		return err
	}
	all, noise := l.grad.Float64s(), 0.0
	for j, g := range rows.gradient(grad, by.factor) {
		all[j] = g * scales[j]
	}
	switch {
	case !l.freeNoise:
	case l.law != nil:
		copy(all[l.d:], l.law.grad)
	default:
		for _, g := range grad {
			noise += g * by.noise
		}
		all[l.d] = noise
	}
	return nil
}

// batchAt returns the first of the size rows that a step takes of n. Steps take all rows in turn, and the last rows of a turn may be
// rows of the batch before, too.
func batchAt(step, n, size int) int {
	turn := (n + size - 1) / size
	return min(step%turn*size, n-size)
}

// mixtures lists all pairs of factors and noise variances.
func mixtures(factors, noises []float64) (out []mixture) {
	for _, factor := range factors {
		for _, noise := range noises {
			out = append(out, mixture{factor: factor, noise: noise})
		}
	}
	return out
}

// spread returns the variances of the activations at some rows [n,d], or a number where they
// are smaller.
func spread(a []float64, d int, least float64) []float64 {
	mean, out := make([]float64, d), make([]float64, d)
	n := float64(len(a) / d)
	for row := range slices.Chunk(a, d) {
		for j, v := range row {
			mean[j] += v / n
		}
	}
	for row := range slices.Chunk(a, d) {
		for j, v := range row {
			out[j] += (v - mean[j]) * (v - mean[j]) / n
		}
	}
	for j, v := range out {
		out[j] = max(least, v)
	}
	return out
}
