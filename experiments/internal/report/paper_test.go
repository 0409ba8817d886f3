package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

// set gives a cell the settings of a method, as a run writes them.
func set(t testing.TB, c *result.Cell, method string, own map[string]any) *result.Cell {
	t.Helper()
	var err error
	c.Method = method
	c.Settings, err = json.Marshal([]any{2, c.Data, "sum", c.Seed, map[string]any{"form": "mlp"}, map[string]any{"iterations": 9}, map[string]any{}, method, own, "", c.Seed})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func settings(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// The published row of a cell depends on its method and settings, whatever its name is.
func TestPaperRow(t *testing.T) {
	all, last := []string{"all"}, []string{"last-layer"}
	for _, c := range []struct {
		data, method string
		own          map[string]any
		want         string
		far          int
	}{
		{"mnist", "map", nil, "MAP", 0},
		{"mnist", "lla", settings("structure", "kfac", "weights", all), "LLA KFAC", 0},
		{"mnist", "lla", settings("weights", last), "LLA last-layer", 0},
		{"mnist", "lla", settings("structure", "full", "weights", all), "LLA", 0},
		{"mnist", "lla", settings("structure", "lowrank", "weights", all), "", 0},
		{"mnist", "lla", settings("structure", "diag", "weights", []string{"fc1.*"}), "", 0},
		{"mnist", "valla", settings("inducing", 200, "optimizer", "adam"), "VaLLA 200", 0},
		{"mnist", "valla", settings("inducing", 200), "VaLLA 200", 1},
		{"year", "valla", settings("inducing", 200, "law", "student-t"), "", 0},
		{"mnist", "sampled-lla", settings("solver", "sgd"), "Sampled LLA", 0},
		{"mnist", "sampled-lla", settings("solver", "cg"), "Sampled LLA", 1},
		{"cifar10-resnet20", "fmgp", settings("inducing", 20, "length-scale", 4.17), "FMGP 20", 0},
		{"cifar10-resnet20", "fmgp", settings("inducing", 20), "FMGP 20", 1},
		{"cifar10-resnet20", "gp-subset", settings("points", 500), "GP-Subset", 0},
		{"cifar10-resnet20", "mfvi", settings("estimator", "none"), "MF-VI", 1},
		{"mnist", "gapa", settings(), "", 0},
	} {
		name, far := paperRow(set(t, cell(c.data, "a name", 0, nil), c.method, c.own))
		if name != c.want || far != c.far {
			t.Errorf("%s %v: %q, %d, expected %q, %d", c.method, c.own, name, far, c.want, c.far)
		}
	}
}

// Published numbers stand beside the row that is nearest to them, and beside no other.
func TestPair(t *testing.T) {
	adam, natural := settings("inducing", 100, "optimizer", "adam"), settings("inducing", 100)
	scores := map[string]result.Scores{"probit": nll(0.1)}
	cells := []*result.Cell{
		set(t, cell("mnist", "first", 0, scores), "valla", natural), set(t, cell("mnist", "second", 0, scores), "valla", adam),
	}
	for n, want := range map[int]string{1: "first", 2: "second"} {
		table, _ := tables(found(cells[:n]), "mnist")
		if got := find(t, table, want, "probit", "NLL", printed); got.Text != "0.076" {
			t.Errorf("%d rows: %+v beside %s", n, got, want)
		}
		if n == 2 {
			if got := find(t, table, "first", "probit", "NLL", printed); got.Text != "" {
				t.Errorf("%+v beside another algorithm, too", got)
			}
		}
		for _, r := range table.Rows {
			if r.Method == "VaLLA 100" {
				t.Error("the published row is there twice")
			}
		}
	}
}

// Profiles of an experiment come together: equal settings make one row, and others of the same
// name a second one that says so.
func TestMerge(t *testing.T) {
	of := func(profile, row string, seed uint64, nll float64, own map[string]any) *result.Cell {
		c := set(t, cell("a", row, seed, map[string]result.Scores{"": {"NLL": result.Number(nll)}}), "valla", own)
		c.Experiment, c.Profile, c.Hash = "e", profile, fmt.Sprint(profile, seed)
		return c
	}
	long, short := settings("iterations", 9), settings("iterations", 3)
	quick := []*result.Cell{of("quick", "A", 0, 5, short), of("quick", "B", 0, 7, long)}
	full := []*result.Cell{of("full", "A", 0, 1, long), of("full", "A", 1, 3, long)}
	worse := of("corrupted", "A", 0, 1.5, long)
	worse.Curves.Corrupted = []result.Corrupt{{Name: "fog", Level: 1}}
	all := merge(result.Group(append(append(quick, full...), worse)), []Known{{Name: "x"}, {Name: "e", About: "it", Rows: []string{"B", "A"}}})
	if len(all) != 1 || all[0].About != "it" || fmt.Sprint(all[0].profiles) != "[full quick corrupted]" {
		t.Fatalf("experiments %+v", all)
	}
	var got []string
	for _, l := range gather(all[0].Found, "a") {
		got = append(got, fmt.Sprint(l.method, " ", l.measured["NLL"]))
	}
	// B of quick has the settings of A of full: it is the same row.
	if want := "[A [1.5 3] A, quick [5]]"; fmt.Sprint(got) != want {
		t.Errorf("lines %q, expected %s", got, want)
	}
	for _, c := range all[0].cells { // what is published keeps its name
		if c.Row != "A" {
			t.Errorf("the cell is called %q", c.Row)
		}
	}
}

// Networks of one form are in the order of their sizes; other data sets stay as they are.
func TestBySize(t *testing.T) {
	list := []string{"cifar10-resnet56", "cifar10-resnet8", "cifar10-resnet20"}
	slices.SortStableFunc(list, bySize)
	if got := strings.Join(list, " "); got != "cifar10-resnet8 cifar10-resnet20 cifar10-resnet56" {
		t.Errorf("order %s", got)
	}
	if bySize("toy1d", "sine") != 0 || bySize("kin8nm", "b2") != 0 || bySize("a2", "b1") != 0 {
		t.Error("data sets of other names are ordered")
	}
}

// A cell that is missing under one profile and there under another is not missing.
func TestMergeMissing(t *testing.T) {
	done := cell("a", "A", 0, map[string]result.Scores{"": nll(1)})
	id := done.ID
	id.Hash = "other"
	plan := found(nil, id, result.ID{Data: "a", Row: "B"})
	for _, order := range [][]result.Found{{plan, found([]*result.Cell{done})}, {found([]*result.Cell{done}), plan}} {
		all := merge(order, nil)
		if len(all) != 1 || len(all[0].Cells) != 2 || all[0].Done[0] != done || all[0].Done[1] != nil {
			t.Errorf("merged %+v", all)
		}
	}
}

// An experiment with several tables has summaries, with a column for each data set.
func TestSummary(t *testing.T) {
	one := func(data, row string, v float64) *result.Cell {
		return cell(data, row, 0, map[string]result.Scores{"": nll(v)})
	}
	f := found([]*result.Cell{one("a", "MAP", 1), one("a", "LLA", 2), one("b", "LLA", 3), one("c", "MAP", 4)})
	list := summaries(f)
	if len(list) != 1 || list[0].Title != "NLL" || len(list[0].Columns) != 3 || len(list[0].Rows) != 2 {
		t.Fatalf("summaries %+v", list)
	}
	if r := list[0].Rows[1]; r.Method != "LLA" || r.Cells[0].Text != "2.0000" || r.Cells[1].Text != "3.0000" || r.Cells[2].Text != "" {
		t.Errorf("row %+v", r)
	}
	if list[0].Rows[0].Cells[0].Mark != Best {
		t.Error("the best number is not marked")
	}
	for want, counts := range map[string][]int{"3": {3, 3}, "1–3": {3, 1, 2}, "2–4": {2, 3, 4}} {
		if got := span(counts); got != want {
			t.Errorf("seeds %v are %q, expected %q", counts, got, want)
		}
	}
	if few := summaries(found([]*result.Cell{one("a", "MAP", 1), one("b", "MAP", 2)})); few != nil {
		t.Errorf("summaries %+v of two tables", few)
	}
}

// The page of results has what a fit took, once for each method.
func TestWith(t *testing.T) {
	a := Table{Rows: []Row{{Method: "A", Probs: "probit"}, {Method: "A", Probs: "mc"}, {Method: "B"}}}
	took := Table{Columns: []Column{{Metric: "x"}, {Metric: "CPU, s"}}, Rows: []Row{{Method: "A", Cells: []Cell{{}, {Text: "7"}}}}}
	got := a.with(took, "CPU, s")
	if len(got.Columns) != 1 || got.Rows[0].Cells[0].Text != "7" || got.Rows[1].Cells[0].Text != "" || got.Rows[2].Cells[0].Text != "" {
		t.Errorf("table %+v", got)
	}
	if got := a.with(Table{}, "CPU, s"); len(got.Columns) != 0 {
		t.Errorf("columns %+v of nothing", got.Columns)
	}
}
