package valla

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
)

// processorTime returns the processor time that the process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// interruptible is work that ctx ends.
type interruptible struct {
	name string
	do   func(ctx context.Context) error
}

// longWork returns predictions of m for many rows, which take longer than a moment.
func longWork(t *testing.T, m *Model, set *data.Set) []interruptible {
	p, err := m.Predictor(PredictorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	few := set.Rows([]int{0, 1, 2, 3})
	return []interruptible{
		{"Predictor", func(ctx context.Context) error { return p.Latent(ctx, set.X.Float64s(), new(gp.Gaussian)) }},
		{"Predict", func(ctx context.Context) error { _, err := m.Predict(ctx, set.X, PredictOptions{}); return err }},
		{"Predict, Monte Carlo", func(ctx context.Context) error {
			_, err := m.Predict(ctx, few.X, PredictOptions{Link: MonteCarlo, Samples: 10_000_000})
			return err
		}},
		{"Evaluate", func(ctx context.Context) error { _, err := m.Evaluate(ctx, set, PredictOptions{}); return err }},
		{"Sample", func(ctx context.Context) error {
			_, err := m.Sample(ctx, set.Rows(dense.Indices(100)).X, SampleOptions{Samples: 100_000})
			return err
		}},
	}
}

// TestInterruptedPredictions: predictions and samples of every method end with their context. The log has the processor time
// from the end of the context to the end of the work.
func TestInterruptedPredictions(t *testing.T) {
	if !fixture.Long() {
		t.Skip("VALLA_LONG is not set")
	}
	set := manyClasses(20_000)
	m, err := Train(t.Context(), set.Rows(dense.Indices(300)), TrainOptions{Classes: true, Network: Network{Hidden: []int{100, 100}}, Training: Training{Iterations: 20}})
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range ownMethods() {
		t.Run(how.Name, func(t *testing.T) {
			f, err := m.Fit(t.Context(), set.Rows(dense.Indices(300)), FitOptions{Settings: quickSettings(t, how)})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range longWork(t, f, set) {
				ctx, cancel := context.WithCancel(t.Context())
				var before time.Duration
				time.AfterFunc(300*time.Millisecond, func() { before = processorTime(); cancel() })
				err := w.do(ctx)
				after := processorTime()
				if cancel(); errors.Is(err, context.Canceled) {
					t.Logf("%s: %v of processor time after the end", w.name, (after - before).Round(time.Millisecond))
				} else if w.name != "Sample" || how.Joint {
					t.Logf("%s: done before the end, error %v", w.name, err)
				}
			}
		})
	}
}

// manyClasses returns n rows of 20 columns in ten classes.
func manyClasses(n int) *data.Set {
	x, y, names := make([]float64, 20*n), make([]float64, n), make([]string, 20)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	for i := range y {
		y[i] = float64(i % 10)
		for j := range 20 {
			x[20*i+j] = float64((i*(j+7)*31+j*j)%101)/50 + float64(i%10)/5
		}
	}
	return &data.Set{X: tensor.New(tensor.WithShape(n, 20), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y)),
		Features: names, Targets: []string{"y"}}
}
