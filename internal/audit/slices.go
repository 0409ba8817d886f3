package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/dense"
)

// Slice is a part of the rows, those whose columns lie in ranges.
type Slice struct {
	Name    string   // ranges of its columns, such as "age > 40 and sex = 1"
	Columns []string // names of the columns
	Rows    int      // number of rows
	Inside  Measure  // share of the targets inside their intervals, with bounds that hold for all slices together
	Gain    float64  // log-likelihood ratio of the slice having a coverage of its own

	has func(i int) bool // whether row i belongs to the slice
}

const (
	leastSlice = 200  // least number of rows of a slice
	tooFew     = 0.05 // coverage that a slice must miss to be a finding
	chance     = 0.01 // probability that any slice of a right model is a finding
	doubt      = 0.05 // probability that the bounds of any slice fail
	simpler    = 0.8  // share of the gain of two columns with which one column is a better description
	mostFound  = 4    // most slices that are findings
	mostPaired = 30   // most columns of which pairs are compared
)

// axis divides the rows by a column.
type axis struct {
	name  string
	edges []float64 // largest values of all bins but the last
	bin   []uint8   // bin of each row [N]
	few   []float64 // the values, if there are few
	value ValueText // writes values
}

// slices compares slices of all rows, writes them to out, and returns which rows are in no slice that is a finding [N].
func (r *Rows) slices(out *Result) (rest []bool) {
	rest = make([]bool, r.N())
	for i := range rest {
		rest[i] = true
	}
	out.Worst = Measure{math.NaN(), 0, 1}
	if r.N() < 2*leastSlice {
		return rest
	}
	fine, coarse := r.axes(10), r.axes(5)
	for round := range mostFound {
		all := r.compare(fine, coarse, rest)
		if round == 0 {
			out.Compared = len(all)
			out.Worst, out.WorstName = worst(all)
			out.Slices = slices.Clone(all[:min(10, len(all))])
		}
		one, ok := clearest(all)
		if !ok || !r.fails(one, len(all), rest) {
			break
		}
		out.add(Finding{Kind: SliceOff, Columns: one.Columns, Text: r.describe(one, rest), Remedy: "Look at the labels and the inputs of these rows; intervals by group hold in each group."})
		for i := range rest {
			rest[i] = rest[i] && !one.has(i)
		}
	}
	return rest
}

// axes returns the inputs, the predictions, the sizes of the error bars and the row numbers, in up to most bins of at least leastSlice rows.
func (r *Rows) axes(most int) (out []axis) {
	n := r.N()
	add := func(name string, value func(i int) float64) {
		v := make([]float64, n)
		for i := range v {
			v[i] = value(i)
		}
		if a := newAxis(name, v, min(most, n/leastSlice)); len(a.edges) > 0 {
			a.value = r.text
			out = append(out, a)
		}
	}
	d := len(r.Names)
	for j, name := range r.Names {
		add(name, func(i int) float64 { return r.X[i*d+j] })
	}
	if t := len(r.Mean) / n; t > 0 {
		add("the prediction", func(i int) float64 { return r.Mean[i*t] })
	}
	if r.Std != nil {
		add("the standard deviation", func(i int) float64 { return r.Std[i] })
	}
	if r.Sure != nil {
		add("the probability of the answer", func(i int) float64 { return r.Sure[i] })
	}
	add("the row number", func(i int) float64 { return float64(i + 1) })
	return out
}

// newAxis divides values into bins by quantiles of a sample, or one for each value if these are few.
func newAxis(name string, v []float64, bins int) axis {
	sample := make([]float64, 0, 10_000)
	for _, i := range dense.Spaced(len(v), cap(sample)) {
		sample = append(sample, v[i])
	}
	slices.Sort(sample)
	a := axis{name: name, bin: make([]uint8, len(v))}
	for k := 1; k < bins; k++ {
		a.edges = append(a.edges, sample[k*len(sample)/bins])
	}
	if few := slices.Compact(slices.Clone(sample)); len(few) <= bins {
		a.few, a.edges = few, few
	}
	a.edges = slices.Compact(a.edges)
	if n := len(a.edges); n > 0 && a.edges[n-1] >= sample[len(sample)-1] {
		a.edges = a.edges[:n-1]
	}
	for i, x := range v {
		k, _ := slices.BinarySearch(a.edges, x)
		a.bin[i] = uint8(k)
	}
	return a
}

// text describes the bins from first to last.
func (a axis) text(first, last int) string {
	text := func(v float64) string { return a.value(a.name, v) }
	switch {
	case a.few != nil && first == last:
		return fmt.Sprintf("%s = %s", a.name, text(a.few[first]))
	case first == 0:
		return fmt.Sprintf("%s ≤ %s", a.name, text(a.edges[last]))
	case last == len(a.edges):
		return fmt.Sprintf("%s > %s", a.name, text(a.edges[first-1]))
	}
	return fmt.Sprintf("%s from %s to %s", a.name, text(a.edges[first-1]), text(a.edges[last]))
}

// tally counts rows and those inside.
type tally struct{ n, inside float64 }

// compare returns all slices of the rows in use that have enough rows and are not nearly all rows, those with the clearest
// loss of coverage first.
func (r *Rows) compare(fine, coarse []axis, use []bool) []Slice {
	total := tally{}
	for i, c := range r.Inside {
		if use[i] {
			total = tally{total.n + 1, total.inside + c}
		}
	}
	var out []Slice
	add := func(t tally, s Slice) {
		if t.n < leastSlice || t.n > 0.9*total.n {
			return
		}
		s.Rows, s.Inside, s.Gain = int(t.n), Measure{Value: t.inside / t.n, Lower: t.inside}, ratio(t, total)
		out = append(out, s)
	}
	for _, a := range fine {
		r.ranges(a, use, add)
	}
	for i, a := range coarse[:min(mostPaired, len(coarse))] {
		for _, b := range coarse[:i] {
			r.pairs(b, a, use, add)
		}
	}
	for i, s := range out { // Bonferroni
		out[i].Inside = share(s.Inside.Lower, float64(s.Rows), doubt/2/float64(len(out)))
	}
	slices.SortStableFunc(out, func(a, b Slice) int { return cmp.Compare(b.Gain, a.Gain) })
	return out
}

// ranges adds the rows in each range of bins of a.
func (r *Rows) ranges(a axis, use []bool, add func(tally, Slice)) {
	bins := make([]tally, len(a.edges)+1)
	for i, c := range r.Inside {
		if use[i] {
			b := &bins[a.bin[i]]
			b.n, b.inside = b.n+1, b.inside+c
		}
	}
	for first := range bins {
		sum := tally{}
		for last := first; last < len(bins); last++ {
			sum = tally{sum.n + bins[last].n, sum.inside + bins[last].inside}
			if first == 0 && last == len(bins)-1 {
				continue
			}
			add(sum, Slice{Name: a.text(first, last), Columns: []string{a.name},
				has: func(i int) bool { return int(a.bin[i]) >= first && int(a.bin[i]) <= last }})
		}
	}
}

// pairs adds the rows in each pair of bins of a and b.
func (r *Rows) pairs(a, b axis, use []bool, add func(tally, Slice)) {
	wide := len(b.edges) + 1
	bins := make([]tally, (len(a.edges)+1)*wide)
	for i, c := range r.Inside {
		if use[i] {
			t := &bins[int(a.bin[i])*wide+int(b.bin[i])]
			t.n, t.inside = t.n+1, t.inside+c
		}
	}
	for k, t := range bins {
		if t.n < leastSlice {
			continue // spares the text
		}
		i, j := k/wide, k%wide
		add(t, Slice{Name: a.text(i, i) + " and " + b.text(j, j), Columns: []string{a.name, b.name},
			has: func(row int) bool { return int(a.bin[row]) == i && int(b.bin[row]) == j }})
	}
}

// ratio returns the log-likelihood ratio of a slice having a smaller coverage than the other rows (Kulldorff 1997); 0 if its
// coverage is not smaller.
func ratio(t, total tally) float64 {
	o := tally{total.n - t.n, total.inside - t.inside}
	if t.inside/t.n >= o.inside/o.n {
		return 0
	}
	return t.likelihood() + o.likelihood() - total.likelihood()
}

// likelihood returns the largest log-likelihood of the counts.
func (t tally) likelihood() float64 {
	sum := 0.0
	for _, k := range []float64{t.inside, t.n - t.inside} {
		if k > 0 {
			sum += k * math.Log(k/t.n)
		}
	}
	return sum
}

// worst returns the smallest coverage of all slices, with bounds that hold for all slices together: the value is the
// coverage of the slice with the smallest upper bound, whose name comes second.
func worst(all []Slice) (Measure, string) {
	out, name := Measure{math.NaN(), 1, 1}, ""
	for _, s := range all {
		out.Lower = min(out.Lower, s.Inside.Lower)
		if s.Inside.Upper < out.Upper {
			out.Value, out.Upper, name = s.Inside.Value, s.Inside.Upper, s.Name
		}
	}
	if math.IsNaN(out.Value) {
		out.Lower = 0
	}
	return out, name
}

// fails reports whether the intervals of a slice hold far less than their level, and less than those of the other rows.
func (r *Rows) fails(s Slice, compared int, use []bool) bool {
	other := tally{}
	for i, c := range r.Inside {
		if use[i] && !s.has(i) {
			other = tally{other.n + 1, other.inside + c}
		}
	}
	upper := share(s.Inside.Value*float64(s.Rows), float64(s.Rows), chance/2/float64(compared)).Upper
	return s.Gain > 0 && upper < min(r.Level, other.inside/other.n)-tooFew
}

// clearest returns the slice with the largest gain, one of a single column if this is nearly as large.
func clearest(all []Slice) (Slice, bool) {
	if len(all) == 0 {
		return Slice{}, false
	}
	for _, s := range all {
		if len(s.Columns) == 1 && s.Gain >= simpler*all[0].Gain {
			return s, true
		}
	}
	return all[0], true
}
