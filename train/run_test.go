package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sequence is a validation that returns the given values one after the other.
func sequence(v ...float64) func(context.Context) (float64, error) {
	return func(context.Context) (float64, error) {
		first := v[0]
		v = v[1:]
		return first, nil
	}
}

func TestRunIsTheObviousLoop(t *testing.T) {
	forEach(t, func(t *testing.T, newOptimizer func() Optimizer, obj func() testObjective) {
		slow, fast := obj(), obj()
		o, schedule := newOptimizer(), Cosine(0.1)
		var losses []float64
		for i := range 30 {
			loss, _ := slow.Evaluate(t.Context(), i)
			losses = append(losses, loss)
			if err := o.Step(slow.Params(), schedule(i, 30)); err != nil {
				t.Fatal(err)
			}
		}
		var seen []float64
		result, err := Run(t.Context(), fast, Config{Iterations: 30, Optimizer: newOptimizer(), Schedule: schedule, OnStep: func(s Step) {
			if s.Iteration != len(seen) || s.LRScale != schedule(s.Iteration, 30) {
				t.Errorf("step %d reported as %+v", len(seen), s)
			}
			seen = append(seen, s.Loss)
		}})
		if err != nil || result.Stopped != Finished || result.Iterations != 30 || result.BestIteration != 0 || result.History != nil {
			t.Errorf("%+v, %v", result, err)
		}
		if bits(fast.Params()) != bits(slow.Params()) || !slices.Equal(seen, losses) {
			t.Errorf("parameters %v, want %v", bits(fast.Params()), bits(slow.Params()))
		}
	})
}

func TestRunMinimises(t *testing.T) {
	o := newBowl[float64]()
	if _, err := Run(t.Context(), o, Config{Iterations: 3000, Optimizer: &Adam{LR: 0.05}, Schedule: Cosine(0)}); err != nil {
		t.Fatal(err)
	}
	// The minimum of the expected loss is θ = 0; the targets have deviation 1, and
	// the mean over some hundred targets about 0.1.
	for _, p := range o.params {
		for _, x := range float64s(p.Value) {
			if math.Abs(x) > 0.3 {
				t.Errorf("%s ends at %v, expected near 0", p.Name, x)
			}
		}
	}
}

func TestBestStateIsRestored(t *testing.T) {
	o := newBowl[float64]()
	at := map[int]string{}
	o.before = func(i int) error { at[i] = bits(o.params); return nil } // after i iterations
	result, err := Run(t.Context(), o, Config{Iterations: 25, ValidateEvery: 5, Validate: sequence(5, 3, 4, 3, 9)})
	if err != nil || result.Stopped != Finished || result.Iterations != 25 {
		t.Fatalf("%+v, %v", result, err)
	}
	if result.BestIteration != 10 || result.BestValue != 3 { // the first of equals
		t.Errorf("best %v after %d, want 3 after 10", result.BestValue, result.BestIteration)
	}
	if bits(o.params) != at[10] {
		t.Error("the parameters are not those after 10 iterations")
	}
}

func TestHistory(t *testing.T) {
	o := newBowl[float64]()
	var losses []float64
	cfg := Config{Iterations: 7, ValidateEvery: 3, Validate: sequence(5, 4, 3), OnStep: func(s Step) { losses = append(losses, s.Loss) }}
	result, err := Run(t.Context(), o, cfg)
	if err != nil {
		t.Fatal(err)
	}
	mean := func(x ...float64) float64 {
		s := 0.0
		for _, v := range x {
			s += v
		}
		return s / float64(len(x))
	}
	want := []Validation{ // the last after the last iteration, though 7 is no multiple of 3
		{Iteration: 3, Loss: mean(losses[:3]...), Validation: 5},
		{Iteration: 6, Loss: mean(losses[3:6]...), Validation: 4},
		{Iteration: 7, Loss: losses[6], Validation: 3},
	}
	if got := timeless(result.History); !slices.Equal(got, want) {
		t.Errorf("history %+v, want %+v", got, want)
	}
	for i, r := range result.History {
		if r.Seconds < 0 || r.Seconds > result.Seconds || i > 0 && r.Seconds < result.History[i-1].Seconds {
			t.Errorf("seconds of %+v out of order", r)
		}
	}
}

// timeless returns a history without its times, which differ from run to run.
func timeless(h []Validation) []Validation {
	h = slices.Clone(h)
	for i := range h {
		h[i].Seconds = 0
	}
	return h
}

func TestPatience(t *testing.T) {
	for _, c := range []struct {
		patience, iterations, best int
		stopped                    Stopped
		values                     []float64
	}{
		{1, 2, 1, Early, []float64{5, 6}},
		{1, 2, 1, Early, []float64{5, 5}}, // equal is no improvement
		{2, 5, 3, Early, []float64{5, 6, 4, 7, 8}},
		{3, 6, 3, Finished, []float64{5, 6, 4, 7, 8, 3.9}},
		{0, 6, 1, Finished, []float64{1, 2, 3, 4, 5, 6}},
	} {
		if c.patience == 3 {
			c.best = 6
		}
		cfg := Config{Iterations: 6, ValidateEvery: 1, Patience: c.patience, Validate: sequence(c.values...)}
		result, err := Run(t.Context(), newBowl[float64](), cfg)
		if err != nil || result.Stopped != c.stopped || result.Iterations != c.iterations || result.BestIteration != c.best {
			t.Errorf("patience %d with %v: %+v, %v", c.patience, c.values, result, err)
		}
	}
}

func TestCancelStopsAtAStepBoundary(t *testing.T) {
	for _, c := range []struct {
		name     string
		validate bool
		reported bool // Evaluate returns the context's error instead of finishing
		want     int  // index in at
	}{
		{"last state", false, false, 13},
		{"best state", true, false, 5},
		{"during a step", false, true, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			o, ref := newBowl[float64](), newBowl[float64]()
			at := map[int]string{}
			ref.before = func(i int) error { at[i] = bits(ref.params); return nil }
			if _, err := Run(t.Context(), ref, Config{Iterations: 15}); err != nil {
				t.Fatal(err)
			}
			o.before = func(i int) error {
				if i == 12 {
					cancel()
					if c.reported {
						return ctx.Err()
					}
				}
				return nil
			}
			cfg := Config{Iterations: 15}
			if c.validate {
				cfg.Validate, cfg.ValidateEvery = sequence(1, 2), 5
			}
			result, err := Run(ctx, o, cfg)
			if !errors.Is(err, context.Canceled) || result.Stopped != Interrupted {
				t.Fatalf("%+v, %v", result, err)
			}
			done := 13
			if c.reported {
				done = 12
			}
			if result.Iterations != done || bits(o.params) != at[c.want] {
				t.Errorf("%d iterations, want %d, or the parameters are not those after %d", result.Iterations, done, c.want)
			}
		})
	}
}

func TestCancelFromAnotherGoroutine(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	started := make(chan bool)
	go func() {
		<-started
		cancel(errors.New("enough"))
	}()
	cfg := Config{Iterations: math.MaxInt, OnStep: func(s Step) {
		if s.Iteration == 3 {
			close(started)
		}
	}}
	result, err := Run(ctx, newBowl[float32](), cfg)
	if !errors.Is(err, context.Canceled) || result.Stopped != Interrupted || result.Iterations < 4 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestCancelAfterTheEndIsNoInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := Config{Iterations: 5, OnStep: func(s Step) {
		if s.Iteration == 4 {
			cancel()
		}
	}}
	if result, err := Run(ctx, newBowl[float64](), cfg); err != nil || result.Stopped != Finished {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestFailuresAreReported(t *testing.T) {
	broken := errors.New("disk on fire")
	o := newBowl[float64]()
	o.before = func(i int) error {
		if i == 3 {
			return broken
		}
		return nil
	}
	result, err := Run(t.Context(), o, Config{Iterations: 5})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "iteration 3") || result.Stopped != Failed || result.Iterations != 3 {
		t.Errorf("%+v, %v", result, err)
	}
	cfg := Config{Iterations: 5, ValidateEvery: 2, Validate: func(context.Context) (float64, error) { return 0, broken }}
	result, err = Run(t.Context(), newBowl[float64](), cfg)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "after 2 iterations") || result.Stopped != Failed {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestRunRefuses(t *testing.T) {
	validate := sequence(1)
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{Iterations: -1}, "Iterations -1"},
		{Config{ValidateEvery: -1}, "ValidateEvery -1"},
		{Config{Validate: validate, Patience: -1}, "Patience -1"},
		{Config{CheckpointEvery: -2}, "CheckpointEvery -2"},
		{Config{Patience: 1}, "Patience needs Validate"},
		{Config{Resume: true}, "need Checkpoint"},
		{Config{CheckpointEvery: 1}, "need Checkpoint"},
		{Config{Checkpoint: filepath.Join(t.TempDir(), "missing", "x")}, "no such file or directory"},
		{Config{Iterations: 5, Schedule: StepDecay(0, 0.5)}, "schedule gives NaN at iteration 0"},
		{Config{Iterations: 5, Schedule: func(i, n int) float64 { return float64(2 - i) }}, "schedule gives -2 at iteration 4"},
	} {
		result, err := Run(t.Context(), newBowl[float64](), c.cfg)
		if result != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, error %v, want one with %q", result, err, c.want)
		}
	}
	if _, err := Run(t.Context(), &bowl[float64]{}, Config{}); err == nil {
		t.Error("an objective without parameters was accepted")
	}
	result, err := Run(t.Context(), newBowl[float64](), Config{Iterations: 2, Optimizer: &Adam{LR: -1}})
	if err == nil || !strings.Contains(err.Error(), "iteration 0: train: LR = -1") || result.Iterations != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}
