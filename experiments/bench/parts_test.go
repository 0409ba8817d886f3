package bench

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
)

var little = layers.MLP{Inputs: 3, Hidden: []int{4}, Outputs: 2, Activation: "tanh"}

// The arrays are the same every time, in both element types up to rounding.
func TestMaker(t *testing.T) {
	a, b := newMaker(tensor.Float64).normal(3, 5), newMaker(tensor.Float64).normal(3, 5)
	if !slices.Equal(a.Float64s(), b.Float64s()) || !a.Shape().Eq(tensor.Shape{3, 5}) {
		t.Errorf("%v and %v", a, b)
	}
	single := newMaker(tensor.Float32).normal(3, 5)
	for i, v := range graph.Floats(single) {
		if float32(a.Float64s()[i]) != float32(v) || single.Dtype() != tensor.Float32 {
			t.Fatalf("element %d is %v in float32, %v in float64", i, v, a.Float64s()[i])
		}
	}
	if got := newMaker(tensor.Float64).oneHot(4, 3).Float64s(); !slices.Equal(got, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0}) {
		t.Errorf("classes %v", got)
	}
	if y := newMaker(tensor.Float64).targets(2, 1); !y.Shape().Eq(tensor.Shape{2, 1}) || y.Float64s()[0] == 0 {
		t.Errorf("targets %v of one output", y)
	}
	if y := newMaker(tensor.Float64).targets(2, 2); !slices.Equal(y.Float64s(), []float64{1, 0, 0, 1}) {
		t.Errorf("targets %v of two outputs", y)
	}
	if lik(1, tensor.Float64).String() != "gaussian" || lik(2, tensor.Float64).String() != "softmax" {
		t.Error("another likelihood")
	}
}

// The layer differs from a new one, so that a comparison sees L and the prior.
func TestLayer(t *testing.T) {
	m := newMaker(tensor.Float64)
	l := m.layer(m.normal(5, little.Inputs), little.Outputs)
	z, low, prior := l.arrays[0].value, l.arrays[1].value.Float64s(), l.arrays[2].value.Float64s()[0]
	if math.Abs(prior-math.Log(priorStd)) > 1e-15 || !slices.Equal(l.class, []int{0, 1, 0, 1, 0}) || !z.Shape().Eq(tensor.Shape{5, 3}) {
		t.Errorf("log σ₀ %v, classes %v, Z %v", prior, l.class, z.Shape())
	}
	for i, v := range low {
		if v == 0 || v == 1 {
			t.Errorf("element %d of L is %g, as in the identity", i, v)
		}
	}
}

// The other side is given copies of all arrays, taken before the first step.
func TestArrays(t *testing.T) {
	m := newMaker(tensor.Float64)
	net, err := perceptronOf(little)(m)
	if err != nil {
		t.Fatal(err)
	}
	l := m.layer(m.normal(4, little.Inputs), little.Outputs)
	list := arrays(net, m.normal(6, 3), m.oneHot(6, 2), l)
	var names []string
	for _, a := range list {
		names = append(names, a.name)
	}
	want := "x y net.dense1.weight net.dense1.bias net.dense2.weight net.dense2.bias z l class log_prior_std log_noise_variance"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("arrays %s", got)
	}
	before := list[6].value.Float64s()[0]
	l.arrays[0].value.Float64s()[0]++
	if list[6].value.Float64s()[0] != before {
		t.Error("z is not a copy")
	}
	if got := list[10].value.Float64s()[0]; got != math.Log(noiseVariance) {
		t.Errorf("log σ² is %v", got)
	}
	if got := list[8].value.Data().([]int64); !slices.Equal(got, []int64{0, 1, 0, 1}) {
		t.Errorf("classes %v", got)
	}
	if short := arrays(net, m.normal(6, 3), m.oneHot(6, 2), nil); len(short) != 6 {
		t.Errorf("%d arrays without a layer", len(short))
	}
}

// A step changes what the next one computes, and a prediction does not.
func TestWork(t *testing.T) {
	w, err := vallaStep(little, 4, 10, 10)(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	v, err := w.collect(t.Context(), 3)
	if err != nil || len(v["loss"]) != 3 || v["loss"][0] == v["loss"][1] || w.bytes <= 0 {
		t.Errorf("losses %v, %d bytes, error %v", v["loss"], w.bytes, err)
	}
	p, err := vallaPredict(little, 4)(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = p.collect(t.Context(), 2); err != nil || len(v["probabilities"]) != 2*2*predicted || len(v["covariance"]) != 2*4*predicted {
		t.Fatalf("%d probabilities, error %v", len(v["probabilities"]), err)
	}
	if half := len(v["mean"]) / 2; !slices.Equal(v["mean"][:half], v["mean"][half:]) {
		t.Error("two predictions differ")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (own{w, 1}).run(ended, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	if taken, err := (own{w, 1}).run(t.Context(), 2); err != nil || len(taken) != 2 || taken[0] <= 0 {
		t.Errorf("times %v, error %v", taken, err)
	}
}

// A failing step is an error of every measurement.
func TestFailingStep(t *testing.T) {
	bad := errors.New("broken")
	w := &work{step: func(context.Context) error { return bad }, values: func() values { return nil }}
	if _, err := w.collect(t.Context(), 2); !errors.Is(err, bad) {
		t.Errorf("collect: %v", err)
	}
	if _, err := trial(t.Context(), own{w, 1}); !errors.Is(err, bad) {
		t.Errorf("trial: %v", err)
	}
	if _, err := inTurn(t.Context(), []runner{own{w, 1}}, 3); !errors.Is(err, bad) {
		t.Errorf("inTurn: %v", err)
	}
	b := benchmark{name: "x", new: func(tensor.Dtype) (*work, error) { return w, nil }}
	if _, err := measure(t.Context(), b, tensor.Float64, nil, plan{threads: 1, steps: 3}); !errors.Is(err, bad) {
		t.Errorf("measure: %v", err)
	}
	b.new = func(tensor.Dtype) (*work, error) { return nil, bad }
	if _, err := measure(t.Context(), b, tensor.Float64, nil, plan{threads: 1, steps: 3}); !errors.Is(err, bad) {
		t.Errorf("measure: %v", err)
	}
}

// Threads are set for a run and are what they were after it.
func TestThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	seen := 0
	w := &work{step: func(context.Context) error { seen = runtime.GOMAXPROCS(0); return nil }}
	if _, err := (own{w, 1}).run(t.Context(), 1); err != nil || seen != 1 {
		t.Errorf("%d threads, error %v", seen, err)
	}
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("%d threads afterwards, expected %d", got, before)
	}
	kernel.SetThreads(before)
	for n, want := range map[int]string{1: "1 thread", 2: "2 threads", 0: "0 threads"} {
		if got := result.Plural(n, "thread"); got != want || (own{nil, n}).String() != want {
			t.Errorf("%d is %q", n, got)
		}
	}
	if got := threadCounts(1); !slices.Equal(got, []int{1}) {
		t.Errorf("settings %v", got)
	}
	if got := threadCounts(4); !slices.Equal(got, []int{1, 4}) {
		t.Errorf("settings %v", got)
	}
}

// The first step is not counted where another is cheap.
func TestTrial(t *testing.T) {
	for taken, want := range map[time.Duration]string{time.Millisecond: "a1 a3", 2 * time.Second: "a1"} {
		var log []string
		took, err := trial(t.Context(), &recorder{"a", &log, taken, 0})
		if got := strings.Join(log, " "); err != nil || got != want || took != taken {
			t.Errorf("%v: %s, took %v, error %v", taken, got, took, err)
		}
	}
}

func TestRow(t *testing.T) {
	r := row{Ours: &timing{Median: 3}, Theirs: &timing{Median: 4}}
	if v, ok := r.ratio(); !ok || v != 0.75 || r.one() != r.Ours {
		t.Errorf("ratio %v, %v", v, ok)
	}
	r.OursOne = &timing{Median: 1}
	if v, _ := r.ratio(); v != 0.25 || r.one() != r.OursOne {
		t.Errorf("ratio %v, expected that of the faster of ours", v)
	}
	r.Theirs = nil
	if _, ok := r.ratio(); ok {
		t.Error("a ratio without theirs")
	}
	if r.missing(errors.New("other")) || r.Note != "" {
		t.Errorf("another error is noted: %q", r.Note)
	}
	if !r.missing(errMissing) || r.Note != "not available" {
		t.Errorf("note %q", r.Note)
	}
}
