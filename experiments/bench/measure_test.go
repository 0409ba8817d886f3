package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gorgonia.org/tensor"
)

// recorder is a side that writes down its calls. Each step takes the time that the recorder is given.
type recorder struct {
	name  string
	log   *[]string
	taken time.Duration
	calls int
}

func (r *recorder) String() string { return r.name }

func (r *recorder) run(_ context.Context, steps int) ([]time.Duration, error) {
	*r.log = append(*r.log, fmt.Sprint(r.name, steps))
	t := make([]time.Duration, steps)
	for i := range t {
		r.calls++
		t[i] = r.taken
		if i == 0 && steps > 1 {
			t[i] = time.Hour // a step that is not to be counted
		}
	}
	return t, nil
}

// Both numbers of threads are timed by the clock of the wall, unless another is asked for on one thread.
func TestClockOfOneThread(t *testing.T) {
	b := benchmark{name: "a pause", new: func(tensor.Dtype) (*work, error) {
		return &work{step: func(context.Context) error { time.Sleep(5 * time.Millisecond); return nil }}, nil
	}}
	r, err := measure(t.Context(), b, tensor.Float64, nil, plan{threads: 2, steps: 3, budget: time.Second})
	if err != nil || r.OursOne.Fastest < 0.005 || r.Ours.Fastest < 0.005 {
		t.Errorf("%+v on one thread, %+v on two, error %v", r.OursOne, r.Ours, err)
	}
	still := func() (time.Duration, error) { return 0, nil }
	r, err = measure(t.Context(), b, tensor.Float64, nil, plan{threads: 2, steps: 3, budget: time.Second, alone: still})
	if err != nil || r.OursOne.Fastest != 0 || r.Ours.Fastest < 0.005 {
		t.Errorf("%+v on one thread, %+v on two, error %v", r.OursOne, r.Ours, err)
	}
}

func TestInTurn(t *testing.T) {
	for _, c := range []struct {
		steps int
		want  string
	}{
		{12, "a3 b3 a3 b3 a3 b3 a3 b3 a3 b3 a3 b3"},
		{7, "a1 b1 a1 b1 a1 b1 a1 b1 a1 b1 a3 b3"},
		{3, "a1 b1 a1 b1 a1 b1"},
	} {
		var log []string
		a, b := &recorder{"a", &log, time.Second, 0}, &recorder{"b", &log, 2 * time.Second, 0}
		timings, err := inTurn(t.Context(), []runner{a, b}, c.steps)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(log, " "); got != c.want {
			t.Errorf("%d steps: %s, expected %s", c.steps, got, c.want)
		}
		want := []timing{{1, 1, c.steps, "a", 0}, {2, 2, c.steps, "b", 0}}
		for i := range want {
			if timings[i] != want[i] {
				t.Errorf("%d steps: %+v, expected %+v", c.steps, timings[i], want[i])
			}
		}
	}
}

// TestWarmUp: after the first turn quick steps are made for settle before they count.
func TestWarmUp(t *testing.T) {
	for _, c := range []struct {
		block int
		taken []time.Duration
		want  int
	}{
		{1, nil, 0}, {1, []time.Duration{1}, 0}, {5, nil, 1}, {5, []time.Duration{time.Minute}, 1},
		{5, []time.Duration{9 * settle, settle / 20}, 20}, {5, []time.Duration{0}, int(settle / time.Microsecond)},
	} {
		if got := warmUp(c.block, c.taken); got != c.want {
			t.Errorf("%d steps after %v: %d, expected %d", c.block, c.taken, got, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	pl := plan{steps: 30, budget: time.Minute}
	for step, want := range map[time.Duration]int{0: 30, time.Millisecond: 30, 4 * time.Second: 15, 25 * time.Second: 3, time.Hour: 3} {
		if got := pl.count(step); got != want {
			t.Errorf("%v: %d steps, expected %d", step, got, want)
		}
	}
}

func TestMedian(t *testing.T) {
	for want, list := range map[float64][]time.Duration{2: {3e9, 1e9, 2e9}, 2.5: {4e9, 1e9, 2e9, 3e9}, 7: {7e9}} {
		if got := median(list); got != want {
			t.Errorf("median of %v is %v, expected %v", list, got, want)
		}
	}
}

func TestDifference(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		got, want values
		d         float64
		err       string
	}{
		{values{"a": {1, 2}}, values{"a": {1, 2}}, 0, ""},
		{values{"a": {1, 2}}, values{"a": {1, 4}}, 0.5, ""},
		{values{"a": {0, 0}, "b": {1}}, values{"a": {0, 0}, "b": {2}}, 0.5, ""},
		{values{"a": {1}, "mine": {3}}, values{"a": {1}}, 0, ""},
		{values{"a": {1}}, values{"a": {0}}, math.Inf(1), ""},
		{values{}, values{"a": {1}}, 0, `"a" has 0 numbers, expected 1`},
		{values{"a": {nan}}, values{"a": {1}}, 0, `"a": element 0 is NaN`},
		{values{"a": {1}}, values{"a": {nan}}, 0, `"a": element 0 is 1, expected NaN`},
	} {
		d, err := difference(c.got, c.want)
		switch {
		case c.err == "" && (err != nil || d != c.d):
			t.Errorf("%v and %v: %v, %v, expected %v", c.got, c.want, d, err, c.d)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%v and %v: %v, expected %s", c.got, c.want, err, c.err)
		}
	}
}

// A side that computes something else is an error.
func TestMismatch(t *testing.T) {
	p := fake(t, "well") // its losses are 1, 2, 3
	b := benchmark{name: "a step", kind: "step", compare: 3, wanted: 1, new: func(tensor.Dtype) (*work, error) {
		loss := 0.0
		return &work{
			arrays: []array{{"x", tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{1}))}},
			step:   func(context.Context) error { loss += 1.00001; return nil },
			values: func() values { return values{"loss": {loss}} },
		}, nil
	}}
	pl := plan{threads: 1, steps: 3, budget: time.Second}
	_, err := measure(t.Context(), b, tensor.Float64, p, pl)
	if err == nil || !strings.Contains(err.Error(), "a step, float64: the two sides differ by 1e-05") {
		t.Errorf("float64: %v", err)
	}
	r, err := measure(t.Context(), b, tensor.Float32, p, pl)
	if err != nil || r.Theirs == nil || r.Ours == nil || math.Abs(*r.Difference-1e-5) > 1e-10 {
		t.Errorf("float32: %+v, %v", r, err)
	}
	if r.Theirs.Median != 0.1 || r.Theirs.Bytes != 1000 || r.Theirs.Setting != "OpenBLAS 1, torch 1" {
		t.Errorf("theirs: %+v", r.Theirs)
	}
}

func TestNewCurve(t *testing.T) {
	sizes, v := []float64{1, 2, 4, 8}, []float64{3, 12, 48, 192} // 3 n²
	if c := newCurve(sizes, v); math.Abs(c.Exponent-2) > 1e-12 || math.Abs(c.Factor-3) > 1e-12 {
		t.Errorf("%+v, expected 3 n²", c)
	}
	// By hand: log2 of 1, 2, 2 against 0, 1, 2 has the slope ½ and the mean ⅔ at 1.
	if c := newCurve([]float64{1, 2, 4}, []float64{1, 2, 2}); math.Abs(c.Exponent-0.5) > 1e-12 || math.Abs(math.Log2(c.Factor)-(2./3-0.5)) > 1e-12 {
		t.Errorf("%+v", c)
	}
}
