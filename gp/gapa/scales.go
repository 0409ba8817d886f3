package gapa

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/dense"
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
// the targets have noise that is not known, by Adam on the loss of the training rows.
type learning struct {
	loss                     // of the targets
	rows, held *sample       // held is nil without validation rows
	start      mixture       // the factor and the noise variance at the first step
	freeNoise  bool          // the noise variance is learned
	d          int           // number of activations
	logs       *tensor.Dense // [d+1]: log c², and the logarithm of the noise by that at the start
	grad       *tensor.Dense // [d+1]
}

func newLearning(l loss, rows, held *sample, start mixture, freeNoise bool) *learning {
	d := rows.d
	return &learning{
		loss: l, rows: rows, held: held, start: start, freeNoise: freeNoise, d: d,
		logs: dense.Of(make([]float64, d+1), d+1), grad: dense.Of(make([]float64, d+1), d+1),
	}
}

// state returns c² and the mixture that the logarithms stand for.
func (l *learning) state() (scales []float64, by mixture) {
	for _, v := range l.logs.Float64s()[:l.d] {
		scales = append(scales, math.Exp(v))
	}
	by = l.start
	by.noise *= math.Exp(l.logs.Float64s()[l.d])
	return scales, by
}

// run makes steps, and returns the variances of the state with the smallest loss on the
// validation rows, or of the last one without these, with the noise variance.
func (l *learning) run(ctx context.Context, steps int) (scales []float64, noise float64, err error) {
	adam, best := &train.Adam{LR: scaleRate}, math.Inf(1)
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		l.differentiate(step)
		if err := adam.Step([]train.Param{{Name: "log variances", Value: l.logs, Grad: l.grad}}, 1); err != nil {
			return nil, 0, err
		}
		if (step+1)%scaleCheck != 0 && step+1 != steps {
			continue
		}
		now, by := l.state()
		value := math.Inf(-1)
		if l.held != nil {
			value, _ = l.held.loss(l.loss, l.held.variances(now), by)
		}
		if scales == nil || value < best || l.held == nil {
			scales, noise, best = now, by.noise, value
		}
	}
	return scales, noise, nil
}

// differentiate sets the gradient of the loss of the rows of a step.
func (l *learning) differentiate(step int) {
	n := l.rows.n()
	size := min(scaleBatch, n)
	from := step % max(1, n/size) * size
	rows := l.rows.part(from, from+size)
	scales, by := l.state()
	_, grad := rows.loss(l.loss, rows.variances(scales), by)
	all, noise := l.grad.Float64s(), 0.0
	for j, g := range rows.gradient(grad, by.factor) {
		all[j] = g * scales[j]
	}
	if l.freeNoise {
		for _, g := range grad {
			noise += g * by.noise
		}
	}
	all[l.d] = noise
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
