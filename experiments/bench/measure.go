package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/npy"
	"gorgonia.org/tensor"
)

// row holds the measurements of a benchmark in one element type.
type row struct {
	Name    string  `json:"name"`                      // the benchmark
	Group   group   `json:"group"`                     // the part of the table
	Dtype   string  `json:"dtype"`                     // float64 or float32
	Wanted  float64 `json:"wanted_ratio"`              // aim for our time as a fraction of theirs
	Ours    *timing `json:"ours"`                      // on all threads
	OursOne *timing `json:"ours_one_thread,omitempty"` // where Ours has several
	Theirs  *timing `json:"theirs,omitempty"`          // with their fastest setting; nil where they were not measured
	// Difference is the largest relative difference of the results of both sides.
	Difference *float64 `json:"difference,omitempty"`
	Note       string   `json:"note,omitempty"` // why there is no Theirs

	Needed result.Operations `json:"needed,omitzero"`   // of a step of ours; zero if they are not known
	Floor  float64           `json:"floor_s,omitempty"` // seconds of these operations at the speed of a core; 0: not known
}

// timing holds the durations of one side with its fastest setting.
type timing struct {
	Median  float64 `json:"median_s"`        // median duration of a step in seconds
	Fastest float64 `json:"fastest_s"`       // shortest duration of a step in seconds
	Steps   int     `json:"steps"`           // the number of steps that count
	Setting string  `json:"setting"`         // the threads, in words
	Bytes   int64   `json:"bytes,omitempty"` // of our program, of their process
}

// ratio returns our time as a fraction of theirs, and false if theirs is not known.
func (r row) ratio() (float64, bool) {
	if r.Theirs == nil {
		return 0, false
	}
	return min(r.Ours.Median, r.one().Median) / r.Theirs.Median, true
}

// above returns the time on one thread as a multiple of the floor, and false where the floor is not known.
func (r row) above() (float64, bool) {
	return r.one().Median / r.Floor, r.Floor > 0
}

// one returns the timing on one thread.
func (r row) one() *timing {
	if r.OursOne == nil {
		return r.Ours
	}
	return r.OursOne
}

// plan bounds a measurement.
type plan struct {
	threads int           // that this side may use
	steps   int           // of each side
	budget  time.Duration // for each side; slower work makes fewer steps
	clock   clock         // nil: the time of the wall
	alone   clock         // of this side on one thread, where it may use several; nil: clock
}

// rounds is the number of turns of each side, and rest the pause between turns. In the pause
// threads of the other side, which may wait for work at full speed, fall asleep.
const rounds = 6

var rest = 60 * time.Millisecond

// measure runs a benchmark on both sides; p may be nil.
func measure(ctx context.Context, b benchmark, dt tensor.Dtype, p *peer, pl plan) (row, error) {
	r := row{Name: b.name, Group: b.group, Dtype: dt.String(), Wanted: b.wanted}
	w, err := b.new(dt)
	if err != nil {
		return r, err
	}
	w.clock, r.Needed = pl.clock, w.needed
	defer setThreads(setThreads(pl.threads))
	var theirs []other
	if p != nil {
		var stop func()
		theirs, stop, err = p.open(ctx, b, dt, w, pl.threads)
		defer stop()
		if r.missing(err) {
			err = nil
		} else if err == nil {
			err = r.check(ctx, b, dt, w, theirs[0], filepath.Join(p.dir, "values.npz"))
		}
		if err != nil {
			return r, err
		}
	}
	return r, r.time(ctx, w, theirs, pl)
}

// missing reports whether err says that the other side lacks a program or a module, and notes err.
func (r *row) missing(err error) bool {
	if !errors.Is(err, errMissing) {
		return false
	}
	r.Note = err.Error()
	return true
}

// open starts the other side with all settings of its threads. stop is never nil.
func (p *peer) open(ctx context.Context, b benchmark, dt tensor.Dtype, w *work, threads int) (sides []other, stop func(), err error) {
	var drivers []*driver
	stop = func() {
		for _, d := range drivers {
			d.close()
		}
	}
	own := codeOf(b.kind)
	if p.checkouts[own] == "" {
		return nil, stop, fmt.Errorf("%w: no --reference is a checkout of %s", errMissing, own)
	}
	file := filepath.Join(p.dir, "work.npz")
	if err := write(file, w.arrays); err != nil {
		return nil, stop, err
	}
	defer os.Remove(file)
	peak := new(int64)
	for _, blas := range threadCounts(threads) {
		d, err := p.start(ctx, blas, p.checkouts[own])
		if err != nil {
			return nil, stop, err
		}
		d.cpu = w.clock != nil
		drivers = append(drivers, d)
		if err := d.open(b, dt, file, 1); err != nil {
			return nil, stop, err
		}
		for _, torch := range threadCounts(threads) {
			sides = append(sides, other{d, torch, peak})
		}
	}
	return sides, stop, nil
}

// threadCounts returns the numbers of threads that are tried.
func threadCounts(threads int) []int {
	if threads == 1 {
		return []int{1}
	}
	return []int{1, threads}
}

func write(file string, list []array) error {
	names, values := make([]string, len(list)), make([]*tensor.Dense, len(list))
	for i, a := range list {
		names[i], values[i] = a.name, a.value
	}
	return npy.WriteArchive(file, names, values)
}

// time sets the timings of our side on all threads and on one, and of the fastest setting of the
// other side.
func (r *row) time(ctx context.Context, w *work, theirs []other, pl plan) error {
	sides, alone := []runner{own{w, pl.threads}}, *w
	if pl.alone != nil {
		alone.clock = pl.alone
	}
	if pl.threads > 1 {
		sides = append(sides, own{&alone, 1})
	}
	slowest, err := trial(ctx, sides[0])
	if err != nil {
		return err
	}
	if len(theirs) > 0 {
		best, took, err := fastest(ctx, theirs)
		if err != nil {
			return err
		}
		sides, slowest = append(sides, best), max(slowest, took)
	}
	timings, err := inTurn(ctx, sides, pl.count(slowest))
	if err != nil {
		return err
	}
	for i := range sides {
		t := &timings[i]
		switch o, isTheirs := sides[i].(other); {
		case isTheirs:
			t.Bytes, r.Theirs = *o.peak, t
		case i == 0:
			t.Bytes, r.Ours = w.bytes, t
		default:
			t.Bytes, r.OursOne = w.bytes, t
		}
	}
	return nil
}

// count returns the number of steps for work of which a step has the given duration.
func (pl plan) count(step time.Duration) int {
	return min(pl.steps, max(minSteps, int(pl.budget/max(step, 1))))
}

// slow is the duration from which on steps are made as rarely as possible.
const slow = time.Second

// trial returns the duration of a step after the first, which is slower.
func trial(ctx context.Context, side runner) (time.Duration, error) {
	taken, err := side.run(ctx, 1)
	if err == nil && taken[0] < slow {
		taken, err = side.run(ctx, 3)
	}
	if err != nil {
		return 0, err
	}
	return slices.Min(taken), nil
}

// trials is the number of trials of each setting. The fastest step counts, which is the least
// affected by noise.
const trials = 3

// fastest returns the fastest setting of the other side and the duration of a step with it. It
// tries all settings in turn, and slow work only once.
func fastest(ctx context.Context, sides []other) (best other, took time.Duration, err error) {
	for i := range trials {
		for j, s := range sides {
			t, err := trial(ctx, s)
			if err != nil {
				return best, 0, err
			}
			if i+j == 0 || t < took {
				best, took = s, t
			}
		}
		if took > slow {
			break
		}
	}
	return best, took, nil
}

// settle is how long a side makes steps before the steps that count. After a pause the system may
// run both threads of a side on one processor for some tens of milliseconds. The gain of the second
// thread would not show then.
var settle = 100 * time.Millisecond

// inTurn times steps of all sides, which take turns of a few steps each. The first steps of a
// turn of several are not counted.
func inTurn(ctx context.Context, sides []runner, steps int) ([]timing, error) {
	taken := make([][]time.Duration, len(sides))
	turns := min(rounds, steps)
	for turn := range turns {
		block := steps*(turn+1)/turns - steps*turn/turns
		for i, s := range sides {
			time.Sleep(rest)
			warm := warmUp(block, taken[i])
			t, err := s.run(ctx, block+warm)
			if err != nil {
				return nil, err
			}
			taken[i] = append(taken[i], t[warm:]...)
		}
	}
	timings := make([]timing, len(sides))
	for i, t := range taken {
		timings[i] = timing{Median: median(t), Fastest: slices.Min(t).Seconds(), Steps: len(t), Setting: sides[i].String()}
	}
	return timings, nil
}

// warmUp is how many steps of a turn are not counted, given those counted so far. Turns of a
// single slow step have none.
func warmUp(block int, taken []time.Duration) int {
	switch {
	case block == 1:
		return 0
	case len(taken) == 0:
		return 1
	}
	return max(1, int(settle/max(slices.Min(taken), time.Microsecond)))
}

// median returns the median in seconds, and sorts t.
func median(t []time.Duration) float64 {
	slices.Sort(t)
	n := len(t)
	return (t[(n-1)/2].Seconds() + t[n/2].Seconds()) / 2
}
