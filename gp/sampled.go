package gp

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"gorgonia.org/tensor"
)

// sampledAtOnce is the number of examples that are sampled between two checks of the context.
const sampledAtOnce = 100

// SampledProbs is [MonteCarloProbs] on all processors; first is the number of g's first example
// in the whole set. The result does not depend on their
// number. It returns ctx's error if ctx ends first.
func SampledProbs(ctx context.Context, g Gaussian, samples int, seed uint64, first int) (*tensor.Dense, error) {
	n, c := g.Mean.Shape()[0], g.Mean.Shape()[1]
	out, next, errs := make([]float64, n*c), atomic.Int64{}, make([]error, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for w := range errs {
		workers.Go(func() {
			for errs[w] == nil {
				from := int(next.Add(sampledAtOnce)) - sampledAtOnce
				if from >= n {
					return
				}
				errs[w] = sampleRows(ctx, out, g, from, min(from+sampledAtOnce, n), samples, seed, first)
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return tensor.New(tensor.WithShape(n, c), tensor.WithBacking(out)), nil
}

// sampleRows writes the probabilities of the examples from … to−1 to their place in out.
func sampleRows(ctx context.Context, out []float64, g Gaussian, from, to, samples int, seed uint64, first int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, n := g.Mean.Shape()[1], to-from
	p, err := MonteCarloProbs(Gaussian{
		Mean: tensor.New(tensor.WithShape(n, c), tensor.WithBacking(g.Mean.Float64s()[from*c:to*c])),
		Cov:  tensor.New(tensor.WithShape(n, c, c), tensor.WithBacking(g.Cov.Float64s()[from*c*c:to*c*c])),
	}, samples, seed, first+from)
	if err != nil {
		return err
	}
	copy(out[from*c:to*c], p.Float64s())
	return nil
}
