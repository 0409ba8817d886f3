package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
)

func titles(charts []figure.Chart) string {
	var list []string
	for _, c := range charts {
		list = append(list, c.Title)
	}
	return strings.Join(list, "|")
}

// names lists the entries of the legends of charts, each once.
func names(charts []figure.Chart) []string {
	var list []string
	for _, k := range (Figure{Charts: charts}).Keys() {
		list = append(list, k.Name)
	}
	return list
}

func band(scale float64) *result.Band {
	return &result.Band{Grid: []float64{0, 1, 2}, Mean: []float64{0, 1, 0}, Std: []float64{scale, scale, scale}, Latent: []float64{scale, scale, scale},
		X: []float64{0, 1}, Y: []float64{1, 0}, After: []float64{0.5}}
}

// A row has the cell of its first seed that is finished and not refused.
func TestFirstSeeds(t *testing.T) {
	refused := cell("a", "LLA", 0, nil)
	refused.Refused = "too large"
	f := found([]*result.Cell{refused, cell("a", "MAP", 2, nil), cell("b", "MAP", 0, nil), cell("a", "MAP", 1, nil), cell("a", "LLA", 1, nil)}, result.ID{Data: "a", Row: "VaLLA"})
	var got []string
	for _, c := range firstSeeds(f, "a") {
		got = append(got, fmt.Sprint(c.Row, " ", c.Seed))
	}
	if !slices.Equal(got, []string{"MAP 1", "LLA 1"}) {
		t.Errorf("cells %q", got)
	}
}

// The first panels show every method, with the largest of several numbers of points; the
// second compare each number with exact LLA.
func TestBandPanels(t *testing.T) {
	var cells []*result.Cell
	for i, row := range []string{"MAP", "LLA", "ELLA 5", "ELLA 20", "FMGP 10", "VaLLA 5", "VaLLA 10"} {
		c := cell("toy", row, 0, nil)
		c.Curves.Band = band(float64(i + 1))
		cells = append(cells, c)
	}
	cells = append(cells, cell("toy", "without", 0, nil))
	panels, against, err := bands(cells)
	if err != nil || titles(panels) != "MAP|LLA|ELLA 20|FMGP 10|VaLLA 10" || titles(against) != "ELLA 5|ELLA 20|VaLLA 5|VaLLA 10" {
		t.Fatalf("panels %q and %q, error %v", titles(panels), titles(against), err)
	}
	if slices.Contains(names(panels[:2]), "±2σ of LLA") || !slices.Contains(names(panels[2:3]), "±2σ of LLA") || !slices.Contains(names(against), "±2σ of LLA") {
		t.Errorf("legends %q and %q", names(panels), names(against))
	}
	if slices.Contains(names(panels[4:]), "Z after the fit") || !slices.Contains(names(against), "Z after the fit") {
		t.Errorf("inducing inputs in %q and %q", names(panels[4:]), names(against))
	}
	panels, against, err = bands(cells[7:])
	if err != nil || panels != nil || against != nil {
		t.Errorf("panels %q and %q of cells without bands, error %v", titles(panels), titles(against), err)
	}
	cells[0].Curves.Band.Mean = nil
	if _, _, err := bands(cells); err == nil || !strings.HasPrefix(err.Error(), "report: toy, MAP, seed 0: band of 3 points with 0 means") {
		t.Errorf("error %v", err)
	}
}

// Learning curves are of methods with two validations at least; the training of the network
// has another loss and is not among them.
func TestLearning(t *testing.T) {
	one, two, net := cell("a", "one", 0, nil), cell("a", "two", 0, nil), cell("a", "MAP", 0, nil)
	one.Curves.History = []result.Point{{Step: 1, Validation: 1}}
	two.Curves.History = []result.Point{{Step: 1, Seconds: 0.5, Validation: 1}, {Step: 2, Seconds: 1, Validation: 0.5}}
	net.Curves.History, net.Method = two.Curves.History, "map"
	charts := learning([]*result.Cell{one, two, net})
	if titles(charts) != "against steps|against time" || !slices.Equal(names(charts), []string{"two"}) {
		t.Errorf("charts %q of %q", titles(charts), names(charts))
	}
	if charts := learning([]*result.Cell{one, net}); charts != nil {
		t.Errorf("charts %q", titles(charts))
	}
}

// What a curve gains at first is cut off, where another curve would be hidden by it.
func TestSettled(t *testing.T) {
	for want, list := range map[float64][][]float64{
		2.5: {{9, 5, 2, 1}, {1, 1.5, 1}},
		0:   {{3}, {math.NaN(), math.Inf(1)}},
		4:   {{3, 3}, {1}},
	} {
		var series []figure.Series
		for _, y := range list {
			series = append(series, figure.Series{Y: y})
		}
		if got := settled(series); got != want {
			t.Errorf("%v: cut at %v, expected %v", list, got, want)
		}
	}
}

// Of a method with several numbers of points the charts of curves show the largest.
func TestLargest(t *testing.T) {
	var names []string
	for _, c := range largest([]*result.Cell{cell("a", "MAP", 0, nil), cell("a", "V 5", 0, nil), cell("a", "W", 0, nil), cell("a", "V 10", 0, nil)}) {
		names = append(names, c.Row)
	}
	if got := strings.Join(names, "|"); got != "MAP|V 10|W" {
		t.Errorf("cells %s", got)
	}
}

// both returns the charts of reliability and of entropies.
func both(cells []*result.Cell) []figure.Chart {
	reliable, entropies := calibration(cells)
	return append(reliable, entropies...)
}

func TestCurvesOfCells(t *testing.T) {
	none := []*result.Cell{cell("a", "none", 0, nil)}
	c := cell("a", "A", 0, nil)
	c.Curves = result.Curves{
		Coverage:  []float64{0.1, 0.5, 0.9},
		Rotations: []result.Turned{{Degrees: 0, Changed: result.Changed{ACC: 1, NLL: 0.1, ECE: 0.2}}, {Degrees: 10, Changed: result.Changed{ACC: 0.9, NLL: 0.4, ECE: 0.3}}},
		Reliable:  []result.XY{{X: 0.5, Y: 0.4}, {X: 0.9, Y: 1}},
		Entropy:   &result.Entropy{Max: 2, In: []float64{0.5, 0}, Out: []float64{0, 0.5}},
	}
	some := []*result.Cell{c, none[0]}
	for _, x := range []struct {
		what string
		draw func([]*result.Cell) []figure.Chart
		want string
	}{{"coverage", coverage, "coverage"}, {"rotations", rotations, "NLL|ECE|ACC"}, {"calibration", both, "reliability|A"}} {
		if got := x.draw(some); titles(got) != x.want {
			t.Errorf("%s: charts %q", x.what, titles(got))
		}
		if got := x.draw(none); got != nil {
			t.Errorf("%s: charts %q of a cell without", x.what, titles(got))
		}
	}
	for _, chart := range slices.Concat(coverage(some), rotations(some), both(some)) {
		if svg, err := chart.SVG(); err != nil || !strings.Contains(string(svg), "<svg") {
			t.Errorf("%s: %v", chart.Title, err)
		}
	}
}

// Boxes over corruptions come in a fixed order, NLL before ECE.
func TestCorruptionCharts(t *testing.T) {
	c := cell("a", "A", 0, nil)
	for level := 1; level <= 2; level++ {
		for i, kind := range []string{"blur", "fog", "snow"} {
			c.Curves.Corrupted = append(c.Curves.Corrupted, result.Corrupt{Name: kind, Level: level, Changed: result.Changed{NLL: result.Number(i), ECE: 0.1}})
		}
	}
	for range 20 {
		charts, err := corruptions([]*result.Cell{c, cell("a", "B", 0, nil)})
		if err != nil || titles(charts) != "NLL|ECE" || !charts[0].Wide {
			t.Fatalf("charts %q, error %v", titles(charts), err)
		}
	}
	if charts, err := corruptions([]*result.Cell{cell("a", "B", 0, nil)}); charts != nil || err != nil {
		t.Errorf("charts %q, error %v", titles(charts), err)
	}
	for i := range c.Curves.Corrupted {
		c.Curves.Corrupted[i].NLL = result.Number(math.Inf(1))
	}
	if charts, err := corruptions([]*result.Cell{c}); err != nil || titles(charts) != "ECE" {
		t.Errorf("charts %q of infinite NLL, error %v", titles(charts), err)
	}
	c.Curves.Corrupted[1].NLL = 3
	if charts, err := corruptions([]*result.Cell{c}); err != nil || titles(charts) != "NLL|ECE" {
		t.Errorf("charts %q of one finite NLL, error %v", titles(charts), err)
	}
}

func TestTimes(t *testing.T) {
	read, a, b := cell("a", "MAP", 0, nil), cell("a", "A", 0, nil), cell("a", "B", 0, nil)
	a.Fit, b.Fit = result.Cost{CPU: 3, Runs: 1}, result.Cost{Runs: 1}
	if charts, err := times(found([]*result.Cell{read, a}), "a"); charts != nil || err != nil {
		t.Errorf("weights from a file took time, or one method is compared: %q, error %v", titles(charts), err)
	}
	if charts, err := times(found([]*result.Cell{read, a, b}), "a"); titles(charts) != "seconds to fit" || err != nil {
		t.Errorf("charts %q, error %v", titles(charts), err)
	}
}

// figures has those pictures of which there are data, in a fixed order.
func TestFigures(t *testing.T) {
	a, b := cell("a", "A", 0, nil), cell("a", "B", 0, nil)
	a.Fit, b.Fit = result.Cost{CPU: 3, Runs: 1}, result.Cost{CPU: 4, Runs: 1}
	a.Curves.Coverage = []float64{0.5}
	list, err := figures(found([]*result.Cell{a, b}), "a")
	if err != nil || len(list) != 2 || list[0].Name != "coverage" || list[1].Name != "time" || list[0].Caption == "" {
		t.Errorf("figures %+v, error %v", list, err)
	}
	a.Curves.Band = &result.Band{Grid: []float64{0, 1}}
	if _, err := figures(found([]*result.Cell{a}), "a"); err == nil {
		t.Error("a damaged band is no error")
	}
}
