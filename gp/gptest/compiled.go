package gptest

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// compiled: a gp.Compiler that is compiled for one input and for several predicts what the
// posterior predicts, whether its batch is full or not, and both may run at the same time,
// without allocating.
func (p *probe) compiled() error {
	posterior, ok := p.Posterior.(gp.Compiler)
	if !ok {
		return nil
	}
	x, errs := graph.Floats(p.X), make([]error, 2)
	var work sync.WaitGroup
	for i, size := range []int{1, p.n + 1} {
		c, err := posterior.Compile(p.X.Shape()[1:], size, 0)
		if err != nil {
			return fmt.Errorf("compiling for %d inputs: %w", size, err)
		}
		work.Go(func() { errs[i] = p.sameCompiled(c, x, min(size, p.n)) })
	}
	work.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if _, err := posterior.Compile(p.X.Shape()[1:], 1, 1); err == nil {
		return fmt.Errorf("compiled within 1 byte of memory, expected an error")
	}
	return p.compiledAllocations(posterior, x)
}

// sameCompiled compares c's predictions, n inputs at a time, with the posterior's.
func (p *probe) sameCompiled(c gp.Compiled, x []float64, n int) error {
	var g gp.Latents
	width, tol := len(x)/p.n, 1e-12
	if p.X.Dtype() == tensor.Float32 {
		tol = 1e-5
	}
	for first := 0; first+n <= p.n; first += n {
		if err := c.Latents(p.ctx, x[first*width:(first+n)*width], &g); err != nil {
			return fmt.Errorf("%d inputs from %d: %w", n, first, err)
		}
		for _, v := range []struct {
			name      string
			got, want []float64
			scale     float64
		}{
			{"mean", g.Mean, p.mu[first*p.c : (first+n)*p.c], max(1, largest(p.mu))},
			{"covariance", g.Cov, p.cov[first*p.c*p.c : (first+n)*p.c*p.c], p.scale() * max(1, p.Tol/tol)},
			{"epistemic share", g.Epistemic, p.part(p.got.Epistemic, first, n), 1},
			{"probability", g.Probs, p.part(p.got.Probs, first, n), 1},
		} {
			if len(v.got) != len(v.want) {
				return fmt.Errorf("compiled for %d inputs: %s of length %d, expected %d", n, v.name, len(v.got), len(v.want))
			}
			for i, want := range v.want {
				if !(math.Abs(v.got[i]-want) <= tol*v.scale) {
					return fmt.Errorf("compiled for %d inputs: %s %d from input %d on is %g, Predict has %g", n, v.name, i, first, v.got[i], want)
				}
			}
		}
	}
	return nil
}

// part returns what is there [N,C] of n inputs; nil where there is nothing.
func (p *probe) part(of *tensor.Dense, first, n int) []float64 {
	if of == nil {
		return nil
	}
	return of.Float64s()[first*p.c : (first+n)*p.c]
}

// compiledAllocations: once it is warm, a compiled posterior allocates nothing for one input.
func (p *probe) compiledAllocations(posterior gp.Compiler, x []float64) error {
	c, err := posterior.Compile(p.X.Shape()[1:], 1, 0)
	if err != nil {
		return err
	}
	var g gp.Latents
	one := x[:len(x)/p.n]
	if n := testing.AllocsPerRun(20, func() { err = c.Latents(p.ctx, one, &g) }); n > 0 {
		return fmt.Errorf("%g allocations for one input, expected none", n)
	}
	return err
}
