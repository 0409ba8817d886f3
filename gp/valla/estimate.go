package valla

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"time"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train"
)

var _ gp.Estimator = (*Settings)(nil)

// trialRows bounds the training rows of a measured, of which the start of a fit depends and a step
// does not.
const trialRows = 1000

// Estimate implements gp.Estimator: it makes a few steps and validations with a part of the training
// rows, and measures them.
func (s *Settings) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	if err := p.Check(); err != nil {
		return gp.Estimate{}, err
	}
	c, err := s.complete(p)
	if err != nil {
		return gp.Estimate{}, err
	}
	if n := max(trialRows, c.BatchSize); n < p.Train.N() {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i * p.Train.N() / n
		}
		p.Train = p.Train.Rows(rows)
	}
	start := time.Now()
	if c.Weights, _, err = gp.InformativeWeights(ctx, p, gp.Run{Seed: r.Seed, Memory: r.Memory}, c.Weights); err != nil {
		return gp.Estimate{}, err
	}
	choice := time.Since(start).Seconds()
	t, err := c.measured(ctx, p, r)
	if err != nil {
		return gp.Estimate{}, err
	}
	e := gp.Estimate{Seconds: choice + t.start + t.step*float64(c.Iterations), Bytes: t.bytes, Cheaper: "a smaller value of the setting iterations"}
	if p.Validation != nil {
		e.Seconds += t.validation * math.Ceil(float64(c.Iterations)/float64(max(1, c.ValidateEvery)))
	}
	if c.Optimizer != optimizerNatural {
		e.Cheaper = "optimizer=" + optimizerNatural + ", which needs fewer steps"
	}
	return e, nil
}

// measured holds what the parts of a fit take, in seconds, and the memory that it holds.
type measured struct {
	start, step, validation float64 // seconds
	bytes                   int64   // memory held after some steps
}

const (
	trialSteps   = 10  // at most, after the first
	trialSeconds = 0.5 // after which no further step begins
)

// measured begins a fit, with a validation after each step, and ends it after a few.
func (s Settings) measured(ctx context.Context, p gp.Problem, r gp.Run) (measured, error) {
	s.Iterations, s.ValidateEvery, s.Patience = trialSteps+2, 1, new(0)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, t, start := held(), measured{}, time.Now()
	var at []float64 // the ends of steps and validations, in turn
	round := 1
	if p.Validation != nil {
		round = 2
	}
	r.Checkpoint, r.Resume = "", false
	r.OnProgress = func(train.Progress) {
		at = append(at, time.Since(start).Seconds())
		whole := len(at) > round && len(at)%round == 0
		if whole && ctx.Err() == nil && (len(at)/round > trialSteps || at[len(at)-1]-at[0] > trialSeconds) {
			t.bytes = max(0, held()-before)
			cancel()
		}
	}
	if _, err := s.Fit(ctx, p, r); t.bytes == 0 {
		return t, cmp.Or(err, ctx.Err())
	}
	for i := 1; i < len(at); i++ {
		if took := at[i] - at[i-1]; i%round == 0 {
			t.step += took / float64(len(at)/round-1)
		} else {
			t.validation += took / float64(len(at)/round)
		}
	}
	t.start = max(0, at[0]-t.step)
	return t, nil
}

// held is the number of bytes that Go objects take.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
