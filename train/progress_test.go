package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"
)

// TestOnProgress: every step and every validation is told, with the last values of both.
func TestOnProgress(t *testing.T) {
	var losses []float64
	var told []Progress
	cfg := Config{
		Iterations: 5, Validate: sequence(3, 2, 1), ValidateEvery: 2,
		OnStep:     func(s Step) { losses = append(losses, s.Loss) },
		OnProgress: func(p Progress) { told = append(told, p) },
	}
	if _, err := Run(t.Context(), newBowl[float64](), cfg); err != nil {
		t.Fatal(err)
	}
	var want []Progress
	for _, w := range []struct {
		done       int
		validation float64
	}{{1, math.NaN()}, {2, math.NaN()}, {2, 3}, {3, 3}, {4, 3}, {4, 2}, {5, 2}, {5, 1}} {
		want = append(want, Progress{Unit: "steps", Done: w.done, Total: 5, Loss: losses[w.done-1], Validation: w.validation})
	}
	if !slices.EqualFunc(told, want, sameProgress) {
		t.Errorf("told %+v, want %+v", told, want)
	}
}

// sameProgress compares with NaN equal to itself.
func sameProgress(a, b Progress) bool {
	if math.IsNaN(a.Validation) && math.IsNaN(b.Validation) {
		a.Validation, b.Validation = 0, 0
	}
	return a == b
}

// TestProgressAfterAResume: the steps before it count.
func TestProgressAfterAResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	ctx, cancel := context.WithCancel(t.Context())
	var told []int
	cfg := Config{Iterations: 8, Checkpoint: path, Resume: true, OnProgress: func(p Progress) {
		if told = append(told, p.Done); p.Done == 3 {
			cancel()
		}
	}}
	if _, err := Run(ctx, newBowl[float64](), cfg); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), newBowl[float64](), cfg); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told, []int{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("told of steps %v, want 1 to 8", told)
	}
}
