package assess

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
)

// regression returns a candidate with n rows of two targets, whose means are 0 and 10. The standard deviation of
// row i is i+1, and its residuals are off times that deviation.
func regression(name string, n int, off float64) candidate {
	p := &valla.Prediction{Targets: []string{"u", "v"}}
	var y []float64
	for i := range n {
		std := float64(i + 1)
		p.Mean, p.Variance, p.Latent = append(p.Mean, 0, 10), append(p.Variance, std*std, std*std), append(p.Latent, 0, 0)
		y = append(y, off*std, 10-off*std)
	}
	return candidate{Name: name, p: p, y: y}
}

// classification returns a candidate with c classes. Each row has a class and an answer, whose probability is sure.
func classification(c int, sure float64, rows ...[2]int) candidate {
	p := &valla.Prediction{Targets: []string{"k"}}
	for k := range c {
		p.Classes = append(p.Classes, float64(10*k))
	}
	out := candidate{Name: "M", p: p}
	for _, r := range rows {
		probs := slices.Repeat([]float64{(1 - sure) / float64(c-1)}, c)
		probs[r[1]] = sure
		p.Probs, out.y = append(p.Probs, probs...), append(out.y, p.Classes[r[0]])
	}
	return out
}

// texts returns the texts of the cells of a table.
func texts(t Table) (out [][]string) {
	for _, r := range t.Rows {
		var row []string
		for _, c := range r {
			row = append(row, c.Text)
		}
		out = append(out, row)
	}
	return out
}

// TestOrder: the indices of a list in ascending and descending order are all its indices, and equal numbers keep
// their order.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-2, 2), 0, 30).Draw(t, "numbers")
		for i := range v {
			v[i] = math.Round(v[i]) // many are equal
		}
		for sign, order := range map[float64][]int{1: sorted(v, 1), -1: sorted(v, -1)} {
			if all := slices.Sorted(slices.Values(order)); len(order) != len(v) || len(slices.Compact(all)) != len(v) {
				t.Fatalf("order %v of %v", order, v)
			}
			for k := 1; k < len(order); k++ {
				a, b := order[k-1], order[k]
				if d := sign * (v[b] - v[a]); d < 0 || d == 0 && b < a {
					t.Fatalf("order %v of %v", order, v)
				}
			}
		}
		if top := largest(v); len(top) != min(worst, len(v)) || !slices.Equal(top, sorted(v, -1)[:len(top)]) {
			t.Fatalf("the largest of %v are %v", v, top)
		}
	})
}

// TestOneTarget: the numbers of a target are its own, and the share inside the intervals follows from the size of
// the residuals alone.
func TestOneTarget(t *testing.T) {
	c := regression("M", 5, 1.5)
	mean, std, y := c.one(1)
	if !slices.Equal(mean, []float64{10, 10, 10, 10, 10}) || !slices.Equal(std, []float64{1, 2, 3, 4, 5}) || y[4] != 10-7.5 {
		t.Errorf("target v: means %v, deviations %v, values %v", mean, std, y)
	}
	for level, want := range map[float64]float64{0.8: 0, 0.86: 0, 0.87: 1, 0.95: 1} { // 86.6 % lie within 1.5 deviations
		for target := range 2 {
			if got := c.inside(target, level); got != want {
				t.Errorf("target %d: a share %g inside intervals of %g, want %g", target, got, level, want)
			}
		}
	}
}

// TestBinned: where residuals are the same multiple of the deviations, the curve is a straight line with this
// slope. Its first point belongs to the rows with the smallest deviations.
func TestBinned(t *testing.T) {
	for _, n := range []int{50, 64, 1000} {
		mean, std, y := regression("M", n, 0.5).one(0)
		line := binned(mean, std, y)
		if len(line.X) > groups || len(line.X) < groups-3 || !slices.IsSorted(line.X) {
			t.Errorf("%d rows: %d groups at %v", n, len(line.X), line.X)
		}
		for i := range line.X {
			if math.Abs(line.Y[i]-0.5*line.X[i]) > 1e-12*line.X[i] {
				t.Errorf("%d rows: residuals %g at deviations %g", n, line.Y[i], line.X[i])
			}
		}
		first := 0.0
		size := (n + groups - 1) / groups
		for i := range size {
			first += float64((i+1)*(i+1)) / float64(size)
		}
		if math.Abs(line.X[0]-math.Sqrt(first)) > 1e-9 {
			t.Errorf("%d rows: the first group is at %g, want %g", n, line.X[0], math.Sqrt(first))
		}
	}
}

// TestTablesOfNumbers: the tables of a target have a column or a row for each candidate, and its numbers.
func TestTablesOfNumbers(t *testing.T) {
	good, bad := regression("good", 4, 1), regression("bad", 4, 3)
	s := subject{set: &data.Set{}, all: []candidate{good, bad}, is: bad, level: 0.95}
	levels := s.levels(1)
	score := 2*1.959963984540054*2.5 + 40*(3-1.959963984540054)*2.5 // mean width, and 2/(1 − level) times the mean distance of targets outside
	if want := []string{"95 %", "100.0", "0.0", "0.0", "60.2", number(score)}; !slices.Equal(texts(levels)[3], want) || !slices.Equal(levels.Head, []string{"interval", "good", "bad", "from", "to", "interval score"}) {
		t.Errorf("levels %v of %v, want %v", texts(levels), levels.Head, want)
	}
	sizes := texts(s.sizes(0))
	if want := []string{"good", "1.000", "3.000", "2.739", "4.000", number(2 * 1.959963984540054 * 2.5)}; !slices.Equal(sizes[0], want) {
		t.Errorf("sizes %v, want %v", sizes[0], want)
	}
	if got := texts(s.worstNumbers(1)); len(got) != 4 || !slices.Equal(got[3], []string{"4", "-2", "10", "4.000", "-3.00"}) {
		t.Errorf("surprises %v", got)
	}
	if one, many := sampled(maxDots), sampled(maxDots+1); one != "" || !strings.Contains(many, fmt.Sprint(maxDots+1)) {
		t.Errorf("remarks %q and %q", one, many)
	}
}

// TestConfusions: the table counts rows by class and answer, and shades shares of a class. The list of pairs has
// the wrong answers alone, the most frequent first.
func TestConfusions(t *testing.T) {
	c := classification(3, 0.6, [2]int{0, 0}, [2]int{0, 0}, [2]int{0, 2}, [2]int{1, 2}, [2]int{1, 2}, [2]int{2, 2})
	s := subject{set: &data.Set{}, all: []candidate{c}, is: c, nlls: []float64{0.5, 0.5, 1.6, 1.6, 1.7, 0.5}}
	table := s.confusions()
	if got, want := texts(table), [][]string{{"0", "2", "0", "1"}, {"10", "0", "0", "2"}, {"20", "0", "0", "1"}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("confusions %v, want %v", got, want)
	}
	if shade := table.Rows[0][1].Shade; shade != 2.0/3 {
		t.Errorf("shade %g, want two thirds", shade)
	}
	if got, want := texts(s.pairs([]int{2, 0, 1, 0, 0, 2, 0, 0, 1})), [][]string{{"10", "20", "2"}, {"0", "20", "1"}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("pairs %v, want %v", got, want)
	}
	if got, want := texts(s.worstClasses())[0], []string{"5", "10", number(math.Exp(-1.7)), "20", "0.6000"}; !slices.Equal(got, want) {
		t.Errorf("the first surprise is %v, want %v", got, want)
	}
	top, right := c.confidence()
	if !slices.Equal(top, slices.Repeat([]float64{0.6}, 6)) || !slices.Equal(right, []bool{true, true, false, false, false, true}) {
		t.Errorf("confidences %v, right %v", top, right)
	}
}

// TestScoresMark: the best number of a column is marked, the largest accuracy and else the smallest. Numbers that
// are shown alike are marked alike, and no number of a column of equal numbers is.
func TestScoresMark(t *testing.T) {
	var list []candidate
	for _, v := range [][3]float64{{0.30001, 0.9, 1}, {0.30002, 0.8, 1}, {0.5, 0.9, 1}} {
		c := candidate{Name: fmt.Sprint("M", len(list))}
		for k, name := range []string{"NLL", "ACC", "ECE"} {
			c.scores.List = append(c.scores.List, task.Score{Name: name, Value: v[k], Larger: name == "ACC"})
		}
		list = append(list, c)
	}
	table := scores(list)
	for i, want := range [][]bool{{false, true, true, false}, {false, true, false, false}, {false, false, true, false}} {
		for k, cell := range table.Rows[i] {
			if cell.Best != want[k] {
				t.Errorf("%s of %s: best is %t", table.Head[k], table.Rows[i][0].Text, cell.Best)
			}
		}
	}
}
