package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/dense"
)

// describe says how the targets of a slice differ from the others.
func (r *Rows) describe(s Slice, use []bool) string {
	text := fmt.Sprintf("%s: the %g %% intervals hold %s of %d rows.", s.Name, 100*r.Level, percent(s.Inside.Value), s.Rows)
	if r.Z == nil && r.Sure == nil {
		return text
	}
	in, out := r.part(func(i int) bool { return use[i] && s.has(i) }), r.part(func(i int) bool { return use[i] && !s.has(i) })
	switch {
	case r.Z == nil:
		return text + fmt.Sprintf(" %s of the answers are right, and %s elsewhere, where the probabilities say %s and %s.", percent(in.right), percent(out.right), percent(in.sure), percent(out.sure))
	case in.tied < out.tied-0.3:
		return text + fmt.Sprintf(" The targets hardly go with the predictions (correlation %.2f, elsewhere %.2f): the labels may be wrong.", in.tied, out.tied)
	case math.Abs(in.middle) > 0.5*in.spread:
		return text + fmt.Sprintf(" The targets are shifted there by %+.1f standard deviations.", in.middle)
	}
	return text + fmt.Sprintf(" The residuals are %.1f times as large as predicted, and %.1f times elsewhere.", in.spread, out.spread)
}

// part describes some rows.
type part struct {
	tied, middle, spread float64 // correlation of targets and predictions; median and spread of the normal scores
	right, sure          float64 // share of right answers, and mean of their probabilities
}

// part describes the rows in a part, of which there is one at least.
func (r *Rows) part(in func(i int) bool) (out part) {
	var z, a, b []float64
	n := 0.0
	for i := range r.N() {
		if !in(i) {
			continue
		}
		if r.Z == nil {
			n, out.right, out.sure = n+1, out.right+r.Right[i], out.sure+r.Sure[i]
			continue
		}
		t := len(r.Z) / r.N()
		z, a, b = append(z, r.Z[i*t:(i+1)*t]...), append(a, r.Mean[i*t]), append(b, r.Target[i*t])
	}
	if r.Z == nil {
		return part{right: out.right / n, sure: out.sure / n}
	}
	out.middle, out.spread = robust(z)
	out.tied = correlation(a, b)
	return out
}

// robust returns the median of z, which it sorts, and the median distance from it in terms of a standard normal variable.
func robust(z []float64) (middle, spread float64) {
	slices.Sort(z)
	middle = z[len(z)/2]
	far := make([]float64, len(z))
	for i, v := range z {
		far[i] = math.Abs(v - middle)
	}
	slices.Sort(far)
	return middle, far[len(far)/2] / 0.67449
}

// correlation returns the correlation of the ranks of two lists; NaN where one does not vary.
func correlation(a, b []float64) float64 {
	a, b = sharedRanks(a), sharedRanks(b)
	m := float64(len(a)-1) / 2
	var ab, aa, bb float64
	for i := range a {
		ab, aa, bb = ab+(a[i]-m)*(b[i]-m), aa+(a[i]-m)*(a[i]-m), bb+(b[i]-m)*(b[i]-m)
	}
	return ab / math.Sqrt(aa*bb)
}

// sharedRanks returns the ranks of numbers, of which equal numbers have the mean of their ranks.
func sharedRanks(v []float64) []float64 {
	out, sum, count := ranks(v), map[float64]float64{}, map[float64]float64{}
	for i, x := range v {
		sum[x], count[x] = sum[x]+out[i], count[x]+1
	}
	for i, x := range v {
		out[i] = sum[x] / count[x]
	}
	return out
}

// ranks returns the places of numbers in ascending order, which all differ.
func ranks(v []float64) []float64 {
	order := dense.Indices(len(v))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v[i], v[j]) })
	out := make([]float64, len(v))
	for place, i := range order {
		out[i] = float64(place)
	}
	return out
}
