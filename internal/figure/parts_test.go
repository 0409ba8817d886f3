package figure

import (
	"bytes"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// The panels have the range of the data with room above and below, whatever the bands are.
func TestLimits(t *testing.T) {
	f := bands()
	f.Y, f.HeldY = []float64{0, 4}, []float64{-6}
	if low, high := f.limits(); low != -12 || high != 10 {
		t.Errorf("from %v to %v, expected six tenths of 10 around -6 to 4", low, high)
	}
	f.Panels[0].Curve.Std = []float64{1000, 1000, 1000}
	charts, err := f.Charts()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range charts {
		if p := c.plot; p.Y.Min != -12 || p.Y.Max != 10 || p.X.Min != -1 || p.X.Max != 1 {
			t.Errorf("%s: axes from %v to %v and from %v to %v", c.Title, p.X.Min, p.X.Max, p.Y.Min, p.Y.Max)
		}
	}
}

// The band is a closed outline of mean ± 2σ.
func TestOutline(t *testing.T) {
	f := Bands{Grid: []float64{0, 1}}
	c := Curve{Mean: []float64{10, 20}, Std: []float64{1, 2}}
	if got := f.offset(c, -1.5); got[0] != (plotter.XY{X: 0, Y: 8.5}) || got[1] != (plotter.XY{X: 1, Y: 17}) {
		t.Errorf("offset %v", got)
	}
	want := plotter.XYs{{X: 0, Y: 12}, {X: 1, Y: 24}, {X: 1, Y: 16}, {X: 0, Y: 8}}
	if got := f.outline(c); !slices.Equal(got, want) {
		t.Errorf("outline %v, expected %v", got, want)
	}
}

// A legend names what a panel has, and nothing else.
func TestPanelLegends(t *testing.T) {
	f := bands()
	f.HeldX, f.HeldY = nil, nil
	f.Panels[0].Before, f.Panels[0].After = []float64{0}, []float64{0.5}
	charts, err := f.Charts()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"±2σ mean data Z before the fit Z after the fit", "±2σ mean ±2σ of LLA data Z after the fit"} {
		var names []string
		for _, k := range charts[i].Keys {
			names = append(names, k.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("legend %q, expected %q", got, want)
		}
	}
	if !strings.Contains(charts[1].Alt, "band of LLA dashed") || strings.Contains(charts[0].Alt, "dashed") {
		t.Errorf("descriptions %q and %q", charts[0].Alt, charts[1].Alt)
	}
}

// A band that is not finite is an error that names its panel.
func TestBandErrors(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		f := bands()
		f.Panels[1].Curve = Curve{Mean: []float64{0, bad, 0}, Std: []float64{1, 1, 1}}
		if _, err := f.Charts(); err == nil || !strings.HasPrefix(err.Error(), "figure: d: ") {
			t.Errorf("error %v", err)
		}
	}
}

func TestPoints(t *testing.T) {
	x := []float64{0, 1, math.NaN(), 3, math.Inf(-1), 5}
	y := []float64{9, math.Inf(1), 7, math.NaN(), 5, 4}
	if got := points(x, y); !slices.Equal(got, plotter.XYs{{X: 0, Y: 9}, {X: 5, Y: 4}}) {
		t.Errorf("points %v", got)
	}
	if got := points(nil, nil); got != nil {
		t.Errorf("points %v of none", got)
	}
}

// Curves are described in words, and those that share a colour differ in their line.
func TestCurves(t *testing.T) {
	var series []Series
	for i := range 2*len(palette) + 1 {
		series = append(series, Series{Name: string(rune('a' + i)), X: []float64{0, 1}, Y: []float64{0, float64(i)}})
	}
	c := Curves(Axes{Title: "t", X: "steps", Y: "NLL"}, series)
	for i, mark := range []string{"line", "dashed", "dotted"} {
		if k := c.Keys[i*len(palette)]; k.Color != c.Keys[0].Color || k.Mark != mark {
			t.Errorf("curve %d: %+v", i*len(palette), k)
		}
	}
	if want := "t: NLL against steps of a, b, c"; !strings.HasPrefix(c.Alt, want) {
		t.Errorf("description %q, expected %q", c.Alt, want)
	}
	c = Curves(Axes{Title: "t"}, []Series{series[0], {Name: "b", X: []float64{2, 3}, Y: []float64{0, 1}, More: true}, series[1]})
	if len(c.Keys) != 2 || c.Keys[1].Name != "b" || c.Keys[1].Color == c.Keys[0].Color {
		t.Errorf("legend %+v of a series in two pieces", c.Keys)
	}
	if c := Curves(Axes{Title: "t", X: "x", Y: "y"}, []Series{{Name: "none"}}); c.Keys != nil || c.Alt != "t: y against x of " {
		t.Errorf("legend %v and description %q of no points", c.Keys, c.Alt)
	}
}

func TestHistogram(t *testing.T) {
	s := Histogram("h", []float64{0.5, 0, 1.5}, 3)
	if !slices.Equal(s.X, []float64{0, 1, 1, 2, 2, 3}) || !slices.Equal(s.Y, []float64{0.5, 0.5, 0, 0, 1.5, 1.5}) || s.Name != "h" {
		t.Errorf("outline %+v", s)
	}
	if s := Histogram("h", nil, 3); s.X != nil {
		t.Errorf("outline %+v of no bins", s)
	}
}

// Boxes start at 0, so that lengths can be compared, and name their groups.
func TestBoxes(t *testing.T) {
	c, err := Boxes(Axes{Title: "time", Y: "seconds"}, []Group{{"m", []float64{5, 6, 7}}, {"n", []float64{9}}})
	if err != nil || c.plot.Y.Min != 0 || c.plot.Y.Max < 9 || !strings.Contains(c.Alt, `["m" "n"]`) {
		t.Errorf("%q from %v to %v, error %v", c.Alt, c.plot.Y.Min, c.plot.Y.Max, err)
	}
	if c, err = Boxes(Axes{Title: "NLL", Y: "NLL"}, []Group{{"m", []float64{-3, -2}}}); err != nil || c.plot.Y.Min > -3 {
		t.Errorf("from %v, error %v", c.plot.Y.Min, err)
	}
	for _, v := range [][]float64{nil, {math.NaN()}, {1, math.Inf(1)}} {
		if _, err := Boxes(Axes{Title: "t", Y: "s"}, []Group{{"bad", v}}); err == nil || !strings.HasPrefix(err.Error(), "figure: t: bad: ") {
			t.Errorf("%v: error %v", v, err)
		}
	}
}

// Legends have colours as pages have them; black becomes the colour of the text.
func TestKeys(t *testing.T) {
	var c Chart
	c.plot = newPlot("t", "x", "y")
	l := line(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, black, "line")
	c.add(l, "black", "line", color.Black)
	c.add(l, "half", "area", color.NRGBA{R: 10, G: 20, B: 30, A: 51})
	c.add(l, "", "", nil)
	want := []Key{{"black", "line", "currentColor"}, {"half", "area", "rgba(10,20,30,0.20)"}}
	if !slices.Equal(c.Keys, want) {
		t.Errorf("legend %+v, expected %+v", c.Keys, want)
	}
}

func TestEscape(t *testing.T) {
	if got := escaper.Replace(`<a & "b"> $1 σ₀`); got != "&lt;a &amp; &quot;b&quot;> $$1 σ₀" {
		t.Errorf("escaped %s", got)
	}
}

// A wide chart has twice the width, and numbers have two decimals at most.
func TestSVGSize(t *testing.T) {
	c, err := Boxes(Axes{Title: "time", Y: "seconds"}, []Group{{"m", []float64{1, 2, 3.3333333}}})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	c.Wide = true
	wide, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	box := func(svg []byte) string {
		_, rest, _ := bytes.Cut(svg, []byte(`viewBox="`))
		size, _, _ := bytes.Cut(rest, []byte(`"`))
		return string(size)
	}
	if box(narrow) == box(wide) || box(narrow) == "" {
		t.Errorf("sizes %q and %q", box(narrow), box(wide))
	}
	if m := regexp.MustCompile(`"[^"<>]*\d\.\d{3}`).Find(narrow); m != nil {
		t.Errorf("the attribute %s has more digits than a screen", m)
	}
	again, err := c.SVG()
	if err != nil || !bytes.Equal(again, wide) {
		t.Error("the picture differs from one time to the next")
	}
}

// The labels of a narrow range keep all of their digits.
func TestSVGLabels(t *testing.T) {
	svg, err := Curves(Axes{Title: "t"}, []Series{{Name: "s", X: []float64{0, 1}, Y: []float64{0.3235, 0.3315}}}).SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, tick := range (ticks{}).Ticks(0.3235, 0.3315) {
		if tick.Label != "" && !bytes.Contains(svg, []byte(">"+tick.Label+"<")) {
			t.Errorf("no label %q", tick.Label)
		}
	}
}

// A file has at most three charts side by side, and a wide one has a row of its own. Its
// legend stands above the charts, each entry once.
func TestFileLayout(t *testing.T) {
	narrow, wide := bands(), Chart{Wide: true}
	charts, err := narrow.Charts()
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, r := range rows([]Chart{charts[0], charts[0], charts[0], charts[0], wide, wide, charts[1]}) {
		got = append(got, len(r))
	}
	if !slices.Equal(got, []int{3, 1, 1, 1, 1}) {
		t.Errorf("rows of %v charts", got)
	}
	s := newStrip(charts, width)
	if len(s.entries) != len(Keys(charts)) || len(s.entries) != 6 || s.height() == 0 || newStrip(nil, width).height() != 0 {
		t.Errorf("%d entries in %d columns, %v high", len(s.entries), s.columns, s.height())
	}
	for _, w := range []vg.Length{1, width, 100 * width} {
		s := newStrip(charts, w)
		if s.columns > 1 && vg.Length(s.columns)*s.column > w || s.columns < 1 {
			t.Errorf("%d columns of %v in %v", s.columns, s.column, w)
		}
	}
}

// A logarithmic axis reaches over powers of ten, also around a single value, and refuses others
// than positive ones.
func TestLogBoxes(t *testing.T) {
	for want, v := range map[[2]float64][]float64{{0.01, 100}: {0.02, 50}, {1, 10}: {1}} {
		c, err := Boxes(Axes{Title: "t", Y: "s", Log: true}, []Group{{"m", v}})
		if err != nil || c.plot.Y.Min != want[0] || c.plot.Y.Max != want[1] {
			t.Errorf("%v: from %v to %v, error %v", v, c.plot.Y.Min, c.plot.Y.Max, err)
		}
		if _, err := c.SVG(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Boxes(Axes{Title: "t", Log: true}, []Group{{"bad", []float64{0, 1}}}); err == nil || !strings.HasPrefix(err.Error(), "figure: t: bad: expected positive") {
		t.Errorf("error %v", err)
	}
}

// Curves over powers of ten leave out what has no logarithm, and are cut at the top where one is set.
func TestLogCurves(t *testing.T) {
	s := []Series{{Name: "s", X: []float64{0, 3, 200}, Y: []float64{9, 5, 1}}, {Name: "none", X: []float64{-1}, Y: []float64{1}}}
	c := Curves(Axes{Title: "t", LogX: true, Top: 2}, s)
	if got := [4]float64{c.plot.X.Min, c.plot.X.Max, c.plot.Y.Min, c.plot.Y.Max}; got != [4]float64{1, 1000, 1, 2} {
		t.Errorf("axes %v", got)
	}
	if _, err := c.SVG(); err != nil || len(c.Keys) != 1 {
		t.Errorf("%d keys, error %v", len(c.Keys), err)
	}
	if c := Curves(Axes{Title: "t", Top: 20}, s); c.plot.Y.Max != 9 || c.plot.X.Min != -1 {
		t.Errorf("from %v up to %v, expected all", c.plot.X.Min, c.plot.Y.Max)
	}
	if _, err := Curves(Axes{Title: "t", LogX: true, Top: 1}, s[1:]).SVG(); err != nil {
		t.Errorf("nothing to draw: %v", err)
	}
}

// A chart of many boxes is wide, and boxes are not wider than their places.
func TestManyBoxes(t *testing.T) {
	for n, want := range map[int]bool{3: false, narrowBoxes: false, 40: true} {
		c, err := Boxes(Axes{Title: "t", Y: "s"}, slices.Repeat([]Group{{"m", []float64{1, 2}}}, n))
		if err != nil || c.Wide != want {
			t.Errorf("%d boxes: wide is %v, error %v", n, c.Wide, err)
		}
	}
}

// The boxes of a series have one colour at all levels, which the legend names once.
func TestLevelBoxes(t *testing.T) {
	a, b := Group{"a", []float64{1, 2, 3}}, Group{"b", []float64{2, 4}}
	c, err := LevelBoxes(Axes{Title: "t", X: "level", Y: "score"}, []Level{{"1", []Group{a, b}}, {"2", []Group{b}}})
	if err != nil || len(c.Keys) != 2 || c.Keys[0].Name != "a" || c.Keys[0].Color == c.Keys[1].Color || !c.Wide || !strings.Contains(c.Alt, `["1" "2"]`) {
		t.Errorf("legend %v, alt %q, error %v", c.Keys, c.Alt, err)
	}
	if svg, err := c.SVG(); err != nil || !strings.Contains(string(svg), "<path") {
		t.Errorf("error %v", err)
	}
	if err := SavePNG(filepath.Join(t.TempDir(), "p.png"), c); err != nil {
		t.Error(err)
	}
	if _, err := LevelBoxes(Axes{}, []Level{{"1", []Group{{"a", nil}}}}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("an empty group: error %v", err)
	}
}

// A file that cannot be written is an error of one line that names the picture.
func TestSaveErrors(t *testing.T) {
	charts, err := bands().Charts()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err = Save(filepath.Join(dir, "none", "p"), charts...)
	if err == nil || !strings.HasPrefix(err.Error(), "figure: p.png: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files %v are left", left)
	}
}

func TestRepeated(t *testing.T) {
	for want, labels := range map[bool][]string{false: {"1", "", "2", ""}, true: {"1", "", "1"}} {
		var all []plot.Tick
		for _, l := range labels {
			all = append(all, plot.Tick{Label: l})
		}
		if got := repeated(all); got != want {
			t.Errorf("%q: %v", labels, got)
		}
	}
}

// A cloud has finite points, and lines above them.
func TestCloud(t *testing.T) {
	a := Axes{Title: "t", X: "std", Y: "error", Zero: true}
	c := Cloud(a, Series{Name: "rows", X: []float64{1, 2, math.NaN()}, Y: []float64{3, 4, 5}}, []Series{{Name: "σ", X: []float64{1, 2}, Y: []float64{1, 2}}})
	if len(c.Keys) != 2 || c.Keys[0].Mark != "dot" || c.plot.Y.Min != 0 || c.Alt != "t: error against std of rows, σ" {
		t.Errorf("%+v", c)
	}
	svg, err := c.SVG()
	if err != nil {
		t.Fatal(err)
	}
	parse(t, "cloud", svg)
	for mark := range shapes {
		if (Key{Mark: mark}).Shape() == "" {
			t.Errorf("no shape of %s", mark)
		}
	}
}
