package experiments

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// WriteImageScores prints the measured means over seeds beside what the paper prints
// and what its authors' runs give.
func WriteImageScores(w io.Writer, r *ImagesResult) {
	render(w, r.table())
}

func (r *ImagesResult) table() table.Writer {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"method", "probs", "source", "ACC", "NLL", "ECE", "Brier", "OOD-AUC", "σ₀", "fit, s"})
	refs := imageReferences(strings.ToUpper(r.Dataset))
	for i, g := range r.groups() {
		if i > 0 && r.groups()[i-1][0].Method != g[0].Method {
			t.AppendSeparator()
		}
		m := mean(g)
		source := "here"
		if len(g) > 1 {
			source = fmt.Sprintf("here, %d seeds", len(g))
		}
		t.AppendRow(table.Row{m.Method, m.Probs, source, digits(m.ACC, 4), digits(m.NLL, 5), digits(m.ECE, 4), digits(m.Brier, 4),
			digits(m.OODAUC, 4), digits(m.PriorStd, 4), digits(m.Seconds, 0)})
		for _, f := range refs {
			if f.method == m.Method && f.probs == m.Probs {
				t.AppendRow(table.Row{"", "", f.source, digits(f.acc, 4), digits(f.nll, 5), digits(f.ece, 4), digits(f.brier, 4),
					digits(f.ood, 4), digits(f.priorSD, 4), ""})
			}
		}
	}
	return t
}

// digits formats a number; nothing for NaN and for a zero that means none.
func digits(v float64, n int) string {
	if math.IsNaN(v) || v == 0 {
		return ""
	}
	return fmt.Sprintf("%.*f", n, v)
}

// groups collects the scores of one method and kind of probabilities over seeds.
func (r *ImagesResult) groups() [][]ImageScore {
	var groups [][]ImageScore
next:
	for _, s := range r.Scores {
		for i, g := range groups {
			if g[0].Method == s.Method && g[0].Probs == s.Probs {
				groups[i] = append(g, s)
				continue next
			}
		}
		groups = append(groups, []ImageScore{s})
	}
	return groups
}

// mean averages the numbers of scores that differ in their seeds.
func mean(g []ImageScore) ImageScore {
	m := g[0]
	fields := func(s *ImageScore) []*float64 {
		return []*float64{&s.ACC, &s.NLL, &s.ECE, &s.Brier, &s.OODAUC, &s.PriorStd, &s.Seconds}
	}
	for k, total := range fields(&m) {
		*total = 0
		for i := range g {
			*total += *fields(&g[i])[k] / float64(len(g))
		}
	}
	return m
}

// csv returns the scores, one line each.
func (r *ImagesResult) csv() string {
	var b strings.Builder
	b.WriteString("dataset,method,probs,inducing,seed,n,acc,nll,ece,brier,ood_auc,prior_std,steps,best,seconds\n")
	for _, s := range r.Scores {
		fmt.Fprintf(&b, "%s,%s,%s,%d,%d,%d,%.10g,%.10g,%.10g,%.10g,%.10g,%.10g,%d,%d,%.3f\n", s.Dataset, s.Method, s.Probs, s.Inducing,
			s.Seed, s.N, s.ACC, s.NLL, s.ECE, s.Brier, s.OODAUC, s.PriorStd, s.Steps, s.Best, s.Seconds)
	}
	return b.String()
}
