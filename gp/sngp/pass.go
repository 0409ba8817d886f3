package sngp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

const (
	// startRows bounds the training rows from which β starts.
	startRows = 10_000
	// scaleRows bounds the training rows from which the length scale is found.
	scaleRows = 2000
)

// some returns up to n training rows.
func (f *fitting) some(n int, stream uint64) gp.Examples {
	all := f.p.Train.N()
	if all <= n {
		return f.p.Train
	}
	return f.p.Train.Rows(rand.New(rand.NewPCG(f.r.Seed, stream)).Perm(all)[:n])
}

// lengthScale is the median distance of the hidden units of rows, over √2.
func (f *fitting) lengthScale(ctx context.Context) (float64, error) {
	rows := f.some(scaleRows, scaleStream)
	units, err := f.post.batched(func(b *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{f.post.head.Units(b, f.post.weights.Forward(b, x))}
	})
	if err != nil {
		return 0, err
	}
	var h []float64
	err = units.Each(ctx, rows.X, func(_, n int, out []*tensor.Dense) error {
		h = dense.AppendRows(h, out[0], n)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return gp.LengthScale(dense.Of(h, rows.N(), f.post.net.units), rand.New(rand.NewPCG(f.r.Seed, scaleStream))), nil
}

// nearest sets β to the ridge regression of the network's outputs on the features.
func (f *fitting) nearest(ctx context.Context) error {
	rows := f.some(startRows, headStream)
	mean, err := gp.Point{Net: f.p.Net, Dtype: f.p.Dtype()}.Mean(ctx, rows.X)
	if err != nil {
		return err
	}
	return f.regress(ctx, rows.X, mean.Float64s(), &covariance{Form: formShared, Ridge: f.s.Ridge, Features: f.s.Features, Outputs: f.p.Outputs()})
}

// regress sets β to (ΦᵀΦ + s I)⁻¹ ΦᵀY for rows x and targets y [N,C], and makes cov the covariance of β.
func (f *fitting) regress(ctx context.Context, x *tensor.Dense, y []float64, cov *covariance) error {
	m, c := cov.Features, cov.Outputs
	cross := make([]float64, m*c)
	err := f.precision(ctx, x, cov, func(first int, phi []float64) {
		n := len(phi) / m
		kernel.Gemm(true, false, m, c, n, 1, phi, m, y[first*c:(first+n)*c], c, 1, cross, c)
	})
	if err != nil {
		return err
	}
	cov.solve(cross)
	for i, v := range cross {
		f.post.head.Beta.Set(i, v)
	}
	f.post.refresh()
	return nil
}

// precision makes cov the covariance of β given rows x, by one pass over x. see gets the features
// [n,m] of the rows from number first on.
func (f *fitting) precision(ctx context.Context, x *tensor.Dense, cov *covariance, see func(first int, phi []float64)) error {
	size, err := cov.size(f.r.Limit())
	if err != nil {
		return err
	}
	p := make([]float64, size)
	err = f.post.each(ctx, x, func(first int, phi, values []float64) error {
		if see != nil {
			see(first, phi)
		}
		cov.add(p, phi, values)
		return nil
	})
	if err != nil {
		return err
	}
	return cov.factor(p)
}

// finish makes the posterior of the weights as they are after the training. With numbers and an
// exact precision β becomes the posterior mean given all rows.
func (f *fitting) finish(ctx context.Context) error {
	if err := f.refresh(); err != nil {
		return err
	}
	err := error(nil)
	switch {
	case f.average != nil:
		err = f.averaged()
	case f.classes():
		err = f.precision(ctx, f.p.Train.X, f.post.cov, nil)
	default:
		err = f.regress(ctx, f.p.Train.X, graph.Floats(f.p.Train.Y), f.post.cov)
	}
	if err != nil {
		return fmt.Errorf("sngp: the precision of β: %w", err)
	}
	if !f.classes() {
		return nil
	}
	f.post.probs = &probabilities{Link: f.s.Probabilities, Samples: f.s.Samples, Seed: f.r.Seed}
	if f.s.Probabilities == linkMeanField {
		err = f.chooseLambda(ctx)
		f.post.probs = &probabilities{Link: linkMeanField, Lambda: *f.s.Lambda}
	}
	return err
}

// chooseLambda sets λ, unless it is given, to the value of a grid from 0 on with the smallest mean
// negative log density of the held-out rows.
func (f *fitting) chooseLambda(ctx context.Context) error {
	if f.s.Lambda != nil {
		return nil
	}
	const steps = 64 // each a factor √2
	c, scratch := f.p.Outputs(), f.post.scratch(predictBatch)
	nll, y := make([]float64, steps), graph.Floats(f.p.Validation.Y)
	lambda := func(i int) float64 { return paperLambda / 256 * math.Pow(2, float64(i)/2) * float64(min(i, 1)) }
	var cov, probs []float64
	f.s.Lambda = new(paperLambda)
	return f.post.each(ctx, f.p.Validation.X, func(first int, phi, values []float64) error {
		cov, probs = dense.Resized(cov, len(values)*c), dense.Resized(probs, len(values))
		f.post.cov.fill(cov, phi, scratch.roots)
		for i := range nll {
			probabilities{Link: linkMeanField, Lambda: lambda(i)}.fill(probs, values, cov, nil, nil, c)
			for k, p := range probs {
				nll[i] -= y[first*c+k] * math.Log(max(p, math.SmallestNonzeroFloat64))
			}
		}
		*f.s.Lambda = lambda(kernel.Least(nll))
		return nil
	})
}

// averaged makes the precision of the moving average, to which the ridge is added unless it
// started there.
func (f *fitting) averaged() error {
	cov, p := *f.post.cov, slices.Clone(f.average.Float64s())
	if f.s.Precision == decaying {
		cov.Ridge = 0
	}
	if err := cov.factor(p); err != nil {
		return err
	}
	f.post.cov.factors = cov.factors
	return nil
}
