package ella

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/along"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// TestDefaults: the default settings are the settings of the publications.
func TestDefaults(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 20, 4, 3, true)
	s, err := Settings{}.complete(p)
	if err != nil {
		t.Fatal(err)
	}
	if s.Points != 2000 || s.Rank != 20 || s.PointOutput != "random" || s.CheckEvery != 0 || len(s.PriorGrid) != 21 ||
		s.PriorGrid[0] != 0.01 || math.Abs(s.PriorGrid[10]-1) > 1e-12 || math.Abs(s.PriorGrid[20]-100) > 1e-9 {
		t.Errorf("completed %+v", s)
	}
	s, err = Settings{PriorStd: 0.2, EarlyStopping: true}.complete(p)
	if err != nil || s.CheckEvery != 1000 || s.PriorGrid != nil {
		t.Errorf("completed %+v, error %v", s, err)
	}
	for want, s := range map[string]Settings{"ELLA 2000": {}, "ELLA 7": {Points: 7, Rank: 3}} {
		if got := s.Label(); got != want {
			t.Errorf("label %q, want %q", got, want)
		}
	}
}

// TestRefused: settings that contradict each other or the problem are named.
func TestRefused(t *testing.T) {
	classes, numbers := small.Problem(t, 1, tensor.Float64, 20, 4, 3, true), small.Problem(t, 1, tensor.Float64, 20, 4, 2, false)
	without := numbers
	without.Validation = nil
	for want, c := range map[string]struct {
		p gp.Problem
		s Settings
	}{
		"point-output label without classes":     {numbers, Settings{PointOutput: "label"}},
		"balanced without classes":               {numbers, Settings{Balanced: true}},
		"noise-std 0.5 with classes":             {classes, Settings{NoiseStd: 0.5}},
		"prior-std 1 together with a prior-grid": {classes, Settings{PriorStd: 1, PriorGrid: []float64{1}}},
		"check-every 5 without early-stopping":   {classes, Settings{CheckEvery: 5}},
		"early-stopping without validation rows": {without, Settings{EarlyStopping: true, PriorStd: 1}},
		"expected them or a prior-std":           {without, Settings{}},
		"points":                                 {classes, Settings{Points: -1}},
		"rank":                                   {classes, Settings{Rank: -1}},
		"prior-grid":                             {classes, Settings{PriorGrid: []float64{1, 0}}},
		"point-output":                           {classes, Settings{PointOutput: "best"}},
	} {
		f, err := c.s.Fit(t.Context(), c.p, gp.Run{})
		if !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), want) || f != nil {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestCandidates: what is given is kept, what is not is tried, if there are validation rows.
func TestCandidates(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 20, 4, 2, false) // of the residual 0.3
	without := p
	without.Validation = nil
	for name, c := range map[string]struct {
		p             gp.Problem
		s             Settings
		n             int
		first, middle gp.Candidate
	}{
		"all given":     {p, Settings{PriorStd: 2, NoiseStd: 0.5}, 1, gp.Candidate{Prior: 2, Noise: 0.5}, gp.Candidate{Prior: 2, Noise: 0.5}},
		"prior given":   {p, Settings{PriorStd: 2}, 9, gp.Candidate{Prior: 2, Noise: 0.075}, gp.Candidate{Prior: 2, Noise: 0.3}},
		"prior-grid":    {p, Settings{PriorGrid: []float64{1, 2, 4}}, 27, gp.Candidate{Prior: 1, Noise: 0.075}, gp.Candidate{Prior: 2, Noise: 0.3}},
		"no validation": {without, Settings{PriorStd: 2}, 1, gp.Candidate{Prior: 2, Noise: 0.3}, gp.Candidate{Prior: 2, Noise: 0.3}},
	} {
		got := c.s.candidates(c.p)
		near := func(a, b gp.Candidate) bool { return a.Prior == b.Prior && math.Abs(a.Noise-b.Noise) < 1e-12 }
		if len(got) != c.n || !near(got[0], c.first) || !near(got[c.n/2], c.middle) {
			t.Errorf("%s: %v", name, got)
		}
	}
	classes := small.Problem(t, 1, tensor.Float64, 20, 4, 3, true)
	if got := (&Settings{PriorGrid: []float64{1, 2}}).candidates(classes); !slices.Equal(got, []gp.Candidate{{Prior: 1, Noise: 1}, {Prior: 2, Noise: 1}}) {
		t.Errorf("classes: %v", got)
	}
}

// TestDraw: points are different training rows, with their labels or random outputs, which
// all occur; balanced ones are as many for each class as there are.
func TestDraw(t *testing.T) {
	p := small.Problem(t, 2, tensor.Float32, 300, 4, 3, true)
	labels := p.Train.Labels()
	row := func(z *tensor.Dense, i int) [2]float32 { return [2]float32(z.Float32s()[2*i : 2*i+2]) }
	label := map[[2]float32]int{}
	for i, c := range labels {
		label[row(p.Train.X, i)] = c
	}
	for name, s := range map[string]Settings{
		"random": {Points: 60, PointOutput: "random"}, "label": {Points: 60, PointOutput: "label"},
		"balanced": {Points: 60, PointOutput: "label", Balanced: true}, "all": {Points: 1000, PointOutput: "label"},
	} {
		at := s.draw(p, 5)
		seen, each, own := map[[2]float32]bool{}, make([]int, 3), 0
		for i, c := range at.output {
			seen[row(at.z, i)] = true
			each[c]++
			if label[row(at.z, i)] == c {
				own++
			}
		}
		if want := min(s.Points, 300); len(seen) != want || at.n() != want || at.outputs != 3 {
			t.Errorf("%s: %d points of %d different rows, want %d", name, at.n(), len(seen), want)
		}
		if (own == at.n()) != (s.PointOutput == "label") || slices.Min(each) == 0 {
			t.Errorf("%s: %d of %d points have their labels; of the outputs there are %v", name, own, at.n(), each)
		}
		if s.Balanced && !slices.Equal(each, []int{20, 20, 20}) {
			t.Errorf("%s: %v of the classes", name, each)
		}
		again, other := s.draw(p, 5), s.draw(p, 6)
		if !slices.Equal(again.z.Float32s(), at.z.Float32s()) || slices.Equal(other.z.Float32s(), at.z.Float32s()) {
			t.Errorf("%s: draws do not follow the seed", name)
		}
	}
	few := Settings{Points: 299, Balanced: true}
	if at := few.draw(p, 1); at.n() >= 299 || at.n() < 3*slices.Min(counts(labels)) {
		t.Errorf("%d balanced points of classes with %v rows", at.n(), counts(labels))
	}
	uneven := Settings{Points: 7, Balanced: true, PointOutput: "label"}
	if each := counts(uneven.draw(p, 1).output); !slices.Equal(each, []int{3, 2, 2}) {
		t.Errorf("seven points for three classes: %v", each)
	}
}

func counts(labels []int) []int {
	n := make([]int, 3)
	for _, c := range labels {
		n[c]++
	}
	return n
}

// TestFoundOnValidation: the candidate that a fit chooses is the best of fits with each of
// them given.
func TestFoundOnValidation(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 60, 6, 2, false)
	small.FoundOnValidation(t, p, func(grid []float64, prior, noise float64) gp.Settings {
		return &Settings{Points: 20, Rank: 8, PriorGrid: grid, PriorStd: prior, NoiseStd: noise}
	})
}

// TestRecord: facts, and notes where there are fewer points or directions than asked for.
func TestRecord(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 30, 3, 1, false) // 13 weights
	f := small.Fit(t, &Settings{PriorStd: 1, NoiseStd: 0.3}, p, gp.Run{})
	notes := strings.Join(f.Record.Notes, " ")
	if !strings.Contains(notes, "30 points instead of 2000") || !strings.Contains(notes, "directions instead of 20") || f.Record.Rows != 30 {
		t.Errorf("record %+v", f.Record)
	}
	q := f.Posterior.(*posterior)
	if k := small.Fact(f, "directions"); k != float64(q.Rank()) || k > 13 || k < 10 {
		t.Errorf("%g directions", k)
	}
	if share := small.Fact(f, "share of the points' variance"); math.Abs(share-1) > 1e-9 {
		t.Errorf("all directions have %g of the variance", share)
	}
	if e := small.Fact(f, "effective parameters"); !(e > 0 && e < 13) {
		t.Errorf("%g effective parameters", e)
	}
	if f = small.Fit(t, &Settings{PriorStd: 1, Points: 10, Rank: 2}, p, gp.Run{}); f.Record.Notes != nil {
		t.Errorf("record %+v", f.Record)
	}
	if share := small.Fact(f, "share of the points' variance"); !(share > 0.1 && share < 1) {
		t.Errorf("two directions have %g of the variance", share)
	}
}

// TestEndOfGrid: a note says that the best of a grid is its first or its last.
func TestEndOfGrid(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 60, 6, 3, true)
	s, err := Settings{Points: 20, Rank: 8, PriorGrid: []float64{3, 1, 2}}.complete(p)
	if err != nil {
		t.Fatal(err)
	}
	f := begun(t, p, s, s.draw(p, 1))
	f.best = &state{Candidate: f.candidates[0]}
	for prior, want := range map[float64]bool{1: true, 2: false, 3: true} {
		notes := f.notes(&posterior{prior: prior, Posterior: along.Posterior{V: f.v}})
		if strings.Contains(strings.Join(notes, " "), "is at an end of prior-grid.") != want {
			t.Errorf("σ₀ = %g: notes %q", prior, notes)
		}
	}
	f.s.PriorGrid = []float64{2}
	if notes := f.notes(&posterior{prior: 2, Posterior: along.Posterior{V: f.v}}); notes != nil {
		t.Errorf("a grid of one: notes %q", notes)
	}
}

func TestEndOfNoises(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 60, 6, 1, false)
	small.EndOfNoises(t, p, &Settings{PriorStd: 1, Points: 20, Rank: 8}, &Settings{PriorStd: 1, Points: 20, Rank: 8, NoiseStd: 1})
}

// TestFlatNetwork: a network whose outputs do not change with its weights has no
// directions, and says so.
func TestFlatNetwork(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 30, 3, 1, false)
	p.Net = flat{p.Net}
	_, err := (&Settings{PriorStd: 1}).Fit(t.Context(), p, gp.Run{})
	if err == nil || !strings.Contains(err.Error(), "expected a positive number") {
		t.Errorf("error %v", err)
	}
}

// flat multiplies a network's outputs by 0.
type flat struct{ layers.Network }

func (f flat) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Scale(f.Network.Forward(b, x), 0)
}

// TestInterrupted: a fit with early stopping that ends early returns the best state so far.
func TestInterrupted(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 300, 6, 3, true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := Settings{PriorStd: 0.5, Points: 20, Rank: 4, EarlyStopping: true, CheckEvery: 50}
	f, err := s.Fit(ctx, p, gp.Run{OnProgress: func(r train.Progress) {
		if r.Done == 150 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || f == nil || f.Record.Rows < 50 || f.Record.Rows > 150 {
		t.Fatalf("fit %+v, error %v", f, err)
	}
	if q := f.Posterior.(*posterior); q.share != float64(f.Record.Rows)/300 {
		t.Errorf("share %g of %d rows", q.share, f.Record.Rows)
	}
	mean, cov := small.Moments(t, f.Posterior, p.Validation.X)
	if len(mean) != 27 || len(cov) != 81 || !(cov[0] > 0) {
		t.Errorf("%d means, %d covariances of which the first is %g", len(mean), len(cov), cov[0])
	}
}

// TestProgress: each part of the work is counted to its end, at last the rows, with the best
// validation value once there is one. The memory is too small for all points at once.
func TestProgress(t *testing.T) {
	p := small.Problem(t, 9, tensor.Float64, 250, 6, 3, true)
	var units []string
	done, totals := map[string][]int{}, map[string]int{}
	s := Settings{PriorStd: 0.5, Points: 60, Rank: 4, EarlyStopping: true, CheckEvery: 120}
	_, err := s.Fit(t.Context(), p, gp.Run{Memory: 200 << 10, OnProgress: func(r train.Progress) {
		if done[r.Unit] == nil {
			units = append(units, r.Unit)
		}
		done[r.Unit], totals[r.Unit] = append(done[r.Unit], r.Done), r.Total
		if math.IsNaN(r.Validation) != (r.Unit != unitRows || r.Done <= 120) {
			t.Errorf("progress %+v", r)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{unitKernel, unitDirections, unitHeld, unitRows}; !slices.Equal(units, want) {
		t.Fatalf("units %q, expected %q", units, want)
	}
	for _, unit := range units[:2] {
		if want := upTo(totals[unit]); len(want) < 4 || !slices.Equal(done[unit], want) {
			t.Errorf("%v of %d %s", done[unit], totals[unit], unit)
		}
	}
	if want := []int{9}; !slices.Equal(done[unitHeld], want) || totals[unitHeld] != 9 {
		t.Errorf("%v of %d validation rows, expected %v", done[unitHeld], totals[unitHeld], want)
	}
	if want := []int{100, 120, 220, 240, 250}; !slices.Equal(done[unitRows], want) || totals[unitRows] != 250 {
		t.Errorf("%v of %d rows, expected %v", done[unitRows], totals[unitRows], want)
	}
}

// upTo returns 1 to n.
func upTo(n int) (v []int) {
	for i := range n {
		v = append(v, i+1)
	}
	return v
}
