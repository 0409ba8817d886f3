package bench

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

// The head of a report names the machine and its load, as JSON beside the report's own fields.
func TestSession(t *testing.T) {
	s := newSession()
	if s.Machine.Go != runtime.Version() || s.Machine.Cores < 1 || s.Load[0] == "" || s.Load[1] != "" {
		t.Errorf("session %+v", s)
	}
	s.Load = [2]string{"1 2 3", "4 5 6"}
	if got := s.line("chip", "go1"); got != "chip, go1; load 1 2 3 before, 4 5 6 after\n" {
		t.Errorf("line %q", got)
	}
	for _, r := range []any{report{session: s}, latencyReport{session: s}, scalingReport{session: s}} {
		text, err := json.Marshal(r)
		var keys map[string]any
		if err == nil {
			err = json.Unmarshal(text, &keys)
		}
		if err != nil || keys["machine"] == nil || keys["load"] == nil || keys["session"] != nil {
			t.Errorf("%T: %s, error %v", r, text, err)
		}
	}
}

// A report is printed as one document of JSON or as text, and the text is made only where it is
// printed.
func TestPrintForms(t *testing.T) {
	var out strings.Builder
	c := Command{json: true}
	fail := func() string { t.Error("the text is made"); return "" }
	if err := c.print(&out, map[string]int{"a": 1}, fail); err != nil || out.String() != "{\n  \"a\": 1\n}\n" {
		t.Errorf("%q, error %v", &out, err)
	}
	out.Reset()
	if err := (&Command{}).print(&out, nil, func() string { return "text" }); err != nil || out.String() != "text" {
		t.Errorf("%q, error %v", &out, err)
	}
	if err := c.print(&out, func() {}, fail); err == nil {
		t.Error("a report that JSON cannot hold is no error")
	}
}

// The picture is drawn before the report is printed, into a folder that is made, and its error ends
// the command.
func TestPrintDrawn(t *testing.T) {
	c := Command{dir: filepath.Join(t.TempDir(), "a", "b")}
	var out strings.Builder
	draw := func(path string) error { return os.WriteFile(path+".png", []byte("picture"), 0o644) }
	if err := c.printDrawn(&out, "name", draw, nil, func() string { return "table\n" }); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.dir, "name")
	if got := out.String(); got != "table\nwrote "+path+".png and "+path+".svg\n" {
		t.Errorf("output %q", got)
	}
	if text, err := os.ReadFile(path + ".png"); err != nil || string(text) != "picture" {
		t.Errorf("picture %q, error %v", text, err)
	}
	broken := errors.New("broken")
	out.Reset()
	if err := c.printDrawn(&out, "name", func(string) error { return broken }, nil, nil); !errors.Is(err, broken) || out.Len() != 0 {
		t.Errorf("output %q, error %v", &out, err)
	}
}

// Figures are means over the seeds with the largest peak, and scores have standard errors where
// there are several seeds.
func TestSummed(t *testing.T) {
	if got := summed(nil); got != nil {
		t.Errorf("figures %+v of no cells", got)
	}
	cell := func(wall, nll float64, peak int64) *result.Cell {
		return &result.Cell{Fit: result.Cost{Wall: wall, CPU: 2 * wall, Peak: peak, Runs: 1, Cores: 2}, Predict: result.Cost{Wall: wall / 2},
			Scores: map[string]result.Scores{"probit": {"NLL": result.Number(nll), "ACC": 1}, "mc": {"NLL": 99}}}
	}
	one := summed([]*result.Cell{cell(1, 0.5, 7)})
	if one.Fit.Wall != 1 || one.Fit.Peak != 7 || len(one.Quality) != 1 || one.Quality[0] != (quality{"NLL", 0.5, 0}) {
		t.Errorf("one cell: %+v", one)
	}
	two := summed([]*result.Cell{cell(1, 0.5, 7), cell(3, 0.7, 5)})
	if two.Seeds != 2 || two.Fit.Wall != 2 || two.Fit.CPU != 4 || two.Fit.Peak != 7 || two.Fit.Runs != 2 || two.Predict.Wall != 1 {
		t.Errorf("two cells: %+v", two)
	}
	// Half the difference of two numbers is their standard error.
	if q := two.Quality[0]; q.Name != "NLL" || q.Mean < 0.6-1e-12 || q.Mean > 0.6+1e-12 || q.Err < 0.1-1e-12 || q.Err > 0.1+1e-12 {
		t.Errorf("quality %+v", q)
	}
	own := &result.Cell{Experiment: fitsExperiment, Facts: result.Facts{Found: map[string]result.Number{"log evidence": -3, "other": 1}}}
	if got := summed([]*result.Cell{own}).Quality; !slices.Equal(got, []quality{{"log evidence", -3, 0}}) {
		t.Errorf("quality %+v of work of its own", got)
	}
	own.Experiment = "mnist"
	if got := summed([]*result.Cell{own}).Quality; got != nil {
		t.Errorf("quality %+v of what a method found besides", got)
	}
}

// A line says what was measured, with the published figures of the same seeds, or why there is
// nothing.
func TestFitLine(t *testing.T) {
	f := fit{name: "row"}
	cell := func(seed uint64) *result.Cell {
		return &result.Cell{Experiment: fitsExperiment, Profile: "row", ID: result.ID{Data: "d", Row: "r", Inducing: 5, Seed: seed}, Fit: result.Cost{Wall: 4, Runs: 1, Cores: 1}, Machine: result.Machine{Program: "v9"}}
	}
	found := func(name string, cells ...*result.Cell) []result.Found {
		return []result.Found{{Plan: result.Plan{Experiment: fitsExperiment, Profile: name}, Done: cells}}
	}
	for what, c := range map[string]struct {
		found []result.Found
		note  string
		want  string
	}{
		"nothing": {nil, "", "not measured"}, "a note": {nil, "skipped", "skipped"}, "another row": {found("other", cell(0)), "", "not measured"},
		"missing": {found("row", nil, nil), "", "not measured"},
		"refused": {found("row", &result.Cell{Refused: "too large"}), "", "too large"},
	} {
		if l := f.line(c.found, nil, c.note); l.Here != nil || l.Note != c.want {
			t.Errorf("%s: %+v", what, l)
		}
	}
	l := f.line(found("row", cell(0), nil, cell(2)), []*result.Cell{cell(0), cell(1), cell(2)}, "")
	if l.Here == nil || l.Here.Seeds != 2 || l.Program != "v9" || l.Settings != "M = 5, 1 thread" || l.Note != "" {
		t.Errorf("line %+v", l)
	}
	if l.Published == nil || l.Published.Seeds != 2 {
		t.Errorf("published %+v, expected the seeds that were measured", l.Published)
	}
}

// Settings name the inducing points or the row, and the steps where there are some.
func TestSettingsOf(t *testing.T) {
	c := &result.Cell{ID: result.ID{Data: "d", Row: "r"}, Fit: result.Cost{Cores: 2}}
	if got := settingsOf(c); got != "d, r, 2 threads" {
		t.Errorf("settings %q", got)
	}
	c.Inducing, c.Facts.Steps = 7, 1
	if got := settingsOf(c); got != "M = 7, 1 step, 2 threads" {
		t.Errorf("settings %q", got)
	}
	for want, got := range map[string]string{
		"3.00 (CPU 4.00)": seconds(result.Cost{Wall: 3, CPU: 4, Runs: 1}),
		"a 1, b 2 ± 0.5":  qualities([]quality{{"a", 1, 0}, {"b", 2, 0.5}}),
	} {
		if got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
	if got := seconds(result.Cost{Wall: 3}); got != "" {
		t.Errorf("%q of a fit whose cost is not known", got)
	}
}

// Each reason why the other side was not measured stands once, with the names of its rows.
func TestNotes(t *testing.T) {
	r := report{Note: "no Python", Rows: []row{{Name: "a", Note: "x"}, {Name: "b"}, {Name: "c", Note: "y"}, {Name: "d", Note: "x"}}}
	want := []string{"Only ours: no Python.", "Without theirs, x: a; d", "Without theirs, y: c"}
	if got := r.notes(); !slices.Equal(got, want) {
		t.Errorf("notes %q, expected %q", got, want)
	}
	if got := (report{}).notes(); got != nil {
		t.Errorf("notes %q", got)
	}
}
