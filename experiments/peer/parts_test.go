package main

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot"
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
	_, l, err := newMaker(tensor.Float64).perceptron(little, 5)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(l.LogPriorStd.At(0)-math.Log(priorStd)) > 1e-15 || !slices.Equal(l.Class, []int{0, 1, 0, 1, 0}) || !l.Z.Value.Shape().Eq(tensor.Shape{5, 3}) {
		t.Errorf("log σ₀ %v, classes %v, Z %v", l.LogPriorStd.At(0), l.Class, l.Z.Value.Shape())
	}
	off := 0
	for i := range l.L.Value.Shape()[0] {
		if v := l.L.At(i); v != 0 && v != 1 {
			off++
		}
	}
	if off != l.L.Value.Shape()[0] {
		t.Errorf("%d elements of L are those of the identity", l.L.Value.Shape()[0]-off)
	}
}

// The other side is given copies of all arrays, taken before the first step.
func TestArrays(t *testing.T) {
	m := newMaker(tensor.Float64)
	net, l, err := m.perceptron(little, 4)
	if err != nil {
		t.Fatal(err)
	}
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
	l.Z.Set(0, before+1)
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
	w, err := vallaStep(little, 4, 10)(tensor.Float64)
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
		if got := plural(n, "thread"); got != want || (own{nil, n}).String() != want {
			t.Errorf("%d is %q", n, got)
		}
	}
	if got := settings(1); !slices.Equal(got, []int{1}) {
		t.Errorf("settings %v", got)
	}
	if got := settings(4); !slices.Equal(got, []int{1, 4}) {
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

// Without a checkout or a Python there is an error that tells the two apart.
func TestNewPeerErrors(t *testing.T) {
	if _, _, err := newPeer(t.Context(), "python3", t.TempDir(), t.TempDir()); err == nil || errors.Is(err, errMissing) || !strings.Contains(err.Error(), "no checkout") {
		t.Errorf("no checkout: %v", err)
	}
	if _, _, err := newPeer(t.Context(), "no such python", fakeCheckout(t), t.TempDir()); !errors.Is(err, errMissing) {
		t.Errorf("no Python: %v", err)
	}
	if _, _, err := newPeer(t.Context(), os.Args[0], fakeCheckout(t), filepath.Join(t.TempDir(), "none")); err == nil || errors.Is(err, errMissing) {
		t.Errorf("no folder: %v", err)
	}
	if got := (request{Do: "open", Kind: "step"}).String() + "|" + (request{Do: "time"}).String(); got != "open step|time" {
		t.Errorf("requests %s", got)
	}
}

// The groups that take minutes are measured only where they are asked for.
func TestChosen(t *testing.T) {
	count := func(c command) map[group]int {
		n := map[group]int{}
		list, err := c.chosen()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range list {
			n[b.group]++
		}
		return n
	}
	if n := count(command{}); n[dense] == 0 || n[convolution] == 0 || n[backpack] != 0 || n[laplaces] != 0 {
		t.Errorf("rows %v", n)
	}
	if n := count(command{resnet: true, laplace: true}); n[backpack] != 2 || n[laplaces] != 6 {
		t.Errorf("rows %v", n)
	}
	if n := count(command{only: "^MAP step"}); n[dense] != 1 || n[convolution] != 0 {
		t.Errorf("rows %v", n)
	}
}

func TestParse(t *testing.T) {
	var c command
	args := strings.Fields("--reference r --python p --resnet --laplace --only x --steps 5 --json --markdown --scaling --dir d")
	if err := c.parse(args, io.Discard); err != nil {
		t.Fatal(err)
	}
	if c != (command{reference: "r", python: "p", resnet: true, laplace: true, only: "x", steps: 5, json: true, markdown: true, scaling: true, dir: "d"}) {
		t.Errorf("command %+v", c)
	}
	c = command{}
	if err := c.parse(nil, io.Discard); err != nil || c.python != "python3" || c.steps != 30 || c.dir != "runs/scaling" {
		t.Errorf("defaults %+v, error %v", c, err)
	}
	if l := load(); l == "" || strings.Contains(l, "\n") {
		t.Errorf("load %q", l)
	}
}

// A report goes to the output in the form that was asked for.
func TestPrint(t *testing.T) {
	for want, c := range map[string]command{`"their_versions": {`: {json: true}, "|--:|": {markdown: true}, "OF FASTEST": {}} {
		var out strings.Builder
		if err := c.print(example(), &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s (%v)", want, &out, err)
		}
	}
}

// The table of a sweep has times, their exponents, the gain by threads, and memory.
func TestScalingText(t *testing.T) {
	r := scalingReport{Step: "a step", Machine: result.Machine{CPU: "chip", Go: "go1"}, Load: [2]string{"1", "2"}, Growth: []growth{
		{Size: "M", Sizes: []float64{10, 20}, Threads: []int{1, 2}, Seconds: []curve{{Values: []float64{0.002, 0.008}, Exponent: 2}, {Values: []float64{0.001, 0.002}, Exponent: 1}},
			Bytes: curve{Values: []float64{3e6, 6e6}, Exponent: 1}},
		{Size: "B", Sizes: []float64{5}, Threads: []int{1}, Seconds: []curve{{Values: []float64{1}}}, Bytes: curve{Values: []float64{1e6}}},
	}}
	text := strings.Join(strings.Fields(r.text()), " ")
	for _, want := range []string{"a step chip, go1; load 1 before, 2 after", "M │ │ exponent │ 10 │ 20", "ms, 1 thread │ 2.00 │ 2.00 │ 8.00", "ms, 2 threads │ 1.00 │ 1.00 │ 2.00",
		"faster by │ │ × 2.00 │ × 4.00", "MB │ 1.00 │ 3.00 │ 6.00"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, r.text())
		}
	}
	if strings.Count(text, "faster by") != 1 {
		t.Errorf("a gain on one thread:\n%s", r.text())
	}
}

// The sizes of a sweep change one size and keep the others.
func TestSweeps(t *testing.T) {
	usual := sizing{inducing: 100, batch: batch, classes: 10}
	for _, s := range sweeps {
		if !slices.IsSorted(s.sizes) || len(s.sizes) < 3 {
			t.Errorf("%s: sizes %v", s.name, s.sizes)
		}
		for _, n := range s.sizes {
			got := s.sizing(n)
			changed := map[string]*int{"M": &got.inducing, "B": &got.batch, "C": &got.classes}[s.name]
			if changed == nil || *changed != n {
				t.Fatalf("%s = %d: %+v", s.name, n, got)
			}
			*changed = map[string]int{"M": 100, "B": batch, "C": 10}[s.name]
			if got != usual {
				t.Errorf("%s = %d changes another size: %+v", s.name, n, got)
			}
		}
	}
}

func TestDecades(t *testing.T) {
	var labels []string
	for _, tick := range decades(0.15, 30) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "0.2 0.5 1 2 5 10 20" {
		t.Errorf("ticks %s", got)
	}
}

// Plots of one row have the same axis, which holds all their values.
func TestEqualHeights(t *testing.T) {
	a, b := newLogPlot("M", "ms"), newLogPlot("B", "ms")
	a.Y.Min, a.Y.Max, b.Y.Min, b.Y.Max = 1, 10, 4, 100
	equalHeights([]*plot.Plot{a, b})
	if a.Y.Min != b.Y.Min || a.Y.Max != b.Y.Max || a.Y.Min >= 1 || a.Y.Max <= 100 {
		t.Errorf("axes from %v to %v and from %v to %v", a.Y.Min, a.Y.Max, b.Y.Min, b.Y.Max)
	}
}

// A picture that cannot be written is an error.
func TestDrawErrors(t *testing.T) {
	g := growth{Size: "M", Sizes: []float64{1, 2}, Threads: []int{1}, Seconds: []curve{newCurve([]float64{1, 2}, []float64{1, 2})}, Bytes: newCurve([]float64{1, 2}, []float64{1, 2})}
	if err := draw(filepath.Join(t.TempDir(), "none", "scaling"), []growth{g}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	g.Bytes.Values = []float64{1, math.NaN()}
	if err := draw(filepath.Join(t.TempDir(), "scaling"), []growth{g}); err == nil {
		t.Error("NaN is drawn")
	}
}
