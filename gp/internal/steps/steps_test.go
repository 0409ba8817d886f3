package steps

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// toySettings are the settings of a toy method, which trains the weights of a linear network.
type toySettings struct {
	Rate float64 `set:"rate" default:"0.1" above:"0" help:"learning rate"`
}

func (*toySettings) Label() string { return "toy" }

func (*toySettings) Fit(context.Context, gp.Problem, gp.Run) (*gp.Fitted, error) { return nil, nil }

// rows are n rows of y = 2x − 1 with targets alternately 0.5 off.
func rows(n int) gp.Examples {
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(i) / float64(n)
		y[i] = 2*x[i] - 1 + 0.5*float64(1-i%2*2)
	}
	return gp.Examples{X: dense.Of(x, n, 1), Y: dense.Of(y, n, 1)}
}

// toy is a fit of a toy method to 12 rows in mini-batches of 6, of which 4 rows are held out.
func toy(r gp.Run) *Graph {
	net := layers.Dense{W: graph.NewParam("w", []float64{0.3}, tensor.Float64, 1, 1), B: graph.NewParam("b", []float64{0.1}, tensor.Float64, 1)}
	held := rows(4)
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.25, tensor.Float64), Train: rows(12), Validation: &held}
	return &Graph{
		What: "toy: a step", BatchSize: 6, Trained: net.Params(),
		Write: func(b *graph.Builder, x, y *graph.Node) Step {
			return Step{Loss: train.SquaredError(b, y, net.Forward(b, x))}
		},
		Fit: Fit{
			Problem: p, Run: r, Settings: &toySettings{Rate: 0.1}, Likelihood: p.Likelihood, Identity: []string{"toy"},
			Loop: train.Config{Iterations: 8, Optimizer: &train.Adam{LR: 0.1}, ValidateEvery: 4, KeepLast: true, CheckpointEvery: 3},
			Held: func(ctx context.Context) (gp.Gaussian, error) {
				out, err := gp.Point{Net: net, Dtype: tensor.Float64}.Mean(ctx, held.X)
				return gp.Certain(out.Float64s(), 1), err
			},
		},
	}
}

// end returns a result that holds the record alone.
func end(_ context.Context, r gp.Record) (*gp.Fitted, error) { return &gp.Fitted{Record: r}, nil }

// TestRecord: the record says which rows and settings the fit had, and its curve is the mean
// negative log density of the held-out rows.
func TestRecord(t *testing.T) {
	f := toy(gp.Run{Seed: 1})
	done := 0
	f.Run.OnProgress = func(p train.Progress) { done = p.Done }
	fitted, err := f.Steps(t.Context(), end)
	if err != nil {
		t.Fatal(err)
	}
	r := fitted.Record
	if r.Rows != 12 || r.ValidationRows != 4 || r.Settings["rate"] != 0.1 || r.Result.Iterations != 8 || len(r.Result.History) != 2 || done != 8 {
		t.Fatalf("record %+v, %d steps told", r, done)
	}
	g, err := f.Held(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i, y := range f.Problem.Validation.Y.Float64s() {
		want += (0.5*math.Log(2*math.Pi*0.25) + (y-g.Mean[i])*(y-g.Mean[i])/0.5) / 4
	}
	if got := r.Result.History[1].Validation; math.Abs(got-want) > 1e-12 {
		t.Errorf("the last value of the curve is %g, want %g", got, want)
	}
}

// TestInterrupted: an interrupted fit has a result and goes on from its checkpoint to the same
// weights; a checkpoint of another fit is refused.
func TestInterrupted(t *testing.T) {
	weights := func(f *Graph) []float64 { return append(f.Trained[0].Floats(), f.Trained[1].Floats()...) }
	whole := toy(gp.Run{Seed: 1})
	if _, err := whole.Steps(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "c")
	f := toy(gp.Run{Seed: 1, Checkpoint: path, OnProgress: func(p train.Progress) {
		if p.Done == 5 {
			cancel()
		}
	}})
	fitted, err := f.Steps(ctx, func(ctx context.Context, r gp.Record) (*gp.Fitted, error) { return &gp.Fitted{Record: r}, ctx.Err() })
	if !errors.Is(err, context.Canceled) || fitted == nil || fitted.Record.Result.Iterations != 5 {
		t.Fatalf("result %+v, error %v", fitted, err)
	}
	for what, change := range map[string]func(f *Graph){
		"fingerprint":        func(f *Graph) { f.Trained[0].Set(0, 4) },
		"noise variance":     func(f *Graph) { f.Likelihood = likelihood.NewGaussian(1, tensor.Float64) },
		"another":            func(f *Graph) { f.Identity = []string{"another"} },
		"no validation rows": func(f *Graph) { f.Problem.Validation = nil },
	} {
		other := toy(gp.Run{Seed: 1, Checkpoint: path, Resume: true})
		change(other)
		if _, err := other.Steps(t.Context(), end); !errors.Is(err, train.ErrMismatch) || what != "no validation rows" && !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	again := toy(gp.Run{Seed: 1, Checkpoint: path, Resume: true})
	if _, err := again.Steps(t.Context(), end); err != nil || !slices.Equal(weights(again), weights(whole)) {
		t.Errorf("weights %v after a resume, want %v; error %v", weights(again), weights(whole), err)
	}
}

// TestFailures: steps that fail have no result, and the error of the end is the error of the fit.
func TestFailures(t *testing.T) {
	f := toy(gp.Run{})
	f.Trained[0].Set(0, math.Inf(1))
	var bad *train.NonFiniteError
	fitted, err := f.Steps(t.Context(), func(context.Context, gp.Record) (*gp.Fitted, error) {
		t.Error("the end of a fit that failed")
		return nil, nil
	})
	if !errors.As(err, &bad) || fitted != nil {
		t.Errorf("result %v, error %v", fitted, err)
	}
	own := errors.New("no factor")
	if fitted, err := toy(gp.Run{}).Steps(t.Context(), func(context.Context, gp.Record) (*gp.Fitted, error) { return nil, own }); err != own || fitted != nil {
		t.Errorf("result %v, error %v", fitted, err)
	}
}

// TestParts: with less memory a mini-batch is computed in parts, with the same gradients; where an
// update depends on the mini-batch, and where one row is too much, that is an error.
func TestParts(t *testing.T) {
	f := toy(gp.Run{})
	step, err := f.Cost(6)
	whole := step.Bytes
	if err != nil {
		t.Fatal(err)
	}
	gradients := func(f *Graph) (v []float64) {
		obj, err := f.Objective()
		if err == nil {
			_, err = obj.Evaluate(t.Context(), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range obj.Params() {
			v = append(v, p.Grad.Float64s()...)
		}
		return v
	}
	want := gradients(f)
	f.Run.Memory = whole - 1
	for i, g := range gradients(f) {
		if math.Abs(g-want[i]) > 1e-14 {
			t.Errorf("gradient %g in parts, %g of the whole", g, want[i])
		}
	}
	var refused *graph.MemoryError
	f.Run.Memory = 100
	if _, err := f.Objective(); !errors.As(err, &refused) || refused.Limit != 100 {
		t.Errorf("100 bytes: error %v", err)
	}
	f.Run.Memory = whole
	write, mean := f.Write, graph.NewParam("mean", []float64{0}, tensor.Float64, 1)
	f.Write = func(b *graph.Builder, x, y *graph.Node) Step {
		s := write(b, x, y)
		s.Updates = []layers.Update{{Param: mean, Value: b.Reshape(b.Mean(x), 1)}}
		return s
	}
	if _, err := f.Objective(); !errors.As(err, &refused) || !strings.Contains(err.Error(), "needs the whole mini-batch") || refused.Need <= refused.Limit {
		t.Errorf("a step with a mean of the mini-batch: error %v", err)
	}
}

// TestBytes: a step on more rows needs at least as much memory, and what the fit holds beside it
// adds up.
func TestBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := toy(gp.Run{})
		size, beside := rapid.IntRange(1, 5).Draw(t, "size"), rapid.Int64Range(0, 1<<40).Draw(t, "beside")
		small, err := f.Cost(size)
		few := small.Bytes
		if err != nil {
			t.Fatal(err)
		}
		f.Beside = beside
		large, err := f.Cost(size + 1)
		more := large.Bytes
		if err != nil || more-beside < few {
			t.Errorf("%d bytes for %d rows, %d for one more with %d beside; error %v", few, size, more, beside, err)
		}
	})
}

// TestConfig: the run gives the checkpoint and the progress, the method all else; a fit that
// validates by itself keeps its validation.
func TestConfig(t *testing.T) {
	f := toy(gp.Run{})
	if c := f.Config(); c.CheckpointEvery != 0 || c.Iterations != 8 || c.Validate == nil || !c.KeepLast {
		t.Errorf("without a checkpoint: %+v", c)
	}
	f.Run = gp.Run{Checkpoint: "c", Resume: true}
	f.Held = nil
	f.Loop.Validate = func(context.Context) (float64, error) { return 7, nil }
	c := f.Config()
	if v, _ := c.Validate(t.Context()); v != 7 || c.CheckpointEvery != 3 || c.Checkpoint != "c" || !c.Resume {
		t.Errorf("with a checkpoint: %+v, validation %g", c, v)
	}
}
