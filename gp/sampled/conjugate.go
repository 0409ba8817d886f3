package sampled

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// conjugate makes iteration k of preconditioned conjugate gradients on (M + λI) ζ = b for each
// of the first samples whose residual is not small enough. It goes on from the samples as they
// are. It returns the largest relative residual before the step.
func (f *fitting) conjugate(ctx context.Context, samples, k int) (float64, error) {
	which := dense.Indices(samples)
	errs := f.errors(which)
	which = slices.DeleteFunc(which, func(s int) bool { return errs[s] <= f.s.Tolerance })
	if len(which) == 0 {
		return slices.Max(errs), nil
	}
	lambda, y := f.numbers.Lambda, make([]float64, f.size)
	if k == 0 {
		for _, s := range which {
			d, r := f.row(f.direction, s), f.row(f.residual, s)
			f.sketch.solve(d, r, lambda)
			f.numbers.Inner[s] = kernel.Dot(r, d)
		}
	}
	products := make([]float64, len(f.zeta))
	if err := f.product(ctx, f.curved, which, f.direction, products); err != nil {
		return 0, err
	}
	for _, s := range which {
		d, r, q := f.row(f.direction, s), f.row(f.residual, s), f.row(products, s)
		kernel.Axpy(lambda, d, q)
		alpha := f.numbers.Inner[s] / kernel.Dot(d, q)
		kernel.Axpy(alpha, d, f.row(f.zeta, s))
		kernel.Axpy(-alpha, q, r)
		f.sketch.solve(y, r, lambda)
		inner := kernel.Dot(r, y)
		kernel.Scale(d, inner/f.numbers.Inner[s], d)
		kernel.Add(d, d, y)
		f.numbers.Inner[s] = inner
	}
	return slices.Max(errs), nil
}

// errors are the relative residuals of samples.
func (f *fitting) errors(which []int) []float64 {
	b, out := make([]float64, f.size), make([]float64, len(which))
	for i, s := range which {
		f.target(b, s, f.numbers.Lambda)
		r := f.row(f.residual, s)
		if norm := kernel.Dot(b, b); norm > 0 {
			out[i] = math.Sqrt(kernel.Dot(r, r) / norm)
		}
	}
	return out
}

// move changes the prior precision. The products with M in the residuals stay what they are.
func (f *fitting) move(lambda float64) {
	old := f.numbers.Lambda
	f.numbers.Lambda = lambda
	f.numbers.Lambdas = append(f.numbers.Lambdas, lambda)
	if f.s.Solver == solverSGD {
		return
	}
	for s := range f.s.Samples {
		r := f.row(f.residual, s)
		kernel.Axpy(math.Sqrt(lambda)-math.Sqrt(old), f.row(f.z, s), r)
		kernel.Axpy(old-lambda, f.row(f.zeta, s), r)
	}
}
