package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0.12345, 4, "0.1235"}, {-0.5, 3, "-0.500"}, {999.96, 4, "999.9600"}, {1234.56, 4, "1234.6"}, {123456, 0, "123456"},
		{math.Inf(1), 4, "+∞"}, {math.Inf(-1), 4, "-∞"}, {math.NaN(), 4, "NaN"},
	} {
		if got := format(c.v, c.digits); got != c.want {
			t.Errorf("%v with %d decimals is %q, expected %q", c.v, c.digits, got, c.want)
		}
	}
}

func TestMoments(t *testing.T) {
	if mean, std := moments([]float64{1, 2, 3, 6}); mean != 3 || math.Abs(std-math.Sqrt(14./3)) > 1e-15 {
		t.Errorf("mean %v and deviation %v", mean, std)
	}
	if mean, std := moments([]float64{7}); mean != 7 || std != 0 {
		t.Errorf("mean %v and deviation %v of one number", mean, std)
	}
}

// Numbers are ranked as they are shown, and equal ones share their rank.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		sign  float64
		texts []string
		want  []Mark
	}{
		{-1, []string{"0.3 ± 0.1", "0.1", "", "0.1", "0.2", "missing"}, []Mark{Plain, Best, Plain, Best, Second, Plain}},
		{1, []string{"0.3", "0.1", "0.2"}, []Mark{Best, Plain, Second}},
		{1, []string{"0.3", "0.3 ± 2", "too large"}, []Mark{Plain, Plain, Plain}},
		{-1, []string{"", "missing"}, []Mark{Plain, Plain}},
		{-1, []string{"1", "2", "2", "3"}, []Mark{Best, Plain, Plain, Plain}},
		{-1, []string{"1", "1", "2", "3"}, []Mark{Plain, Plain, Plain, Plain}},
		{-1, []string{"+∞", "5"}, []Mark{Plain, Plain}},
	} {
		table := Table{}
		for _, text := range c.texts {
			table.Rows = append(table.Rows, Row{Cells: []Cell{{Text: text}}})
		}
		table.mark(0, c.sign)
		var got []Mark
		for _, r := range table.Rows {
			got = append(got, r.Cells[0].Mark)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: marks %v, expected %v", c.texts, got, c.want)
		}
	}
}

// Columns are in a fixed order, with the columns of one metric side by side.
func TestColumns(t *testing.T) {
	full := result.Scores{"Brier": 1, "NLL": 2, "ACC": 0.5, "OOD-AUC": 0.9, "ECE": 0.1}
	c := cell("mnist", "VaLLA 100", 0, map[string]result.Scores{"probit": full, "mc": full})
	c.Facts.PriorStd = 1
	table, took := tables(found([]*result.Cell{c}), "mnist")
	var got []string
	for _, c := range table.Columns {
		got = append(got, c.Metric+" "+c.Source)
	}
	want := "ACC printed|ACC released|ACC measured|NLL printed|NLL released|NLL measured|ECE printed|ECE released|ECE measured|" +
		"Brier printed|Brier released|Brier measured|OOD-AUC printed|OOD-AUC released|OOD-AUC measured"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("columns %s", s)
	}
	if c := took.Columns; len(c) != 3 || c[0].Metric != "σ₀" || c[0].Source != runs || c[1].Source != here || c[2].Metric != "predict, s" {
		t.Errorf("columns of costs %+v", c)
	}
	for _, r := range table.Rows {
		if len(r.Cells) != len(table.Columns) {
			t.Errorf("%s has %d cells for %d columns", r.Method, len(r.Cells), len(table.Columns))
		}
	}
	// Measured rows come first, then the paper's rows in the paper's order.
	if table.Rows[0].Method != "VaLLA 100" || table.Rows[1].Probs != "mc" || table.Rows[2].Method != "MAP" {
		t.Errorf("rows %+v", table.Rows)
	}
}

// A data set about which nothing is published has measured columns alone, whichever kind of
// task it is.
func TestUnpublished(t *testing.T) {
	table, _ := tables(found([]*result.Cell{
		cell("boston", "MAP", 0, map[string]result.Scores{"": {"NLL": 3, "RMSE": 2, "CRPS": 1, "CQM": 0.1}}),
		cell("boston", "LLA", 0, map[string]result.Scores{"": {"NLL": 2, "RMSE": 2, "CRPS": 1, "CQM": 0.2}}),
	}), "boston")
	for _, c := range table.Columns {
		if c.Source != here {
			t.Errorf("column %+v", c)
		}
	}
	if len(table.Rows) != 2 || table.Probs {
		t.Errorf("table %+v", table)
	}
	for metric, want := range map[string]Mark{"NLL": Best, "CQM": Second, "RMSE": Plain} {
		if got := find(t, table, "LLA", "", metric, here).Mark; got != want {
			t.Errorf("%s is marked %d, expected %d", metric, got, want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	at := func(method, probs string, nll ...float64) *line {
		return &line{place: place{method, probs}, paper: method, measured: map[string][]float64{"NLL": nll}}
	}
	lines := []*line{at("MAP", "probit", 0.4, 0.6), at("LLA last-layer", "probit", 0.1), at("LLA last-layer", "mc", 0), at("VaLLA 100", "mc", 0.01),
		at("VaLLA 100", "probit", 0.3), at("VaLLA 200", "probit", 0.2), at("VaLLA 300", "probit")}
	if got, want := against(lines, "NLL"), "NLL: VaLLA 200 has 0.2000, 0.3000 better than MAP (0.5000) and 0.1000 worse than LLA last-layer (0.1000)."; got != want {
		t.Errorf("it says %q, expected %q", got, want)
	}
	for _, none := range [][]*line{nil, lines[:3], lines[3:], {at("VaLLA 1", "")}} {
		if got := against(none, "NLL"); got != "" && none != nil {
			t.Errorf("it says %q of %d lines", got, len(none))
		}
	}
	if got := against(lines, "CQM"); got != "" {
		t.Errorf("it says %q of what was not measured", got)
	}
	if got := fromPaper(lines, publishedFor("boston")); got != "" {
		t.Errorf("it says %q of a data set without published numbers", got)
	}
	if got := verdicts(lines, publishedFor("mnist")); len(got) != 2 || !strings.HasPrefix(got[0], "NLL: ") || !strings.Contains(got[1], "LLA last-layer by 0.0190") {
		t.Errorf("it says %q", got)
	}
}
