package bench

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// A power is found again, whatever its exponent and factor.
func TestNewCurveFindsPowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exponent, factor := rapid.Float64Range(-3, 3).Draw(t, "exponent"), rapid.Float64Range(0.01, 100).Draw(t, "factor")
		sizes := []float64{2, 5, 10, 70}
		values := make([]float64, len(sizes))
		for i, n := range sizes {
			values[i] = factor * math.Pow(n, exponent)
		}
		c := newCurve(sizes, values)
		if math.Abs(c.Exponent-exponent) > 1e-9 || math.Abs(c.Factor/factor-1) > 1e-9 {
			t.Fatalf("%+v", c)
		}
		if s := c.series(sizes, "name", 1000); !slices.Equal(s.X, sizes) || s.Y[3] != 1000*values[3] || s.Name != "name" {
			t.Fatalf("series %+v", s)
		}
	})
}

// The number of steps is at least minSteps, at most the plan's, and fits the budget in between.
func TestCountWithinBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pl := plan{steps: rapid.IntRange(minSteps, 100).Draw(t, "steps"), budget: time.Duration(rapid.Int64Range(1, 1e11).Draw(t, "budget"))}
		step := time.Duration(rapid.Int64Range(1, 1e11).Draw(t, "step"))
		n := pl.count(step)
		if n < minSteps || n > pl.steps || n > minSteps && time.Duration(n)*step > pl.budget {
			t.Fatalf("%d steps of %v within %v, at most %d", n, step, pl.budget, pl.steps)
		}
		if n < pl.steps && time.Duration(n+1)*step <= pl.budget {
			t.Fatalf("%d steps of %v, although one more is within %v", n, step, pl.budget)
		}
	})
}

// The median has as many durations below as above, and does not depend on their order.
func TestMedianHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "duration")) }), 1, 9).Draw(t, "durations")
		turned := slices.Clone(list)
		slices.Reverse(turned)
		m := median(list)
		if m != median(turned) {
			t.Fatalf("medians %v of one order", m)
		}
		below, above := 0, 0
		for _, d := range list {
			if d.Seconds() < m {
				below++
			}
			if d.Seconds() > m {
				above++
			}
		}
		if 2*below > len(list) || 2*above > len(list) {
			t.Fatalf("median %v of %v: %d below and %d above", m, list, below, above)
		}
	})
}

// The difference of a side from itself is 0, and does not depend on the unit.
func TestDifferenceOfUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		a := rapid.SliceOfN(rapid.Float64Range(1, 9), n, n).Draw(t, "ours")
		b := rapid.SliceOfN(rapid.Float64Range(1, 9), n, n).Draw(t, "theirs")
		if d, err := difference(values{"v": a}, values{"v": a}); err != nil || d != 0 {
			t.Fatalf("%v from itself, error %v", d, err)
		}
		d, err := difference(values{"v": a}, values{"v": b})
		if err != nil || d < 0 || d > 8 {
			t.Fatalf("%v, error %v", d, err)
		}
		unit := rapid.Float64Range(0.1, 1000).Draw(t, "unit")
		for i := range n {
			a[i], b[i] = unit*a[i], unit*b[i]
		}
		if e, err := difference(values{"v": a}, values{"v": b}); err != nil || math.Abs(e-d) > 1e-9 {
			t.Fatalf("%v in another unit, %v before, error %v", e, d, err)
		}
	})
}

// A percentile is the duration that the given share of calls does not exceed, by counting. A share
// that is rarer than all calls together has none.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := latency{sorted: rapid.SliceOfN(rapid.Float64Range(0.001, 1), 2, 300).Draw(t, "seconds")}
		l.finish()
		if l.Calls != len(l.sorted) || !slices.IsSorted(l.sorted) {
			t.Fatalf("%+v", l)
		}
		last := 0.0
		for _, n := range shares {
			v, there := l.OneOf[n]
			if there != (l.Calls >= n) {
				t.Fatalf("one of %d of %d calls: %v", n, l.Calls, there)
			}
			if !there {
				continue
			}
			above := 0
			for _, s := range l.sorted {
				if s > v {
					above++
				}
			}
			if above > l.Calls/n || v < last {
				t.Fatalf("%d of %d calls exceed %v, expected one of %d; the percentile before is %v", above, l.Calls, v, n, last)
			}
			last = v
		}
	})
}

// Calls that warm up are not counted, and an error of a call or of the clock ends the measurement.
func TestLatencyMeasure(t *testing.T) {
	calls := 0
	var l latency
	if err := l.measure(t.Context(), func(context.Context) error { calls++; return nil }, 0, wall()); err != nil || calls != 51 || len(l.sorted) != 1 {
		t.Errorf("%d calls, of which %d count, error %v", calls, len(l.sorted), err)
	}
	broken := errors.New("broken")
	if err := l.measure(t.Context(), func(context.Context) error { return broken }, time.Hour, wall()); !errors.Is(err, broken) {
		t.Errorf("a broken call: %v", err)
	}
	stopped := func() (time.Duration, error) { return 0, broken }
	if err := l.measure(t.Context(), func(context.Context) error { return nil }, time.Hour, stopped); !errors.Is(err, broken) {
		t.Errorf("a broken clock: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.measure(ended, func(context.Context) error { return nil }, 0, wall()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}

// A checkout is known by a file, several are given with commas, and a folder without any of the
// files is an error that names them.
func TestCodes(t *testing.T) {
	for kind, want := range map[string]code{"fmgp step": codeFMGP, "ella fit": codeELLA, "step": codeVaLLA, "laplace fit": codeVaLLA, "": codeVaLLA} {
		if got := codeOf(kind); got != want {
			t.Errorf("%q is of %s, expected %s", kind, got, want)
		}
	}
	for _, b := range benchmarks {
		if signs[codeOf(b.kind)] == "" {
			t.Errorf("%s: no file by which a checkout is known", b.name)
		}
	}
	dir := fakeCheckout(t)
	if found, err := checkoutsIn(dir); err != nil || len(found) != 1 || found[codeVaLLA] != dir {
		t.Errorf("checkouts %v, error %v", found, err)
	}
	_, err := checkoutsIn(dir + "," + t.TempDir())
	for _, sign := range signs {
		if err == nil || !strings.Contains(err.Error(), sign) {
			t.Errorf("error %v, expected one with %s", err, sign)
		}
	}
}

// The rows of the table are measured in their order, in each element type, until one fails.
func TestRowsInOrder(t *testing.T) {
	var progress strings.Builder
	c := Command{progress: &progress}
	list := []benchmark{{name: "a", dtypes: both}, {name: "b", dtypes: wide}, {name: "c", dtypes: single}}
	broken := errors.New("broken")
	var got []string
	err := c.rows(list, func(b benchmark, dt tensor.Dtype) error {
		if got = append(got, b.name+" "+dt.String()); b.name == "b" {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || strings.Join(got, ", ") != "a float64, a float32, b float64" {
		t.Errorf("rows %q, error %v", got, err)
	}
	if progress.String() != "a, float64\na, float32\nb, float64\n" {
		t.Errorf("progress %q", &progress)
	}
}

// Numbers out of their ranges are refused with the flag's name.
func TestCheckRanges(t *testing.T) {
	good := Command{seeds: 1, each: 1, within: 1, steps: minSteps}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Command){
		"--seeds 0": func(c *Command) { c.seeds = 0 }, "--seed -1": func(c *Command) { c.seed = -1 },
		"--each -1ns": func(c *Command) { c.each = -1 }, "--time 0s": func(c *Command) { c.within = 0 }, "--steps 2": func(c *Command) { c.steps = 2 },
	} {
		c := good
		if spoil(&c); c.check() == nil || !strings.Contains(c.check().Error(), want) {
			t.Errorf("%s: %v", want, c.check())
		}
	}
}

// The arrays of a work are written and read back in their types.
func TestWorkFiles(t *testing.T) {
	p := fake(t, "well")
	w := &work{arrays: []array{{"x", tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{1}))}}}
	sides, stop, err := p.open(t.Context(), benchmarks[0], tensor.Float64, w, 1)
	defer stop()
	if err != nil || len(sides) != 1 {
		t.Fatalf("%d sides, error %v", len(sides), err)
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "driver.py" {
		t.Errorf("files %v are left, error %v", entries, err)
	}
	if _, err := sides[0].collect(p.dir+"/none/values.npz", 1, 1); err == nil {
		t.Error("values that cannot be written are no error")
	}
}
