package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// work is one piece of work on this side, ready to run.
type work struct {
	arrays []array                     // what the other side needs to do the same
	step   func(context.Context) error // what is timed
	values func() values               // of the last step, to compare
	bytes  int64                       // memory of the program that runs; 0 if there is none
	needed result.Operations           // of a step; zero if they are not known
	clock  clock                       // nil: the time of the wall
}

// clock tells a time that is measured.
type clock func() (time.Duration, error)

// wall returns a clock of the wall.
func wall() clock {
	start := time.Now()
	return func() (time.Duration, error) { return time.Since(start), nil }
}

// timed makes a step and returns its duration. A context that has ended is an error.
func (now clock) timed(ctx context.Context, step func(context.Context) error) (time.Duration, error) {
	start, err := now()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = step(ctx)
	}
	if err != nil {
		return 0, err
	}
	end, err := now()
	return end - start, err
}

// array is a named array.
type array struct {
	name  string        // the name by which the driver knows the array
	value *tensor.Dense // of any shape
}

// values holds named results of one step or of several.
type values map[string][]float64

// runner is one side with one setting of its threads.
type runner interface {
	fmt.Stringer // the setting
	// run makes steps and returns the duration of each.
	run(ctx context.Context, steps int) ([]time.Duration, error)
}

// own is this side with a number of threads.
type own struct {
	*work
	threads int // the number of threads of the kernels and of Go
}

func (o own) String() string { return result.Plural(o.threads, "thread") }

func (o own) run(ctx context.Context, steps int) ([]time.Duration, error) {
	defer setThreads(setThreads(o.threads))
	now := o.clock
	if now == nil {
		now = wall()
	}
	var taken []time.Duration
	for range steps {
		took, err := now.timed(ctx, o.step)
		if err != nil {
			return nil, err
		}
		taken = append(taken, took)
	}
	return taken, nil
}

// setThreads sets the number of threads of this program and returns the number before.
func setThreads(n int) (before int) {
	before = runtime.GOMAXPROCS(n)
	kernel.SetThreads(n)
	return before
}

// collect makes steps and returns their values, one after the other.
func (w *work) collect(ctx context.Context, steps int) (values, error) {
	all := values{}
	for range steps {
		if err := w.step(ctx); err != nil {
			return nil, err
		}
		for name, v := range w.values() {
			all[name] = append(all[name], v...)
		}
	}
	return all, nil
}
