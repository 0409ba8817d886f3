package laplace

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// posed is the problem as methods take it, the first eight rows held out.
func (p problem) posed(l likelihood.Likelihood) gp.Problem {
	all, n := gp.Examples{X: p.x, Y: p.y}, p.x.Shape()[0]
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	held := all.Rows(rows[:8])
	return gp.Problem{Net: p.net, Likelihood: l, Train: all.Rows(rows[8:]), Validation: &held}
}

func fitSettings(t *testing.T, s gp.Settings, p gp.Problem, r gp.Run) *gp.Fitted {
	t.Helper()
	return small.Fit(t, s, p, r)
}

// gaussianNoise is a likelihood with the residual 0.3.
var gaussianNoise = likelihood.NewGaussian(0.09, tensor.Float64)

// Settings are Options in other words, with all that a record says.
func TestSettingsFit(t *testing.T) {
	p := newProblem(t, 91, tensor.Float64, 30, 4, 2)
	q := p.posed(gaussianNoise)
	residual := math.Sqrt(gaussianNoise.Variance())
	for _, c := range []struct {
		s    Settings
		o    options
		want map[string]any // what the record adds to the settings that were given
	}{
		{Settings{Hyper: "marglik"}, options{}, map[string]any{"structure": "full", "hyper": "marglik", "priors": "shared", "weights": []string{"all"}}},
		{Settings{Structure: "kfac", Priors: "per-layer"}, options{Structure: kindKFAC, Priors: priorsPerLayer}, map[string]any{"structure": "kfac"}},
		{Settings{Structure: "diag", Priors: "per-parameter", NoiseStd: 0.4}, options{Structure: kindDiagonal, Priors: priorsPerParameter, NoiseStd: 0.4}, nil},
		{Settings{Structure: "lowrank", Rank: 5, PriorStd: 2}, options{Structure: kindLowRank, Rank: 5, PriorStd: 2}, map[string]any{"rank": 5}},
		{Settings{Structure: "lowrank", Hyper: "marglik"}, options{Structure: kindLowRank, Rank: 100}, map[string]any{"rank": 100}},
		{Settings{Hyper: "fixed", PriorStd: 0.4}, options{PriorStd: 0.4, NoiseStd: residual}, map[string]any{"noise-std": nil}},
		{Settings{Hyper: "fixed", PriorStd: 0.4, NoiseStd: 0.2, Weights: []string{"last-layer"}}, options{PriorStd: 0.4, NoiseStd: 0.2, Weights: []string{layers.LastLayerWeights}}, nil},
		{Settings{Subset: 7, Hyper: "marglik", Weights: []string{"dense1.bias", "dense2.bias"}}, options{Subset: 7, Seed: 5, Weights: []string{"dense1.bias", "dense2.bias"}}, nil},
		{Settings{AscentSteps: 20}, options{Ascent: &ascent{Steps: 20}}, map[string]any{"ascent-rate": 0.1}},
		{Settings{AscentRate: 1e-3}, options{Ascent: &ascent{Rate: 1e-3, Steps: 100}}, map[string]any{"ascent-steps": 100}},
	} {
		want, err := fitOptions(t.Context(), p.net, q.Train.X, q.Train.Y, c.o)
		if err != nil {
			t.Fatal(err)
		}
		before := c.s
		f := fitSettings(t, &c.s, q, gp.Run{Seed: 5})
		got := f.Posterior.(*posterior)
		checkSame(t, c.s.Label(), got, want, p.probe)
		if c.s.Label() != before.Label() || f.NoiseVariance != want.NoiseStd()*want.NoiseStd() {
			t.Errorf("%+v: noise variance %g", c.s, f.NoiseVariance)
		}
		checkRecord(t, f.Record, want, q)
		for name, v := range c.want {
			if text, _ := json.Marshal(f.Record.Settings[name]); string(text) != string(must(json.Marshal(v))) {
				t.Errorf("%s: recorded %s %s, want %v", c.s.Label(), name, text, v)
			}
		}
		checkRefit(t, f, q)
	}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

func checkRecord(t *testing.T, r gp.Record, p *posterior, of gp.Problem) {
	t.Helper()
	facts := []gp.Fact{
		{Name: "parameters", Value: float64(p.Parameters())},
		{Name: "effective parameters", Value: p.EffectiveParameters()},
		{Name: "log marginal likelihood", Value: p.LogMarginalLikelihood()},
	}
	groups := p.Priors()
	if len(groups) == 1 {
		groups = nil
	}
	if !slices.Equal(r.Facts, facts) || !slices.Equal(r.Groups, groups) || !slices.Equal(r.PriorStds, p.PriorStds()) ||
		r.Rows != p.examples || r.ValidationRows != of.Validation.N() {
		t.Errorf("recorded %+v, want %v of %v", r, p.PriorStds(), groups)
	}
}

// checkRefit: what a record says of the settings gives the same posterior.
func checkRefit(t *testing.T, f *gp.Fitted, p gp.Problem) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(must(json.Marshal(f.Record.Settings)), &m); err != nil {
		t.Fatal(err)
	}
	var s Settings
	if err := settings.Assign(&s, m); err != nil {
		t.Fatal(err)
	}
	again := fitSettings(t, &s, p, gp.Run{Seed: 5})
	checkSame(t, "the recorded settings", again.Posterior.(*posterior), f.Posterior.(*posterior), p.Train.X)
}

// The grid takes the point with the smallest NLL of the validation rows, of 21 prior
// standard deviations and 9 noises around the residual, or the given one.
func TestSettingsGrid(t *testing.T) {
	p := newProblem(t, 92, tensor.Float64, 30, 4, 1)
	q := p.posed(gaussianNoise)
	residual := math.Sqrt(gaussianNoise.Variance())
	for _, c := range []struct {
		s      Settings
		noises []float64
	}{
		{Settings{Hyper: "grid"}, gp.LogSpaced(residual/4, 4*residual, 9)},
		{Settings{Hyper: "grid", NoiseStd: 0.7}, []float64{0.7}},
	} {
		var points []gp.Candidate
		for _, prior := range gp.LogSpaced(0.01, 100, 21) {
			for _, noise := range c.noises {
				points = append(points, gp.Candidate{Prior: prior, Noise: noise})
			}
		}
		whole, err := fitOptions(t.Context(), p.net, q.Train.X, q.Train.Y, options{PriorStd: 1, NoiseStd: 1})
		if err != nil {
			t.Fatal(err)
		}
		want, err := whole.gridSearch(t.Context(), *q.Validation, points)
		if err != nil {
			t.Fatal(err)
		}
		got := fitSettings(t, &c.s, q, gp.Run{})
		checkSame(t, "grid", got.Posterior.(*posterior), want, p.probe)
	}
	classes := newClasses(t, 92, tensor.Float64, 30, 4, 3)
	f := fitSettings(t, &Settings{Hyper: "grid", Structure: "kfac"}, classes.posed(likelihood.Softmax{}), gp.Run{})
	if f.NoiseVariance != 0 {
		t.Errorf("classes have the noise variance %g", f.NoiseVariance)
	}
}

// The default of hyper is the grid where there are validation rows, for classes and for
// networks whose noise is known on rows that they have not seen, unless something asks for
// what only the marginal likelihood can do.
func TestSettingsHyper(t *testing.T) {
	p := newProblem(t, 94, tensor.Float64, 30, 4, 1)
	held := p.posed(gaussianNoise)
	elsewhere, alone := held, held
	elsewhere.KnownNoise, alone.Validation = true, nil
	classes := newClasses(t, 94, tensor.Float64, 30, 4, 3).posed(likelihood.Softmax{})
	for _, c := range []struct {
		p    gp.Problem
		s    Settings
		want string
	}{
		{held, Settings{}, "marglik"},
		{held, Settings{Hyper: "grid"}, "grid"},
		{classes, Settings{}, "grid"},
		{elsewhere, Settings{}, "grid"},
		{elsewhere, Settings{NoiseStd: 0.3}, "grid"},
		{elsewhere, Settings{Hyper: "marglik"}, "marglik"},
		{alone, Settings{}, "marglik"},
		{classes, Settings{PriorStd: 2}, "marglik"},
		{classes, Settings{Priors: "per-layer"}, "marglik"},
		{classes, Settings{AscentSteps: 3}, "marglik"},
		{elsewhere, Settings{AscentRate: 0.1}, "marglik"},
	} {
		s, err := c.s.complete(c.p)
		if err != nil {
			t.Fatal(err)
		}
		if s.Hyper != c.want {
			t.Errorf("%+v: hyper %s, want %s", c.s, s.Hyper, c.want)
		}
	}
}

// The settings name the posterior, also when the posterior comes from a file.
func TestLabels(t *testing.T) {
	p := newProblem(t, 93, tensor.Float64, 30, 4, 2)
	for _, c := range []struct {
		s    gp.Settings
		want string
	}{
		{&Settings{}, "LLA"},
		{&Settings{Structure: "kfac"}, "LLA KFAC"},
		{&Settings{Structure: "diag"}, "LLA Diag"},
		{&Settings{Structure: "lowrank", Rank: 10}, "LLA low-rank 10"},
		{&Settings{Weights: []string{"last-layer"}}, "LLA last-layer"},
		{&Settings{Weights: []string{"last-layer"}, Structure: "kfac"}, "LLA last-layer KFAC"},
		{&Settings{Weights: []string{"last-layer"}, Structure: "lowrank", Rank: 3}, "LLA last-layer low-rank 3"},
		{&Settings{Weights: []string{"dense1.weight", "dense2.bias"}}, "LLA of 2 arrays"},
		{&Settings{Weights: []string{"dense1.weight"}, Structure: "diag"}, "LLA of 1 array Diag"},
		{&SubsetSettings{Points: 5}, "GP-Subset"},
	} {
		f := fitSettings(t, c.s, p.posed(gaussianNoise), gp.Run{})
		restore := Method.Restore
		if _, ok := c.s.(*SubsetSettings); ok {
			restore = SubsetMethod.Restore
		}
		q, err := restore(t.Context(), p.net, gaussianNoise, store(t, f.Posterior.(*posterior)))
		if err != nil {
			t.Fatal(err)
		}
		at, err := f.Posterior.(*posterior).at(t.Context(), 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := []string{c.s.Label(), f.Posterior.String(), q.String(), at.String()}; !slices.Equal(got, slices.Repeat([]string{c.want}, 4)) {
			t.Errorf("settings, posterior, restored and elsewhere are called %q, want %q", got, c.want)
		}
	}
	if got := (&Settings{Structure: "lowrank"}).Label(); got != "LLA low-rank 100" {
		t.Errorf("the default rank is called %q", got)
	}
}

// A rank that there are no eigenvalues for is said in a note, and in the name.
func TestLoweredRank(t *testing.T) {
	p := newProblem(t, 94, tensor.Float64, 30, 4, 1).posed(gaussianNoise)
	f := fitSettings(t, &Settings{Structure: "lowrank"}, p, gp.Run{})
	if f.Posterior.String() != "LLA low-rank 17" || len(f.Record.Notes) != 1 {
		t.Errorf("%v with the notes %q", f.Posterior, f.Record.Notes)
	}
	if f := fitSettings(t, &Settings{Structure: "lowrank", Rank: 17}, p, gp.Run{}); f.Record.Notes != nil {
		t.Errorf("notes %q", f.Record.Notes)
	}
}

func TestSettingsErrors(t *testing.T) {
	reg := newProblem(t, 95, tensor.Float64, 30, 4, 3).posed(gaussianNoise)
	cls := newClasses(t, 95, tensor.Float64, 30, 4, 3).posed(likelihood.Softmax{})
	alone := reg
	alone.Validation = nil
	for _, c := range []struct {
		p    gp.Problem
		s    Settings
		says string
	}{
		{reg, Settings{Structure: "half"}, "structure: expected one of full, kfac, diag, lowrank"},
		{reg, Settings{Rank: -1, Structure: "lowrank"}, "rank: expected an integer at least 1"},
		{reg, Settings{Rank: 3}, "rank 3 with the structure full, expected lowrank"},
		{reg, Settings{PriorStd: -1}, "prior-std: expected a number above 0"},
		{reg, Settings{NoiseStd: math.NaN()}, "noise-std: expected a number above 0"},
		{cls, Settings{NoiseStd: 1}, "noise-std 1 with classes"},
		{reg, Settings{Subset: 23}, "subset 23, expected at most the 22 training rows"},
		{reg, Settings{Hyper: "fixed"}, "hyper fixed needs a prior-std"},
		{reg, Settings{Hyper: "fixed", PriorStd: 1, AscentSteps: 3}, "expected no ascent"},
		{reg, Settings{Hyper: "grid", PriorStd: 1}, "hyper grid, which finds one prior-std"},
		{reg, Settings{Hyper: "grid", Priors: "per-layer"}, "priors per-layer"},
		{reg, Settings{Hyper: "grid", AscentRate: 1}, "an ascent"},
		{alone, Settings{Hyper: "grid"}, "hyper grid needs validation rows, found none"},
		{reg, Settings{Weights: []string{"nowhere"}}, `weights: parameter "nowhere" is unknown`},
		{reg, Settings{Weights: []string{"all", "dense1.bias"}}, `parameter "all"`},
		{reg, Settings{Weights: []string{}}, "no parameters are named"},
	} {
		f, err := c.s.Fit(t.Context(), c.p, gp.Run{})
		wants(t, err, c.says)
		if !errors.Is(err, settings.ErrSetting) || f != nil {
			t.Errorf("%s: not an error about a setting, or a posterior with it", err)
		}
	}
	for _, s := range []SubsetSettings{{Points: -1}, {PriorStd: -1}} {
		if _, err := s.Fit(t.Context(), reg, gp.Run{}); !errors.Is(err, settings.ErrSetting) {
			t.Errorf("%+v: error %v", s, err)
		}
	}
	reg.Likelihood = nil
	for _, s := range []gp.Settings{&Settings{}, &SubsetSettings{}} {
		if _, err := s.Fit(t.Context(), reg, gp.Run{}); !errors.Is(err, gp.ErrProblem) {
			t.Errorf("without a likelihood: error %v", err)
		}
	}
}

// GP-subset is exact LLA of the same random rows, with the published prior.
func TestSubsetSettings(t *testing.T) {
	p := newProblem(t, 96, tensor.Float64, 30, 4, 2)
	q := p.posed(gaussianNoise)
	if std := math.Sqrt(0.04); std != 0.2 {
		t.Errorf("the published prior standard deviation is %g", std)
	}
	for _, c := range []struct {
		s      SubsetSettings
		points int
		notes  int
	}{{SubsetSettings{}, 22, 0}, {SubsetSettings{Points: 9}, 9, 0}, {SubsetSettings{Points: 40}, 22, 1}} {
		want, err := fitOptions(t.Context(), p.net, q.Train.X, q.Train.Y, options{Subset: c.points, Seed: 3, PriorStd: 0.2})
		if err != nil {
			t.Fatal(err)
		}
		f := fitSettings(t, &c.s, q, gp.Run{Seed: 3})
		checkSame(t, "GP-subset", f.Posterior.(*posterior), want, p.probe)
		if f.Record.Rows != c.points || f.Record.Settings["points"] != c.points || f.Record.Settings["prior-std"] != 0.2 || len(f.Record.Notes) != c.notes {
			t.Errorf("%+v: recorded %+v", c.s, f.Record)
		}
	}
}

// A run's memory, seed and progress reach the fit.
func TestRun(t *testing.T) {
	p := newProblem(t, 97, tensor.Float64, 30, 4, 2).posed(gaussianNoise)
	var seen []train.Progress
	fitSettings(t, &Settings{}, p, gp.Run{OnProgress: func(r train.Progress) { seen = append(seen, r) }})
	if n := len(seen); n == 0 || seen[n-1].Done != 22 || seen[n-1].Total != 22 || seen[0].Unit != "rows" || !math.IsNaN(seen[0].Loss) || !math.IsNaN(seen[0].Validation) {
		t.Errorf("progress %+v", seen)
	}
	_, err := (&Settings{}).Fit(t.Context(), p, gp.Run{Memory: 1000})
	wants(t, err, "limit", "1000")
	a, b := fitSettings(t, &Settings{Subset: 5}, p, gp.Run{Seed: 1}), fitSettings(t, &Settings{Subset: 5}, p, gp.Run{Seed: 2})
	if fixture.RelErr(a.Record.PriorStds, b.Record.PriorStds) == 0 {
		t.Error("two seeds give one subset")
	}
}

// TestInformativeWeights: the record has the layer that the rows choose, and the fit is the fit
// with the names of this layer's parameters.
func TestInformativeWeights(t *testing.T) {
	p := newProblem(t, 95, tensor.Float64, 30, 4, 1).posed(gaussianNoise)
	f := fitSettings(t, &Settings{Structure: "kfac", Weights: []string{"informative:1"}, PriorStd: 1, NoiseStd: 1, Hyper: "fixed"}, p, gp.Run{})
	if len(f.Record.Notes) == 0 || !strings.HasPrefix(f.Record.Notes[0], "The uncertain weights") {
		t.Errorf("notes %q", f.Record.Notes)
	}
	names, _ := f.Record.Settings["weights"].([]string)
	if held := f.Posterior.(*posterior).Header().Weights; len(held) != 2 || !slices.Equal(held, names) {
		t.Errorf("weights %q, recorded %q", held, names)
	}
	bad := &Settings{Weights: []string{"informative:9"}}
	if _, err := bad.Fit(t.Context(), p, gp.Run{}); err == nil || !errors.Is(err, settings.ErrSetting) {
		t.Errorf("nine layers: %v", err)
	}
}
