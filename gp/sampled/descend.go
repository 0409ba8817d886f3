package sampled

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// The published settings of stochastic gradients (Antorán et al. 2023; Ortega et al. 2024).
const (
	momentum  = 0.9
	lastRate  = 1.0 / 330 // of the linear schedule, over the first fallShare of the steps
	fallShare = 0.95
)

// diverged is how many times as large as at the start a loss is no noise of mini-batches. Solves with rates that were too large passed
// it within some ten steps.
const diverged = 100

// newBatches prepares stochastic gradients for n samples.
func (f *fitting) newBatches(n int) error {
	f.allocate(n)
	sampler, err := data.NewSampler(f.p.Train.N(), f.s.BatchSize, f.r.Seed^batchStream)
	if err != nil {
		return err
	}
	f.batch = func(iteration int) []int { return sampler.Batch(iteration, nil) }
	return nil
}

// descend makes step k of stochastic gradients with Nesterov's momentum from the prior samples
// √λ⁻¹ z on, for the loss
//
//	(1/2C) Σ_s ( mean_b |J_b ζ_s|²_Λ + λ/N |ζ_s − w_s|² ),   w_s = (√λ z_s + u_s)/λ,
//
// the mean over a mini-batch. It returns the loss before the step. After the last step an
// average takes the place of the samples, without the bias of its start at zero.
func (f *fitting) descend(ctx context.Context, samples, k int) (float64, error) {
	if k == 0 {
		f.restart(samples)
	}
	which, g := dense.Indices(samples), make([]float64, samples*f.size)
	rows := f.batch(k)
	if err := f.product(ctx, whole(f.p.Train.Rows(rows)), which, f.zeta, g); err != nil {
		return 0, err
	}
	loss := f.gradient(g, samples, float64(len(rows)))
	if k == 0 {
		f.numbers.Start = loss
	}
	if !(loss <= diverged*f.numbers.Start) {
		return 0, fmt.Errorf("stochastic gradients diverge: the loss has grown from %.3g to %.3g in %d steps: expected a learning-rate below %g, or the solver cg", f.numbers.Start, loss, k, f.s.LearningRate)
	}
	f.bound(g)
	zeta, velocity, average := f.zeta[:len(g)], f.residual[:len(g)], f.direction[:len(g)]
	kernel.Scale(velocity, momentum, velocity)
	kernel.Add(velocity, velocity, g)
	kernel.Axpy(momentum, velocity, g)
	kernel.Axpy(-f.rate(k), g, zeta)
	if a := f.s.Average; a > 0 {
		kernel.Scale(average, 1-a, average)
		kernel.Axpy(a, zeta, average)
		if k == f.solves()-1 {
			kernel.Scale(zeta, 1/(1-math.Pow(1-a, float64(k+1))), average)
		}
	}
	return loss, nil
}

// restart puts the samples where stochastic gradients begin.
func (f *fitting) restart(samples int) {
	n := samples * f.size
	kernel.Scale(f.zeta[:n], 1/math.Sqrt(f.numbers.Lambda), f.z[:n])
	clear(f.residual)
	clear(f.direction)
}

// gradient makes the gradients of the samples out of the products M_b ζ in g, which are sums
// over some rows, and returns the loss.
func (f *fitting) gradient(g []float64, samples int, rows float64) (loss float64) {
	lambda, n, c := f.numbers.Lambda, float64(f.p.Train.N()), float64(f.c)
	away := make([]float64, f.size)
	for s := range samples {
		zeta, row := f.row(f.zeta, s), f.row(g, s)
		f.target(away, s, lambda)
		kernel.Scale(away, -1/lambda, away)
		kernel.Add(away, away, zeta)
		loss += (kernel.Dot(zeta, row)/rows + lambda/n*kernel.Dot(away, away)) / (2 * c)
		kernel.Scale(row, 1/(rows*c), row)
		kernel.Axpy(lambda/(n*c), away, row)
	}
	return loss
}

// bound shortens the gradients of all samples together.
func (f *fitting) bound(g []float64) {
	if norm := math.Sqrt(kernel.Dot(g, g)); f.s.Clip > 0 && norm > f.s.Clip {
		kernel.Scale(g, f.s.Clip/norm, g)
	}
}

// rate is the learning rate of step k.
func (f *fitting) rate(k int) float64 {
	if f.s.Schedule != scheduleLinear {
		return f.s.LearningRate
	}
	share := min(1, float64(k)/(fallShare*float64(f.solves())))
	return f.s.LearningRate * (1 + share*(lastRate-1))
}
