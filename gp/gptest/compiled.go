package gptest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
)

// compiled: what a posterior compiles to for one input and for several predicts the same bits,
// whether its batch is full or not and beside the other, without allocating, and needs memory.
func (p *probe) compiled() error {
	x, errs := graph.Floats(p.X), make([]error, 2)
	var work sync.WaitGroup
	for i, size := range []int{1, p.n + 1} {
		c, err := p.Posterior.Compile(gp.Request{Shape: p.X.Shape()[1:], Size: size, Marginal: p.marginal})
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
	return errors.Join(p.within(1), p.within(p.n), p.compiledAllocations(x))
}

// within: what a posterior compiles to for so many inputs holds at most the limit, or is a *graph.MemoryError.
func (p *probe) within(size int) error {
	ask := gp.Request{Shape: p.X.Shape()[1:], Size: size, Marginal: p.marginal}
	c, err := p.Posterior.Compile(ask)
	if err != nil {
		return err
	}
	for _, ask.Limit = range []int64{1, c.Bytes() / 2, c.Bytes() - 1} {
		if c, err = p.Posterior.Compile(ask); errors.As(err, new(*graph.MemoryError)) {
			continue
		}
		if err != nil || ask.Limit == 1 || c.Bytes() > ask.Limit {
			return fmt.Errorf("compiled for %d inputs within %d bytes of memory: error %v, expected a *graph.MemoryError", size, ask.Limit, err)
		}
	}
	return nil
}

// sameCompiled compares the predictions of c, n inputs at a time, with an engine's predictions.
func (p *probe) sameCompiled(c gp.Compiled, x []float64, n int) error {
	var g gp.Gaussian
	width := len(x) / p.n
	for first := 0; first+n <= p.n; first += n {
		if err := c.Predict(p.ctx, x[first*width:(first+n)*width], &g); err != nil {
			return fmt.Errorf("%d inputs from %d: %w", n, first, err)
		}
		want, how := p.got.Rows(first, n), fmt.Sprintf(" of inputs from %d on, compiled for %d", first, n)
		err := errors.Join(
			differ("mean"+how, g.Mean, want.Mean, 0),
			differ("covariance"+how, g.Cov, want.Cov, 0),
			differ("epistemic shares"+how, g.Epistemic, want.Epistemic, 0),
			differ("probabilities"+how, g.Probs, want.Probs, 0))
		if err != nil {
			return err
		}
	}
	return nil
}

// compiledAllocations: once it is warm, a compiled posterior allocates nothing for one input.
func (p *probe) compiledAllocations(x []float64) error {
	c, err := p.Posterior.Compile(gp.Request{Shape: p.X.Shape()[1:], Size: 1, Marginal: p.marginal})
	if err != nil {
		return err
	}
	var g gp.Gaussian
	one := slices.Clone(x[:len(x)/p.n])
	if n := testing.AllocsPerRun(20, func() { err = c.Predict(p.ctx, one, &g) }); n > 0 {
		return fmt.Errorf("%g allocations for one input, expected none", n)
	}
	return err
}

// marginals: what a posterior predicts of its variances alone is what it predicts with covariances, up to rounding, with
// the same bits beside other inputs and without allocating.
func (p *probe) marginals() error {
	e, err := gp.NewEngine(p.Posterior, p.X.Shape()[1:], gp.EngineOptions{Marginal: true})
	if err != nil {
		return err
	}
	g, err := e.PredictAll(p.ctx, p.X)
	if err != nil {
		return err
	}
	if g.Marginal == 0 { // it has no variances alone
		return differ("covariance", g.Cov, p.got.Cov, 0)
	}
	var want gp.Gaussian
	want.Set(p.got)
	want.Reduce()
	err = errors.Join(
		differ("mean", g.Mean, want.Mean, 0),
		differ("variances", g.Cov, want.Cov, p.rounding),
		differ("epistemic shares", g.Epistemic, want.Epistemic, 0),
		differ("probabilities", g.Probs, want.Probs, 0))
	if err != nil {
		return err
	}
	alone := *p
	alone.marginal, alone.got = true, g
	return alone.compiled()
}
