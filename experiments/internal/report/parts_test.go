package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
)

// A range of numbers of seeds has the smallest and the largest number, in any order.
func TestSpanProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 6).Draw(t, "seeds")
		got := span(list)
		slices.Sort(list)
		want := strconv.Itoa(list[0])
		if last := list[len(list)-1]; last != list[0] {
			want += "–" + strconv.Itoa(last)
		}
		if got != want {
			t.Fatalf("%v are %q, expected %q", list, got, want)
		}
	})
}

// The mean lies between the numbers, and the standard deviation follows the formula with pairs:
// the squares of all differences over 2n(n − 1). Neither depends on the order.
func TestMomentsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-100, 100), 2, 9).Draw(t, "sample")
		mean, std := moments(v)
		pairs, n := 0.0, float64(len(v))
		for _, a := range v {
			for _, b := range v {
				pairs += (a - b) * (a - b) / (2 * n * (n - 1))
			}
		}
		if mean < slices.Min(v)-1e-9 || mean > slices.Max(v)+1e-9 || math.Abs(std-math.Sqrt(pairs)) > 1e-9 {
			t.Fatalf("mean %v and deviation %v, expected the deviation %v", mean, std, math.Sqrt(pairs))
		}
		slices.Sort(v)
		if m, s := moments(v); math.Abs(m-mean) > 1e-9 || math.Abs(s-std) > 1e-9 {
			t.Fatalf("mean %v and deviation %v of the sorted sample, before %v and %v", m, s, mean, std)
		}
	})
}

// The largest number is marked where larger is better, the smallest where smaller is, with all that
// are equal to it, and there are never more marks than ranks.
func TestMarkProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(0, 5), 2, 8).Draw(t, "numbers")
		sign := rapid.SampledFrom([]float64{-1, 1}).Draw(t, "sign")
		var table Table
		for _, v := range list {
			table.Rows = append(table.Rows, Row{Cells: []Cell{{Text: strconv.Itoa(v)}}})
		}
		table.mark(0, sign)
		best := slices.Max(list)
		if sign < 0 {
			best = slices.Min(list)
		}
		marked := map[Mark]map[int]bool{Plain: {}, Best: {}, Second: {}}
		for i, v := range list {
			marked[table.Rows[i].Cells[0].Mark][v] = true
		}
		for v := range marked[Best] {
			if v != best {
				t.Fatalf("%d is marked as the best of %v", v, list)
			}
		}
		if len(marked[Best]) > 1 || len(marked[Second]) > 1 || len(marked[Second]) > len(marked[Best]) {
			t.Fatalf("marks %v of %v", marked, list)
		}
		for v := range marked[Plain] {
			if marked[Best][v] || marked[Second][v] {
				t.Fatalf("%d has two marks in %v", v, list)
			}
		}
	})
}

// A number is read back from its text within half a unit of its last decimal.
func TestFormatProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, digits := rapid.Float64Range(-1e5, 1e5).Draw(t, "number"), rapid.IntRange(0, 6).Draw(t, "decimals")
		text := format(v, digits)
		back, err := strconv.ParseFloat(text, 64)
		shown := digits
		if math.Abs(v) >= 1000 {
			shown = min(digits, 1)
		}
		if err != nil || math.Abs(back-v) > 0.5000001*math.Pow(10, -float64(shown)) {
			t.Fatalf("%v with %d decimals is %q", v, digits, text)
		}
	})
}

// Names that differ in the number at their end alone are in the order of the numbers, and the order
// is one: of two names at most one comes first.
func TestBySizeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(1, 2000).Draw(t, "a"), rapid.IntRange(1, 2000).Draw(t, "b")
		x, y := fmt.Sprint("cifar10-resnet", a), fmt.Sprint("cifar10-resnet", b)
		if got := bySize(x, y); got < 0 != (a < b) || got > 0 != (a > b) || bySize(y, x) != -got {
			t.Fatalf("%s and %s: %d and %d", x, y, got, bySize(y, x))
		}
		if bySize(x, fmt.Sprint("mnist", b)) != 0 {
			t.Fatal("names of two kinds have an order")
		}
	})
}

// A list with other values has each once, the first ones first.
func TestUnionProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string) []string { return rapid.SliceOf(rapid.StringMatching("[a-d]")).Draw(t, what) }
		first, more := result.Union(nil, draw("first")...), draw("more")
		got := result.Union(slices.Clone(first), more...)
		if !slices.Equal(got[:len(first)], first) {
			t.Fatalf("%q, expected %q at the beginning", got, first)
		}
		sorted := slices.Clone(got)
		slices.Sort(sorted)
		if len(slices.Compact(sorted)) != len(got) {
			t.Fatalf("%q has a value twice", got)
		}
		for _, v := range more {
			if !slices.Contains(got, v) {
				t.Fatalf("%q lacks %q", got, v)
			}
		}
	})
}

// A part of a file's name has lower-case letters, digits and single hyphens, and is the same again.
func TestSlugProperty(t *testing.T) {
	good := regexp.MustCompile(`^([a-z0-9]+(-[a-z0-9]+)*)?$`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		got := result.Slug(text)
		if !good.MatchString(got) || result.Slug(got) != got {
			t.Fatalf("%q is %q, and %q again", text, got, result.Slug(got))
		}
	})
}

// A table of text has a head, a rule and a line for each row, with as many columns each.
func TestPlainTable(t *testing.T) {
	got := plainTable([]string{"a", "b"}, [][]string{{"1", "2"}, {"3", "4"}})
	if want := "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := plainTable([]string{"a"}, nil); got != "| a |\n| --- |\n" {
		t.Errorf("a table without rows: %q", got)
	}
	if got := wordTable([]Word{{"p|q", "x|y"}}); !strings.Contains(got, `x\|y`) {
		t.Errorf("a bar ends a column: %q", got)
	}
}

// Cells without points have no curve, and without a curve there is no chart.
func TestSeriesOf(t *testing.T) {
	cells := []*result.Cell{cell("a", "MAP", 0, nil), cell("a", "LLA", 0, nil), cell("a", "ELLA", 0, nil)}
	cells[1].Curves.Reliable = []result.XY{{X: 1, Y: 2}, {X: 3, Y: 4}}
	points := func(c *result.Cell) []result.XY { return c.Curves.Reliable }
	got := seriesOf(cells, points)
	if len(got) != 1 || got[0].Name != "LLA" || !slices.Equal(got[0].X, []float64{1, 3}) || !slices.Equal(got[0].Y, []float64{2, 4}) {
		t.Errorf("curves %+v", got)
	}
	if charts := chart(figure.Axes{Title: "t"}, got); len(charts) != 1 || charts[0].Title != "t" {
		t.Errorf("charts %+v", charts)
	}
	if charts := chart(figure.Axes{}, seriesOf(cells[:1], points)); charts != nil {
		t.Errorf("charts %+v of nothing", charts)
	}
}

// extremes looks for the smallest and the largest finite value, and returns none of a single
// value. A caption says nothing where all values are equal.
func TestExtremes(t *testing.T) {
	var cells []*result.Cell
	values := map[*result.Cell]float64{}
	for _, v := range []float64{3, math.NaN(), 1, math.Inf(1), 2} {
		c := cell("a", fmt.Sprint("row ", v), 0, nil)
		cells, values[c] = append(cells, c), v
	}
	value := func(c *result.Cell) float64 { return values[c] }
	low, high := extremes(cells, value)
	if low == nil || low.Row != "row 1" || high.Row != "row 3" {
		t.Fatalf("extremes %+v and %+v", low, high)
	}
	if len(cells) != 5 {
		t.Error("cells are lost")
	}
	if low, high = extremes(cells[:2], value); low != nil || high != nil {
		t.Errorf("extremes %+v and %+v of one value", low, high)
	}
	if got := see("Caption.", "Mean", cells, value); got != "Caption. Mean: smallest with row 1 (1.000), largest with row 3 (3.000)." {
		t.Errorf("caption %q", got)
	}
	if got := see("Caption.", "Mean", cells, func(*result.Cell) float64 { return 5 }); got != "Caption." {
		t.Errorf("caption %q of equal values", got)
	}
}

// A deviation is worth a word beyond three standard deviations of several seeds, beyond a limit of
// one seed, and never within the rounding of published numbers.
func TestFar(t *testing.T) {
	for _, c := range []struct {
		metric    string
		measured  []float64
		published float64
		want      bool
	}{
		{"NLL", []float64{1.01}, 1, false}, {"NLL", []float64{1.011}, 1, true}, {"NLL", []float64{-10.09}, -10, false}, {"NLL", []float64{-10.11}, -10, true},
		{"ECE", []float64{0.013}, 0.01, false}, {"ECE", []float64{0.0131}, 0.01, true},
		{"CQM", []float64{0.1, 0.2, 0.3}, 0.5, false}, {"CQM", []float64{0.1, 0.2, 0.3}, 0.51, true}, // 3·0.1 from 0.2
		{"NLL", []float64{0.3, 0.3}, 0.3005, false}, {"NLL", []float64{0.3, 0.3}, 0.3006, true},
		{"RMSE", []float64{2}, 2.0005, false}, {"RMSE", []float64{2}, 2.0006, true}, // without a limit of its own
	} {
		if got := far(c.metric, c.measured, c.published); got != c.want {
			t.Errorf("%s %v, published %v: %t", c.metric, c.measured, c.published, got)
		}
	}
}

// A cause fits a deviation if each of its lists is empty or has the deviation's value.
func TestCauseFits(t *testing.T) {
	d := deviation{data: "mnist", place: place{"LLA", "mc"}, metric: "NLL"}
	for _, c := range []struct {
		cause cause
		want  bool
	}{
		{cause{}, true}, {cause{Data: []string{"mnist"}}, true}, {cause{Data: []string{"year"}}, false},
		{cause{Methods: []string{"MAP", "LLA"}}, true}, {cause{Methods: []string{"MAP"}}, false}, {cause{Probs: []string{"probit"}}, false},
		{cause{Metrics: []string{"NLL"}, Probs: []string{"mc"}}, true}, {cause{Metrics: []string{"ECE"}, Data: []string{"mnist"}}, false},
	} {
		if got := c.cause.fits(d); got != c.want {
			t.Errorf("%+v: %t", c.cause, got)
		}
	}
}

// Neighbouring columns of one metric share a head, and those that another metric parts do not.
func TestGroups(t *testing.T) {
	columns := []Column{{Metric: "NLL", Source: printed}, {Metric: "NLL", Source: here}, {Metric: "ECE", Source: here}, {Metric: "NLL", Source: runs}}
	var got []string
	for _, g := range groups(columns) {
		got = append(got, fmt.Sprint(g.Metric, len(g.Columns)))
	}
	if strings.Join(got, " ") != "NLL2 ECE1 NLL1" || groups(nil) != nil {
		t.Errorf("groups %q", got)
	}
	if oneSource(columns) || !oneSource(columns[1:3]) || !oneSource(nil) {
		t.Error("other sources")
	}
}

// A report counts the cells of each machine, one cell in the singular.
func TestMachines(t *testing.T) {
	r := &Report{}
	a, b := cell("a", "MAP", 0, nil), cell("a", "LLA", 0, nil)
	a.Machine, b.Machine = result.Machine{Program: "v1", CPU: "chip", Cores: 1, Memory: "m"}, result.Machine{Program: "v1", CPU: "chip", Cores: 2, Memory: "m"}
	for _, c := range []*result.Cell{a, b, b} {
		r.machine(c)
	}
	if len(r.Machines) != 2 || len(r.Memory) != 1 {
		t.Fatalf("machines %v, memory %q", r.Machines, r.Memory)
	}
	if got := r.Machines[0].String(); !strings.HasSuffix(got, "chip, 1 core in use: 1 cell.") {
		t.Errorf("machine %q", got)
	}
	if got := r.Machines[1].String(); !strings.HasSuffix(got, "chip, 2 cores in use: 2 cells.") {
		t.Errorf("machine %q", got)
	}
}
