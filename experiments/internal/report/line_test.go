package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-valla/valla/experiments/internal/result"
)

// cell returns a finished cell.
func cell(data, row string, seed uint64, scores map[string]result.Scores) *result.Cell {
	return &result.Cell{ID: result.ID{Data: data, Method: "m", Row: row, Seed: seed}, Scores: scores}
}

// found returns a plan of these cells and of those that are missing.
func found(done []*result.Cell, missing ...result.ID) result.Found {
	f := result.Found{Plan: result.Plan{Experiment: "e", Profile: "full"}}
	for _, c := range done {
		f.Cells, f.Done = append(f.Cells, c.ID), append(f.Done, c)
	}
	for _, id := range missing {
		f.Cells, f.Done = append(f.Cells, id), append(f.Done, nil)
	}
	for _, id := range f.Cells {
		if !slices.Contains(f.Data, id.Data) {
			f.Data = append(f.Data, id.Data)
		}
	}
	return f
}

func nll(v float64) result.Scores { return result.Scores{"NLL": result.Number(v)} }

// Cells of one row, of all seeds and kinds, come to their lines, in the order of the plan.
func TestGather(t *testing.T) {
	f := found([]*result.Cell{
		cell("a", "MAP", 0, map[string]result.Scores{"probit": nll(1)}),
		cell("b", "MAP", 0, map[string]result.Scores{"": nll(9)}),
		cell("a", "VaLLA", 0, map[string]result.Scores{"mc": nll(3), "probit": nll(2)}),
		cell("a", "MAP", 1, map[string]result.Scores{"probit": nll(4)}),
		cell("a", "VaLLA", 1, map[string]result.Scores{"mc": nll(6), "probit": nll(5)}),
	}, result.ID{Data: "a", Row: "VaLLA", Seed: 2}, result.ID{Data: "a", Row: "LLA"})
	lines := gather(f, "a")
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprint(l.method, " ", l.probs, " ", l.measured["NLL"], " ", l.done, "/", l.expected))
	}
	want := []string{"MAP probit [1 4] 2/2", "VaLLA probit [2 5] 2/3", "VaLLA mc [3 6] 2/3", "LLA probit [] 0/1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("lines %q, expected %q", got, want)
	}
	a, took := tables(f, "a")
	if b, _ := tables(f, "b"); a.Title != "a" || b.Title != "b" || b.Probs || !a.Probs || len(a.Rows) != 4 {
		t.Errorf("tables %+v and %+v", a, b)
	}
	// A fit is the same for both kinds of probabilities, and a row that is missing took nothing.
	if len(took.Rows) != 2 || took.Probs || took.Rows[1].Method != "VaLLA" {
		t.Errorf("costs %+v", took)
	}
	if none := gather(f, "c"); none != nil {
		t.Errorf("lines %+v of a data set without cells", none)
	}
}

// A line has the scores, the findings of the fit and the fit's costs.
func TestAdd(t *testing.T) {
	c := cell("a", "VaLLA", 0, map[string]result.Scores{"": {"NLL": 1, "CQM": 0.5}})
	c.Facts = result.Facts{PriorStd: 0.25}
	c.Fit, c.Predict = result.Cost{Wall: 2, CPU: 3, Peak: 5 << 20, Runs: 1}, result.Cost{Wall: 4}
	c.Curves.Band = &result.Band{Latent: []float64{2, 3}}
	exact := &result.Band{Latent: []float64{1, 3}}
	l := &line{measured: map[string][]float64{}}
	l.add(c, "", exact)
	l.cost()
	want := map[string][]float64{"NLL": {1}, "CQM": {0.5}, "σ₀": {0.25}, "Δσ": {0.25}, "fit, s": {2}, "CPU, s": {3}, "peak, MiB": {5}, "predict, s": {4}}
	if !reflect.DeepEqual(l.measured, want) || l.done != 1 {
		t.Errorf("measured %v", l.measured)
	}
	// Exact LLA has no difference from itself, and weights from a file took no time.
	lla := cell("a", "LLA", 0, map[string]result.Scores{"": nll(1)})
	lla.Curves.Band = exact
	l = &line{measured: map[string][]float64{}}
	l.add(lla, "", exact)
	l.cost()
	if !reflect.DeepEqual(l.measured, map[string][]float64{"NLL": {1}, "predict, s": {0}}) {
		t.Errorf("measured %v", l.measured)
	}
	refused := cell("a", "LLA", 1, nil)
	refused.Refused = "too large"
	l.add(refused, "", nil)
	if l.refused != "too large" || l.done != 2 || len(l.measured["NLL"]) != 1 {
		t.Errorf("line %+v", l)
	}
}

// Costs are means over the cells of one machine: of the one with most cells, or else with the latest cell.
func TestCostOfOneMachine(t *testing.T) {
	at := func(cpu string, hour int, seconds float64) *result.Cell {
		c := cell("a", "MAP", uint64(hour), map[string]result.Scores{"": nll(1)})
		c.Fit = result.Cost{CPU: seconds, Runs: 1}
		c.Machine = result.Machine{CPU: cpu, Finished: time.Unix(int64(3600*hour), 0)}
		return c
	}
	for _, c := range []struct {
		cells []*result.Cell
		want  []float64
	}{
		{[]*result.Cell{at("old", 1, 20), at("new", 2, 7), at("old", 9, 19), at("new", 3, 8), at("new", 4, 9)}, []float64{7, 8, 9}},
		{[]*result.Cell{at("new", 3, 7), at("old", 2, 20)}, []float64{7}},
		{[]*result.Cell{at("old", 2, 20), at("new", 3, 7)}, []float64{7}},
	} {
		lines := gather(found(c.cells), "a")
		if l := lines[0]; !slices.Equal(l.measured["CPU, s"], c.want) || len(l.measured["NLL"]) != len(c.cells) {
			t.Errorf("measured %v, expected the CPU seconds %v", l.measured, c.want)
		}
	}
}

// The seeds of a row are those whose scores are averaged; a note says why a cell is refused.
func TestSeedsWithoutRefused(t *testing.T) {
	refused := cell("a", "LLA", 1, nil)
	refused.Refused = "too large"
	f := found([]*result.Cell{cell("a", "LLA", 0, map[string]result.Scores{"": nll(1)}), refused})
	if r := gather(f, "a")[0].row(nil, nil); r.Seeds != "1 of 2" || r.Note != "too large" {
		t.Errorf("row %+v", r)
	}
	if got := summary(f, metrics[1]).Rows[0].Seeds; got != "1" {
		t.Errorf("%s seeds in the summary", got)
	}
	if r := gather(found([]*result.Cell{refused}), "a")[0].row(nil, nil); r.Seeds != "1" || r.Note != "" {
		t.Errorf("row of refused cells %+v", r)
	}
}

// A data set of which no cell is finished has the kind of probabilities of the published rows: none for numbers, and probit for classes.
func TestKindsOf(t *testing.T) {
	for data, want := range map[string]string{"cifar10-resnet20": "probit", "mnist": "probit", "year": "", "boston": ""} {
		for range 10 { // the published rows of a data set have no order
			if got := kindsOf(result.Found{}, data, "MAP"); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: kinds %q, expected %q", data, got, want)
			}
		}
	}
}

func TestExactBands(t *testing.T) {
	lla := cell("a", "LLA", 3, nil)
	lla.Curves.Band = &result.Band{Latent: []float64{1}}
	f := found([]*result.Cell{lla, cell("a", "LLA KFAC", 3, nil), cell("b", "LLA", 4, nil)})
	if got := exactBands(f, "a"); len(got) != 1 || got[3] != lla.Curves.Band {
		t.Errorf("bands %v", got)
	}
}

// The text of a cell: the mean over seeds, how far they scatter, or why there is none.
func TestCell(t *testing.T) {
	p := &published{printed: map[place]map[string]float64{{"A", ""}: {"NLL": 1.25, "CQM": 0.109}}, runs: map[place]map[string]float64{{"A", ""}: {"NLL": math.NaN()}}}
	for _, c := range []struct {
		line line
		col  Column
		want string
	}{
		{line{measured: map[string][]float64{"NLL": {1, 2, 3}}}, Column{"NLL", here, 2, -1}, "2.00 ± 1.00"},
		{line{measured: map[string][]float64{"NLL": {1}}}, Column{"NLL", here, 2, -1}, "1.00"},
		{line{measured: map[string][]float64{"σ₀": {1, 3}}}, Column{"σ₀", here, 1, 0}, "2.0"},
		{line{measured: map[string][]float64{"NLL": {math.Inf(1)}}}, Column{"NLL", here, 2, -1}, "+∞"},
		{line{expected: 1}, Column{"NLL", here, 2, -1}, "missing"},
		{line{expected: 1}, Column{"σ₀", here, 2, 0}, ""},
		{line{expected: 1, done: 1}, Column{"NLL", here, 2, -1}, ""},
		{line{expected: 1, done: 1, refused: "why"}, Column{"NLL", here, 2, -1}, "too large"},
		{line{expected: 1, done: 1, refused: "why"}, Column{"fit, s", here, 2, 0}, ""},
		{line{}, Column{"NLL", printed, 4, -1}, "1.250"},
		{line{}, Column{"CQM", corrected, 4, -1}, "0.059"},
		{line{}, Column{"NLL", corrected, 4, -1}, ""},
		{line{}, Column{"NLL", runs, 4, -1}, ""},
	} {
		c.line.place, c.line.paper = place{"A", ""}, "A"
		got := c.line.cell(c.col, p)
		if got.Text != c.want || (got.Text == "too large") != (got.Note == "why") {
			t.Errorf("%s, %s: %+v, expected %q", c.col.Metric, c.col.Source, got, c.want)
		}
	}
	if r := (&line{expected: 3, done: 1}).row(nil, p); r.Seeds != "1 of 3" {
		t.Errorf("seeds %q", r.Seeds)
	}
	if r := (&line{expected: 3, done: 3}).row(nil, p); r.Seeds != "3" {
		t.Errorf("seeds %q", r.Seeds)
	}
	if r := (&line{place: place{"A", "mc"}}).row(nil, p); r.Seeds != "" || r.Method != "A" || r.Probs != "mc" {
		t.Errorf("row %+v", r)
	}
}
