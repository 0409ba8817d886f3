package valla

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// imageFit is a fit of a small ResNet with so many examples and inducing points.
func imageFit(t *testing.T, n, m int) (f adamFit, x, y *tensor.Dense) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	net, err := layers.ResNet{Channels: 3, Blocks: []int{1, 1}, Shortcut: layers.Projection, Outputs: 4}.New(tensor.Float32, rng)
	if err != nil {
		t.Fatal(err)
	}
	random := func(shape ...int) *tensor.Dense {
		d := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(shape...))
		for i := range d.Float32s() {
			d.Float32s()[i] = float32(rng.NormFloat64())
		}
		return d
	}
	labels, class := make([]int, n), make([]int, m)
	for i := range labels {
		labels[i] = i % 4
	}
	for i := range class {
		class[i] = i % 4
	}
	layer, err := NewLayer(jacobian.NTK{Net: net}, random(m, 3, 16, 16), class)
	if err != nil {
		t.Fatal(err)
	}
	f = adamFit{Net: net, Layer: layer, Likelihood: likelihood.Softmax{}, Alpha: new(1.0), BatchSize: n}
	return f, random(n, 3, 16, 16), small.OneHot(labels, 4, tensor.Float32)
}

// TestMemoryLimit: under a limit a step is computed in parts, with the same loss and
// gradients; a limit that one example breaks is refused.
func TestMemoryLimit(t *testing.T) {
	f, x, y := imageFit(t, 12, 6)
	whole, bytes, err := f.plan(x, y)
	if err != nil || whole != 12 {
		t.Fatalf("without a limit %d at a time, error %v", whole, err)
	}
	evaluate := func(f adamFit) (float64, []train.Param) {
		obj, err := f.Objective(x, y)
		if err != nil {
			t.Fatal(err)
		}
		loss, err := obj.Evaluate(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return loss, obj.Params()
	}
	want, params := evaluate(f)
	limited := f
	limited.MemoryLimit = bytes - 1<<20
	size, less, err := limited.plan(x, y)
	if err != nil || size >= 12 || less > limited.MemoryLimit {
		t.Fatalf("%d at a time with %d bytes, error %v", size, less, err)
	}
	loss, parts := evaluate(limited)
	if math.Abs(loss-want) > 1e-4*math.Abs(want) {
		t.Errorf("loss %v in parts, %v in one", loss, want)
	}
	for i, p := range params {
		a, b := graph.Floats(p.Grad), graph.Floats(parts[i].Grad)
		scale := 0.0
		for _, v := range a {
			scale = max(scale, math.Abs(v))
		}
		for k := range a {
			if math.Abs(a[k]-b[k]) > 1e-3*scale {
				t.Fatalf("gradient of %s, element %d: %v in one, %v in parts", p.Name, k, a[k], b[k])
			}
		}
	}
	limited.MemoryLimit = 1 << 20
	var refused *graph.MemoryError
	if _, err := limited.Objective(x, y); !errors.As(err, &refused) || refused.Limit != 1<<20 {
		t.Errorf("error %v", err)
	}
}

// TestPlanIsMeasured: the heap that a step takes is what was planned.
func TestPlanIsMeasured(t *testing.T) {
	f, x, y := imageFit(t, 60, 40)
	_, plan, err := f.plan(x, y)
	if err != nil {
		t.Fatal(err)
	}
	before := small.LiveHeap()
	obj, err := f.Objective(x, y)
	if err == nil {
		_, err = obj.Evaluate(t.Context(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := float64(small.LiveHeap() - before)
	runtime.KeepAlive(obj)
	if want := float64(plan); got < want/1.25 || got > want*1.25 {
		t.Errorf("a step takes %s, %s were planned", graph.Bytes(int64(got)), graph.Bytes(int64(want)))
	}
}

// TestStepMemory: the heap that a fit by natural gradients holds after a step is what was predicted.
func TestStepMemory(t *testing.T) {
	f, x, y := imageFit(t, 61, 40) // not all in each mini-batch
	want, err := StepMemory(f.Net, x.Shape()[1:], 40, 60)
	if err != nil {
		t.Fatal(err)
	}
	step := func() (bytes float64) {
		before := small.LiveHeap()
		natural := naturalFit{Net: f.Net, Layer: f.Layer, Likelihood: f.Likelihood, BatchSize: 60, FixPrior: true}
		natural.Config.Iterations = 1
		natural.Config.OnProgress = func(train.Progress) { bytes = float64(small.LiveHeap() - before) }
		if _, err := natural.Run(t.Context(), x, y); err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	step() // after which the kernels have their working space, which the process keeps
	got := step()
	const fixed = 64 << 20 // in the prediction, for what is not the step's
	if want := float64(want) - fixed; got < want/1.25 || got > want*1.25 {
		t.Errorf("a step takes %s, %s were predicted", graph.Bytes(int64(got)), graph.Bytes(int64(want)))
	}
	if one, err := StepMemory(f.Net, x.Shape()[1:], 40, 1); err != nil || 4*(one-fixed) > 3*(want-fixed) {
		t.Errorf("a row at a time takes %s of %s, error %v", graph.Bytes(one), graph.Bytes(want), err)
	}
	if _, err := StepMemory(f.Net, x.Shape()[1:], 0, 1); err == nil {
		t.Error("no inducing points are accepted")
	}
}

// TestPredictionMemory: predictions do not depend on how many are made at a time, and
// a limit that one example breaks is refused.
func TestPredictionMemory(t *testing.T) {
	f, x, _ := imageFit(t, 7, 5)
	p := newPosterior(f.Net, f.Layer)
	predict := func(memory int64) (gp.Gaussian, error) {
		e, err := gp.NewEngine(p, x.Shape()[1:], gp.EngineOptions{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		return e.PredictAll(t.Context(), x)
	}
	want, err := predict(0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := predict(16 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want.Cov {
		if math.Abs(got.Cov[i]-v) > 1e-3*math.Abs(want.Cov[0]) {
			t.Fatalf("covariance %d is %v, want %v", i, got.Cov[i], v)
		}
	}
	var refused *graph.MemoryError
	if _, err := predict(1 << 20); !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
}

// TestPassMemory: a single input may need more memory in a pass over inputs than the default
// allows, but not more than a limit.
func TestPassMemory(t *testing.T) {
	f, x, _ := imageFit(t, 7, 5)
	p := newPosterior(f.Net, f.Layer)
	p.limit = 1 << 20
	if _, err := p.kernelPass(x.Shape()); err != nil {
		t.Errorf("an input beyond the default: error %v", err)
	}
	p.limitMemory(1 << 20)
	var refused *graph.MemoryError
	if _, err := p.kernelPass(x.Shape()); !errors.As(err, &refused) {
		t.Errorf("error %v", err)
	}
}
