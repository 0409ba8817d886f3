package audit

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/go-valla/valla/internal/dense"
)

const (
	leastRows  = 100  // fewer rows say nothing about the shape of distributions
	certain    = 4    // standard errors of a finding about all rows
	shifted    = 0.2  // median normal score from which on targets are shifted
	offSpread  = 1.15 // factor of the error bars from which on they are too small; the inverse: too large
	offTail    = 1.3  // factor of the tails, in terms of that of the middle, from which on they are heavy
	offSure    = 0.04 // difference of probability and share of right answers that is a finding
	parts      = 4    // parts of the rows, by the predictions, in all of which targets are shifted
	farTail    = 0.99 // share of the rows up to the tails
	rareCounts = 1e-4 // probability of so many rows in the tails
)

// shape finds faults that all the rows have: shifted targets, error bars that are too small or too large, and heavy tails.
func (r *Rows) shape(use []bool) []Finding {
	rows := slices.DeleteFunc(dense.Indices(r.N()), func(i int) bool { return !use[i] })
	switch {
	case len(rows) < leastRows || r.Z == nil && r.Sure == nil:
		return nil
	case r.Z == nil:
		return []Finding{r.confidence(rows)}
	}
	t := len(r.Z) / r.N()
	var out []Finding
	for k := range t {
		z := make([]float64, len(rows))
		for i, row := range rows {
			z[i] = r.Z[row*t+k]
		}
		out = append(out, r.shift(rows, z, k, t), spread(z), tails(z))
	}
	return firstOfKind(out)
}

// firstOfKind leaves out empty findings, and those of a kind that was there before for another target.
func firstOfKind(all []Finding) (out []Finding) {
	for _, f := range all {
		if f.Kind != "" && !slices.ContainsFunc(out, func(g Finding) bool { return g.Kind == f.Kind }) {
			out = append(out, f)
		}
	}
	return out
}

// shift finds targets that all lie on one side of the predictions, for small predictions as for large ones.
func (r *Rows) shift(rows []int, z []float64, k, t int) Finding {
	middle, spread := robust(slices.Clone(z))
	if math.Abs(middle) < shifted || math.Abs(middle) < certain*1.2533*spread/math.Sqrt(float64(len(z))) {
		return Finding{}
	}
	off, mean := make([]float64, len(rows)), make([]float64, len(rows))
	for i, row := range rows {
		off[i], mean[i] = r.Target[row*t+k]-r.Mean[row*t+k], r.Mean[row*t+k]
	}
	at := ranks(mean)
	for part := range parts {
		var some []float64
		for i, v := range z {
			if int(at[i])*parts/len(z) == part {
				some = append(some, v)
			}
		}
		if m, _ := robust(some); m*middle < 0.25*middle*middle {
			return Finding{}
		}
	}
	by, _ := robust(off)
	return Finding{Kind: Shift, Remedy: "Find out whether the targets are what they were in the training.",
		Text: fmt.Sprintf("The targets are shifted: their median lies %s off the predictions, %+.2f standard deviations, for small predictions as for large ones.", fmt.Sprintf("%+.4g", by), middle)}
}

// spread finds error bars that are too small or too large for the middle half of the rows. Scores of which half are equal tell
// no spread.
func spread(z []float64) Finding {
	_, by := robust(slices.Clone(z))
	if by == 0 {
		return Finding{}
	}
	sure := certain * 1.1664 / math.Sqrt(float64(len(z)))
	switch {
	case by/(1+sure) > 1 && by > offSpread:
		return Finding{Kind: Narrow, Text: fmt.Sprintf("The error bars are too small: the residuals of half of the rows are %.2f times as large as predicted.", by),
			Remedy: "valla calibrate with rows that neither training nor fit has used."}
	case by*(1+sure) < 1 && by < 1/offSpread:
		return Finding{Kind: Wide, Text: fmt.Sprintf("The error bars are too large: the residuals of half of the rows are %.2f times as large as predicted.", by),
			Remedy: "valla calibrate with rows that neither training nor fit has used."}
	}
	return Finding{}
}

// tails finds distributions with heavier tails than predicted. Scores of which half are equal tell none.
func tails(z []float64) Finding {
	middle, by := robust(slices.Clone(z))
	if by == 0 {
		return Finding{}
	}
	far := make([]float64, len(z))
	for i, v := range z {
		far[i] = math.Abs(v-middle) / by
	}
	slices.Sort(far)
	edge := -mathext.NormalQuantile((1 - farTail) / 2)
	at := far[int(farTail*float64(len(far)-1))]
	limit := 1.2 * edge
	beyond := 0
	for _, v := range far {
		if v > limit {
			beyond++
		}
	}
	if at < offTail*edge || !rare(beyond, len(z), math.Erfc(limit/math.Sqrt2)) {
		return Finding{}
	}
	return Finding{Kind: Tails, Remedy: "A law with heavy tails: valla fit --law student-t, or valla calibrate --method law.",
		Text: fmt.Sprintf("The tails are heavier than predicted: half of the rows are %.2f times as far away as predicted, and one row in a hundred is more than %.1f times as far.", by, at*by/edge)}
}

// rare reports whether k or more of n rows are too many for chance, where each has the probability p.
func rare(k, n int, p float64) bool {
	return k > 0 && mathext.RegIncBeta(float64(k), float64(n-k+1), p) < rareCounts
}

// confidence finds probabilities that are larger or smaller than the share of right answers.
func (r *Rows) confidence(rows []int) Finding {
	gap := make([]float64, len(rows))
	sure, right := 0.0, 0.0
	for i, row := range rows {
		gap[i] = r.Sure[row] - r.Right[row]
		sure, right = sure+r.Sure[row]/float64(len(rows)), right+r.Right[row]/float64(len(rows))
	}
	m := Mean(gap)
	if math.Abs(m.Value) < offSure || math.Abs(m.Value) < certain*(m.Upper-m.Value)/1.96 {
		return Finding{}
	}
	f := Finding{Kind: Narrow, Remedy: "valla calibrate with rows that neither training nor fit has used.",
		Text: fmt.Sprintf("The probabilities are too large: the answers have %s on average, and %s of them are right.", percent(sure), percent(right))}
	if m.Value < 0 {
		f.Kind, f.Text = Wide, fmt.Sprintf("The probabilities are too small: the answers have %s on average, and %s of them are right.", percent(sure), percent(right))
	}
	return f
}
