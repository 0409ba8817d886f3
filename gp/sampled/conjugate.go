package sampled

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// conjugate makes iteration k of preconditioned conjugate gradients on (M + λI) ζ = b for each
// of the first samples whose error is not small enough. It goes on from the samples as they are.
// It returns the largest error before the step.
func (f *fitting) conjugate(ctx context.Context, samples, k int) (float64, error) {
	which := dense.Indices(samples)
	if k == 0 {
		for s := range samples {
			d, r := f.row(f.direction, s), f.row(f.residual, s)
			f.sketch.solve(d, r, f.numbers.Lambda)
			f.numbers.Inner[s] = kernel.Dot(r, d)
		}
	}
	errs := f.errors(which)
	which = slices.DeleteFunc(which, func(s int) bool { return errs[s] <= f.s.Tolerance })
	if len(which) == 0 {
		return slices.Max(errs), nil
	}
	lambda, y := f.numbers.Lambda, make([]float64, f.size)
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

// errors are bounds of the errors e of samples, in standard deviations of the posterior: √(eᵀ(M + λI)e / ζᵀMζ), the root of the
// mean square over the directions that the data determine, of which there are ζᵀMζ. Other directions have no error to speak of
// then. With the residual r = (M + λI)e the numerator is rᵀ(M + λI)⁻¹r, at most rᵀP⁻¹r/λ where the preconditioner P is right.
// A residual relative to the right-hand side would not do: the directions with the most curvature make it large, and
// directions with hardly any have most of the posterior's variance. An error of a tenth, the default tolerance, changes a variance by
// a hundredth, and S samples have the error √(2/S) in any case.
func (f *fitting) errors(which []int) []float64 {
	out := make([]float64, len(which))
	for i, s := range which {
		out[i] = math.Sqrt(f.numbers.Inner[s] / f.numbers.Lambda / max(1, f.determined(s)))
	}
	return out
}

// determined is ζᵀMζ of a sample, for which Mζ = b − λζ − r.
func (f *fitting) determined(s int) float64 {
	m := make([]float64, f.size)
	f.target(m, s, f.numbers.Lambda)
	kernel.Axpy(-f.numbers.Lambda, f.row(f.zeta, s), m)
	kernel.Axpy(-1, f.row(f.residual, s), m)
	return kernel.Dot(f.row(f.zeta, s), m)
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
