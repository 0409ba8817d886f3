package assess

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/figure"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train/metric"
)

// sections has the pictures and tables about a target by its kind.
var sections = map[likelihood.Kind]struct {
	figures []func(s subject, t int) Figure
	tables  []func(s subject, t int) Table
}{
	likelihood.Number: {
		[]func(subject, int) Figure{subject.coverage, subject.pit, subject.sharpness, subject.residuals, subject.accepted, subject.dots},
		[]func(subject, int) Table{subject.levels, subject.sizes, subject.worstNumbers}},
	likelihood.Count: {
		[]func(subject, int) Figure{subject.pit, subject.means, subject.coverage, subject.sharpness, subject.accepted},
		[]func(subject, int) Table{subject.levels, subject.sizes, subject.worstTargets}},
	likelihood.Binary: {
		[]func(subject, int) Figure{subject.answers, subject.probabilities},
		[]func(subject, int) Table{subject.worstTargets}},
	likelihood.Ordered: {
		[]func(subject, int) Figure{subject.pit, subject.cumulative},
		[]func(subject, int) Table{subject.worstTargets}},
}

// target returns the section about target t.
func (s subject) target(t int) Part {
	part := Part{Title: s.is.p.Targets[t]}
	of := sections[s.m.Likelihood().Kind()]
	for _, f := range of.figures {
		if one := f(s, t); one.Title != "" {
			part.Figures = append(part.Figures, one)
		}
	}
	for _, f := range of.tables {
		part.Tables = append(part.Tables, f(s, t))
	}
	return part
}

// pit returns the histogram of the CDF at the targets.
func (s subject) pit(t int) Figure {
	list := []figure.Series{figure.Histogram(s.all[0].Name, s.all[0].scores.PIT[t], 1)}
	if s.is.Name != s.all[0].Name {
		list = append(list, figure.Histogram(s.is.Name, s.is.scores.PIT[t], 1))
	}
	list = append(list, figure.Series{Name: "exact", X: []float64{0, 1}, Y: []float64{1. / metric.PITBins, 1. / metric.PITBins}})
	return Figure{"Is the form of the distributions right?",
		"The PIT: the probability that the prediction gives to values up to the target, in ten bins. The line is even if the distributions are right. A line that is high on both sides means error bars that are too small, a hill in the middle error bars that are too large, a slope predictions that are too small or too large.",
		figure.Curves(figure.Axes{X: "probability of values up to the target", Y: "share of the rows", Zero: true}, list)}
}

// means returns a picture of mean counts against their predictions.
func (s subject) means(t int) Figure {
	high := 0.0
	list := s.lines(func(c candidate, line *figure.Series) {
		mean, _, y := c.one(t)
		order := sorted(mean, 1)
		for part := range slices.Chunk(order, max(1, (len(order)+groups-1)/groups)) {
			var predicted, counted float64
			for _, i := range part {
				predicted, counted = predicted+mean[i]/float64(len(part)), counted+y[i]/float64(len(part))
			}
			line.X, line.Y, high = append(line.X, predicted), append(line.Y, counted), max(high, predicted)
		}
	})
	list = append(list, figure.Series{Name: "exact", X: []float64{0, high}, Y: []float64{0, high}})
	return Figure{"Are there as many as predicted?", "The mean count of rows with similar predictions, against the mean prediction, in groups of a tenth of the rows.",
		figure.Curves(figure.Axes{X: "predicted", Y: "counted", Zero: true}, list)}
}

// pairs returns probabilities of a candidate, and whether that came true which has them.
type pairs func(c candidate) (p []float64, yes []bool)

// shares returns the shares of what came true against the probabilities, in bins.
func (s subject) shares(of pairs) []figure.Series {
	return s.lines(func(c candidate, line *figure.Series) {
		p, yes := of(c)
		for _, b := range metric.Reliability(p, yes, bins) {
			line.X, line.Y = append(line.X, b.Confidence), append(line.Y, b.Accuracy)
		}
	})
}

// histograms returns the distributions of the probabilities, in bins.
func (s subject) histograms(of pairs) (list []figure.Series) {
	for _, c := range s.all {
		p, _ := of(c)
		density := make([]float64, bins)
		for _, v := range p {
			density[min(int(v*bins), bins-1)] += 1 / float64(len(p))
		}
		list = append(list, figure.Histogram(c.Name, density, 1))
	}
	return list
}

// reliable returns a picture of shares against probabilities, in 15 bins.
func (s subject) reliable(what string, of pairs) Figure {
	return Figure{"Do the probabilities hold?", "The share of " + what + " against the mean probability, in 15 bins. The dashed diagonal is exact.",
		figure.Curves(figure.Axes{X: "probability", Y: "share", Diagonal: true}, s.shares(of))}
}

// yes returns the probabilities of yes for target t.
func yes(t int) pairs {
	return func(c candidate) (p []float64, yes []bool) {
		p, _, y := c.one(t)
		for _, v := range y {
			yes = append(yes, v == 1)
		}
		return p, yes
	}
}

// answers returns the reliability of the probabilities of yes.
func (s subject) answers(t int) Figure { return s.reliable("yes", yes(t)) }

// cumulative returns the reliability of the probabilities P(class ≤ k) for all k but the largest class of the rows.
func (s subject) cumulative(t int) Figure {
	_, _, all := s.is.one(t)
	last := slices.Max(all)
	return s.reliable("rows up to a class", func(c candidate) (p []float64, yes []bool) {
		_, _, y := c.one(t)
		for i, v := range y {
			d := c.p.Distribution(i, t)
			for k := 0.0; k < last; k++ {
				p, yes = append(p, min(max(d.CDF(k), 0), 1)), append(yes, v <= k)
			}
		}
		return p, yes
	})
}

// probabilities returns the histogram of the probabilities of yes.
func (s subject) probabilities(t int) Figure {
	return Figure{"How sure is the model?", "The share of rows with this probability of yes, in 15 bins.",
		figure.Curves(figure.Axes{X: "probability of yes", Y: "share of the rows", Zero: true}, s.histograms(yes(t)))}
}

// worstTargets returns the table of the rows whose targets had the smallest densities or probabilities.
func (s subject) worstTargets(t int) Table {
	width := len(s.is.p.Targets)
	w := len(s.is.y) / len(s.is.p.Mean)
	surprise, texts, means := make([]float64, s.is.p.N()), make([]string, s.is.p.N()), make([]float64, s.is.p.N())
	for i := range surprise {
		at := (i*width + t) * w
		o := s.is.p.Outcome(i, t, s.is.y[at:at+w])
		means[i], texts[i], surprise[i] = o.Mean(), bounds(o), -o.LogDensity(o.Upper)
		if o.Lower < o.Upper {
			surprise[i] = -math.Log(o.CDF(o.Upper) - o.CDF(o.Lower))
		}
	}
	out := Table{Title: "Rows with the largest surprises", Caption: "The model gave the targets of these rows the smallest densities or probabilities. " + rowsFrom1,
		Head: append([]string{"row", "target", "prediction", "−log p"}, s.inputNames()...)}
	for _, i := range largest(surprise) {
		text := "∞"
		if kernel.Finite(surprise[i]) {
			text = number(surprise[i])
		}
		row := []Cell{{Text: fmt.Sprint(i + 1)}, {Text: texts[i]}, {Text: input(means[i])}, {Text: text}}
		out.Rows = append(out.Rows, append(row, s.inputs(i)...))
	}
	return out
}

// bounds returns the text of a target of which bounds are known, or of a number.
func bounds(o likelihood.Outcome) string {
	switch {
	case o.Lower == o.Upper:
		return input(o.Upper)
	case math.IsInf(o.Upper, 1):
		return "≥ " + input(o.Lower)
	case math.IsInf(o.Lower, -1):
		return "≤ " + input(o.Upper)
	}
	return input(o.Lower) + " to " + input(o.Upper)
}

// glossary returns the scores of a table with what they are, each once, and the names of those of which more is better.
func glossary(list []candidate) (help [][2]string, larger string) {
	var more []string
	for _, s := range list[0].scores.List {
		name, _, _ := strings.Cut(s.Name, " ")
		if slices.ContainsFunc(help, func(h [2]string) bool { return h[0] == name }) {
			continue
		}
		help = append(help, [2]string{name, s.Help})
		if s.Larger {
			more = append(more, name)
		}
	}
	return help, strings.Join(more, ", ")
}
