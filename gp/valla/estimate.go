package valla

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/layers"
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
	c, t, err := s.trial(ctx, p, r)
	if err != nil {
		return gp.Estimate{}, err
	}
	e := gp.Estimate{Seconds: t.seconds(c.Iterations, c.ValidateEvery), Bytes: t.bytes}
	if e.Seconds > gp.Long {
		err = s.cheaper(ctx, p, r, c, t, &e)
	}
	return e, err
}

// trial returns the settings of a fit with all defaults filled in, and what the parts of the fit take.
func (s *Settings) trial(ctx context.Context, p gp.Problem, r gp.Run) (Settings, measured, error) {
	start := time.Now()
	r = gp.Run{Seed: r.Seed, Memory: r.Memory}
	c, q, _, err := s.resolve(ctx, p, r)
	if err != nil {
		return c, measured{}, err
	}
	if n := max(trialRows, c.BatchSize); n < p.Train.N() {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i * p.Train.N() / n
		}
		q.Train = q.Train.Rows(rows)
	}
	choice := time.Since(start).Seconds()
	few := c
	few.Weights = nil // the network of q has these alone
	t, err := few.measured(ctx, q, r)
	t.start += choice
	return c, t, err
}

// cheaper names the cheaper choice in an estimate: natural gradients in place of Adam, the last layer in place of all
// weights, which is measured and takes half of the time at most, or the fewest steps.
func (s *Settings) cheaper(ctx context.Context, p gp.Problem, r gp.Run, c Settings, t measured, e *gp.Estimate) error {
	switch {
	case c.Optimizer != optimizerNatural:
		e.Cheaper = "optimizer=" + optimizerNatural + ", which needs fewer steps,"
		return nil
	case c.Iterations > costlySteps:
		e.Cheaper, e.CheaperSeconds = fmt.Sprintf("iterations=%d", costlySteps), t.seconds(costlySteps, costlySteps/costlyValidations)
	}
	all := c.Weights == nil || slices.Equal(c.Weights, []string{layers.AllWeights})
	if !all || len(layers.ByLayer(p.Net)) < 2 {
		return nil
	}
	last := *s
	last.Weights = []string{"last-layer"}
	of, took, err := last.trial(ctx, p, r)
	if seconds := took.seconds(of.Iterations, of.ValidateEvery); err == nil && seconds < e.Seconds/2 {
		e.Cheaper, e.CheaperSeconds = "weights=last-layer", seconds
	}
	return err
}

// measured holds what the parts of a fit take, in seconds, and the memory that it holds.
type measured struct {
	start, step, validation float64 // seconds
	validates               bool    // there are rows to validate with
	bytes                   int64   // memory held after some steps
}

// seconds returns what a fit of some steps takes, which validates every so many steps.
func (t measured) seconds(steps, every int) float64 {
	sum := t.start + t.step*float64(steps)
	if t.validates {
		sum += t.validation * math.Ceil(float64(steps)/float64(max(1, every)))
	}
	return sum
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
	before, t, start := held(), measured{validates: p.Validation != nil}, time.Now()
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
