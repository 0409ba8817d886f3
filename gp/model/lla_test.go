package model

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train/metric"
)

func fitLLA(t testing.TB, m *Model, o LLAOptions) *Model {
	t.Helper()
	set := wave(200, 1)
	if m.Classes != nil {
		set = thirds(200, 1)
	}
	f, err := FitLLA(context.Background(), m, set, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// FitLLA is laplace.Fit on the standardised rows that the network was trained on, with
// noise in the target's units.
func TestFitLLA(t *testing.T) {
	m, set := train600(t)
	for _, o := range []LLAOptions{
		LLADefaults(),
		{Hyper: MarginalLikelihood, Structure: laplace.KFAC, Priors: laplace.PerLayer, Validation: 0.2, Seed: 3},
		{Hyper: FixedHyper, Structure: laplace.LowRank, Rank: 5, PriorStd: 0.4, NoiseStd: 0.3, Weights: laplace.LastLayer},
		{Hyper: FixedHyper, Structure: laplace.Diagonal, PriorStd: 0.4, Subset: 50, Seed: 4},
	} {
		s, err := divide(set, o.Validation, o.Seed)
		if err != nil {
			t.Fatal(err)
		}
		x, y, err := m.standardized(s.train)
		if err != nil {
			t.Fatal(err)
		}
		noise := o.NoiseStd / m.Targets.Std[0]
		if o.Hyper == FixedHyper && noise == 0 {
			noise = math.Sqrt(m.MAPNoise)
		}
		want, err := laplace.Fit(t.Context(), m.Net, x, y, laplace.Options{
			Structure: o.Structure, Rank: o.Rank, Weights: o.Weights, Priors: o.Priors,
			PriorStd: o.PriorStd, NoiseStd: noise, Subset: o.Subset, Seed: o.Seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		f := fitLLA(t, m, o)
		got := f.Posterior.(LLA)
		if !slices.Equal(got.PriorStds(), want.PriorStds()) || got.LogMarginalLikelihood() != want.LogMarginalLikelihood() {
			t.Errorf("%+v: priors %v, want %v", o, got.PriorStds(), want.PriorStds())
		}
		near(t, "noise", f.NoiseStd(), want.NoiseStd()*m.Targets.Std[0], 1e-14)
		run := f.Training[1]
		if rows := s.train.N(); run.Method != MethodLLA || run.Validation != s.held() || run.Rows != min(rows, max(o.Subset, run.Rows)) ||
			run.LLA.Structure != o.Structure || run.LLA.Parameters != want.Parameters() || run.LLA.LogMarginalLikelihood != want.LogMarginalLikelihood() {
			t.Errorf("recorded %+v, %+v", run, run.LLA)
		}
		if again := fitLLA(t, f, o); len(again.Training) != 2 || m.Posterior != nil {
			t.Errorf("fitted again: recorded %+v", again.Training)
		}
	}
}

// The grid's hyper-parameters are those of the smallest NLL of the rows held out, of
// some 21 × 9.
func TestFitLLAGrid(t *testing.T) {
	m, set := train600(t)
	o := LLADefaults()
	o.Hyper, o.Structure = GridSearch, laplace.KFAC
	f := fitLLA(t, m, o)
	s, err := divide(set, o.Validation, o.Seed)
	if err != nil {
		t.Fatal(err)
	}
	nll := func(prior, noise float64) float64 {
		o := o
		o.Hyper, o.PriorStd, o.NoiseStd = FixedHyper, prior, noise
		p := predict(t, fitLLA(t, m, o), s.validation.X)
		sum := 0.0
		for i, y := range s.validation.Y.Float64s() {
			sum += metric.GaussianNLL(p.Mean[i], p.Variance[i], y)
		}
		return sum
	}
	best := nll(f.PriorStds()[0], f.NoiseStd())
	residual := math.Sqrt(m.MAPNoise) * m.Targets.Std[0]
	for _, prior := range laplace.LogSpaced(0.01, 100, 5) { // every fifth
		for _, noise := range []float64{residual / 2, residual, residual * 2} {
			if other := nll(prior, noise); other < best-1e-9 {
				t.Errorf("σ₀ = %g, σ = %g: NLL %g is below %g", prior, noise, other, best)
			}
		}
	}
	o.NoiseStd = 0.3
	near(t, "given noise", fitLLA(t, m, o).NoiseStd(), 0.3, 1e-12)
}

func TestFitLLAErrors(t *testing.T) {
	m, set := train600(t)
	for want, spoil := range map[string]func(*LLAOptions){
		`by "guess"`:                                 func(o *LLAOptions) { o.Hyper = "guess" },
		"prior standard deviation -1":                func(o *LLAOptions) { o.PriorStd = -1 },
		"noise standard deviation NaN":               func(o *LLAOptions) { o.NoiseStd = math.NaN() },
		"fixed hyper-parameters need":                func(o *LLAOptions) { o.Hyper = FixedHyper },
		"a grid is of one free":                      func(o *LLAOptions) { o.Hyper, o.Priors = GridSearch, laplace.PerLayer },
		"a grid needs":                               func(o *LLAOptions) { o.Hyper, o.Validation = GridSearch, 0 },
		"rank 3 for the structure full":              func(o *LLAOptions) { o.Rank = 3 },
		"a subset of -1":                             func(o *LLAOptions) { o.Subset = -1 },
		"a subset of 181 rows, expected at most 180": func(o *LLAOptions) { o.Subset = 181 },
		"validation fraction 1":                      func(o *LLAOptions) { o.Validation = 1 },
	} {
		o := LLADefaults()
		spoil(&o)
		f, err := FitLLA(t.Context(), m, set, o)
		oneLine(t, err, "fit: bad option: ", want)
		if f != nil || !errors.Is(err, ErrOption) {
			t.Errorf("%s: model %v, error %v", want, f, err)
		}
	}
	o := LLADefaults()
	o.MemoryLimit = 1000
	_, err := FitLLA(t.Context(), m, set, o)
	var limit *graph.MemoryError
	if !errors.As(err, &limit) {
		t.Errorf("error %v, want a MemoryError", err)
	}
	swapped := *set
	swapped.Features = []string{"b", "a"}
	_, err = FitLLA(t.Context(), m, &swapped, LLADefaults())
	oneLine(t, err, `expected the features "a", "b"`)
	o = LLADefaults()
	o.NoiseStd = 1
	_, err = FitLLA(t.Context(), newTestClasses(t, tensor.Float64, 3), thirds(9, 1), o)
	oneLine(t, err, "which have none")
}

func TestShowPass(t *testing.T) {
	var b bytes.Buffer
	if ShowPass(&b, "LLA") != nil {
		t.Error("a bar for what is no terminal")
	}
	pass := drawPass(&b, "LLA")
	pass(50, 200)
	pass(200, 200)
	if out := b.String(); !strings.Contains(out, "LLA") || !strings.Contains(out, "100%") || !strings.HasSuffix(out, "\n") {
		t.Errorf("drawn: %q", out)
	}
}
