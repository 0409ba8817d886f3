package fmgp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

func TestSettings(t *testing.T) {
	numbers, classes := newProblem(t, 30, 1, false, tensor.Float64), newProblem(t, 30, 3, true, tensor.Float64)
	c, err := Settings{}.complete(classes)
	if err != nil || c.Kernel != kernelEmbedding || c.Inducing != 100 || c.BatchSize != 30 || c.ValidateEvery != 250 || c.Schedule != "cosine" || c.Decay != 0 {
		t.Errorf("%+v, error %v", c, err)
	}
	numbers.KnownNoise = true
	if c, err = (Settings{Schedule: scheduleSteps}).complete(numbers); err != nil || c.Kernel != kernelRBF || !c.FixNoise || c.Decay != 0.85 || c.DecayEvery != 1000 {
		t.Errorf("%+v, error %v", c, err)
	}
	if c, err = (Settings{NoiseStd: 1}).complete(numbers); err != nil || c.FixNoise {
		t.Errorf("%+v, error %v", c, err)
	}
	if l := (&Settings{Inducing: 7}).Label(); l != "FMGP 7" || new(Settings).Label() != "FMGP 100" {
		t.Errorf("label %q", l)
	}
	for want, s := range map[string]Settings{
		"noise-std 2 with classes":           {NoiseStd: 2},
		"fix-noise with classes":             {FixNoise: true},
		"alpha 0 with classes":               {Alpha: new(0.0)},
		"decay-every with schedule cosine":   {DecayEvery: 3},
		"decay-every with schedule constant": {Decay: 0.5, Schedule: scheduleConstant},
		"inducing":                           {Inducing: -1},
		"kernel":                             {Kernel: "ntk"},
	} {
		if _, err := s.complete(classes); !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// TestCourse: the learning rate stays, falls in steps or along half a cosine.
func TestCourse(t *testing.T) {
	for name, want := range map[string]float64{scheduleConstant: 1, scheduleSteps: 0.25, "cosine": 0.5} {
		s := Settings{Schedule: name, Decay: 0.5, DecayEvery: 25}
		if got := s.course()(50, 100); math.Abs(got-want) > 1e-15 {
			t.Errorf("%s: %g, want %g", name, got, want)
		}
	}
}

// TestMean: the mean is the network's output, bit for bit, and so it is after a fit that was
// stored and read.
func TestMean(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		p := newProblem(t, 40, 3, true, dt)
		_, q := fit(t, Settings{Inducing: 6, Iterations: 10}, p, gp.Run{})
		g := small.Predict(t, q, p.Train.X)
		want := small.Predict(t, gp.Point{Net: p.Net, Dtype: dt}, p.Train.X)
		fixture.Close(t, dt.String(), g.Mean, want.Mean, 0)
	}
}

// spread has targets that scatter around 0, the network's output, by 0.1 for x < 0 and by 1
// elsewhere.
func spread(t *testing.T, n int) (p gp.Problem, held gp.Examples) {
	rng := rand.New(rand.NewPCG(5, 5))
	draw := func(n int) gp.Examples {
		x, y := small.Normal(rng, tensor.Float64, n, 1), make([]float64, n)
		for i, v := range x.Float64s() {
			y[i] = rng.NormFloat64()
			if v < 0 {
				y[i] /= 10
			}
		}
		return gp.Examples{X: x, Y: dense.Of(y, n, 1)}
	}
	p = newProblem(t, n, 1, false, tensor.Float64)
	p.Net = layers.Dense{W: graph.NewParam("w", []float64{0}, tensor.Float64, 1, 1), B: graph.NewParam("b", []float64{0}, tensor.Float64, 1)}
	p.Train, held = draw(n), draw(n)
	return p, held
}

// TestScatter: the variance follows targets that scatter by 0.1 here and by 1 there, the noise
// variance takes the smaller part, and most of the variance is aleatoric where rows are.
func TestScatter(t *testing.T) {
	p, held := spread(t, 400)
	p.Validation = &held
	f, q := fit(t, Settings{Inducing: 20, Iterations: 1500, BatchSize: 50}, p, gp.Run{Seed: 2})
	g := small.Predict(t, q, dense.Of([]float64{-1, 1, 60}, 3, 1))
	v, e := g.Cov, g.Epistemic
	small, large := math.Sqrt(v[0]+f.NoiseVariance), math.Sqrt(v[1]+f.NoiseVariance)
	if small < 0.05 || small > 0.25 || large < 0.7 || large > 1.4 {
		t.Errorf("standard deviations %.3f and %.3f, want about 0.1 and 1", small, large)
	}
	if e[0] > 0.2 || e[1] > 0.2 || e[2] < 2*e[1] {
		t.Errorf("epistemic shares %.3f of the variances, want small ones, and a larger one far away", e)
	}
	// One variance for all rows has the NLL ½ log(2πe·0.505) = 1.08, the two right ones 0.27.
	if nll := f.Record.Result.BestValue; nll > 0.5 {
		t.Errorf("validation NLL %.3f, want below 0.5", nll)
	}
	start, now := q.InducingInputs()
	if start.Shape()[0] != 20 || now.Shape()[0] != 20 || fixture.RelErr(now.Float64s(), start.Float64s()) == 0 {
		t.Errorf("inducing inputs %v and %v, expected 20 that have moved", start, now)
	}
}

// TestParts: a step in parts, which fits into less memory, is the same step; too little memory
// is an error, also for what is kept of the rows.
func TestParts(t *testing.T) {
	p := newProblem(t, 400, 1, false, tensor.Float64)
	s := Settings{Inducing: 30, Iterations: 3, BatchSize: 400}
	_, whole := fit(t, s, p, gp.Run{})
	f := &fitting{p: p, s: Settings{}}
	var err error
	if f.s, err = s.complete(p); err == nil {
		err = f.start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	step, err := f.steps().Cost(400)
	full := step.Bytes
	if err != nil {
		t.Fatal(err)
	}
	step, err = f.steps().Cost(200)
	half := step.Bytes
	if err != nil || half >= full {
		t.Fatalf("%d bytes for half of a step of %d, error %v", half, full, err)
	}
	_, parts := fit(t, s, p, gp.Run{Memory: full - 1})
	for i, q := range whole.layer.Params() {
		fixture.Close(t, q.Name, parts.layer.Params()[i].Floats(), q.Floats(), 1e-9)
	}
	for _, memory := range []int64{100, 64 << 10} {
		if _, err := s.Fit(t.Context(), p, gp.Run{Memory: memory}); !errors.As(err, new(*graph.MemoryError)) {
			t.Errorf("%d bytes: error %v", memory, err)
		}
	}
}

// TestInterrupted: an interrupted fit gives a posterior, and goes on from its checkpoint with
// the same result; a checkpoint of other settings is refused.
func TestInterrupted(t *testing.T) {
	p := newProblem(t, 30, 2, false, tensor.Float64)
	s := Settings{Inducing: 6, Iterations: 20}
	_, want := fit(t, s, p, gp.Run{})
	path := filepath.Join(t.TempDir(), "c")
	ctx, cancel := context.WithCancel(t.Context())
	f, err := s.Fit(ctx, p, gp.Run{Checkpoint: path, OnProgress: func(q train.Progress) {
		if q.Done == 7 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || f == nil || f.Record.Result.Iterations != 7 {
		t.Fatalf("fit %v, error %v", f, err)
	}
	for name, other := range map[string]Settings{
		"alpha": {Alpha: new(0.5)}, "length scale": {LengthScale: 3}, "amplitude": {Amplitude: 2}, "kernel": {Kernel: kernelEmbedding},
		"start": {Init: initRandomRows}, "noise": {NoiseStd: 3}, "fixed noise": {FixNoise: true}, "batch": {BatchSize: 9}, "points": {Inducing: 4},
	} {
		if other.Iterations = 20; other.Inducing == 0 {
			other.Inducing = 6
		}
		if _, err := other.Fit(t.Context(), p, gp.Run{Checkpoint: path, Resume: true}); !errors.Is(err, train.ErrMismatch) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	_, got := fit(t, s, p, gp.Run{Checkpoint: path, Resume: true})
	for i, q := range want.layer.Params() {
		fixture.Close(t, q.Name, got.layer.Params()[i].Floats(), q.Floats(), 0)
	}
}

// TestNewLayerErrors: points and outputs that the kernel does not have.
func TestNewLayerErrors(t *testing.T) {
	k, z := newCovariance(2, 1, 2, 1, 1, tensor.Float64), dense.Of(make([]float64, 6), 2, 3)
	for want, c := range map[string]struct {
		z     *tensor.Dense
		class []int
	}{
		"shape (3, 2), expected [M,3]":    {dense.Of(make([]float64, 6), 3, 2), nil},
		"locations are float32, expected": {graph.Convert(z, tensor.Float32), nil},
		"1 classes for 2 inducing points": {z, []int{0}},
		"class[1] is 2, expected 0 to 1":  {z, []int{0, 2}},
		"class[0] is -1, expected 0 to 1": {z, []int{-1, 0}},
	} {
		if _, err := newSparseGP(k, c.z, c.class); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
	b := graph.NewBuilder(tensor.Float64)
	if k.Diag(b, small.Given(b, "u", dense.Of(make([]float64, 4), 2, 2))); b.Err() == nil || !strings.Contains(b.Err().Error(), "expected [·,3]") {
		t.Errorf("error %v", b.Err())
	}
}

// TestProgress: the network's passes over rows are counted, and then the steps.
func TestProgress(t *testing.T) {
	p := newProblem(t, 230, 1, false, tensor.Float64)
	p.Validation = &p.Train
	var seen []string
	fit(t, Settings{Inducing: 5, Iterations: 3}, p, gp.Run{OnProgress: func(r train.Progress) {
		seen = append(seen, fmt.Sprintf("%d of %d %s", r.Done, r.Total, r.Unit))
	}})
	want := []string{
		"100 of 230 training rows", "200 of 230 training rows", "230 of 230 training rows",
		"100 of 230 validation rows", "200 of 230 validation rows", "230 of 230 validation rows",
		"1 of 3 steps", "2 of 3 steps", "3 of 3 steps",
	}
	if seen = slices.Compact(seen); !slices.Equal(seen, want) {
		t.Errorf("progress %q, expected %q", seen, want)
	}
}
