package assess

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/figure"
)

const (
	// bins is the number of bins of equal width for confidences, as in the ECE.
	bins = 15
	// maxConfusion is the largest number of classes for a table of confusions. For more classes the
	// page lists the most frequent confusions.
	maxConfusion = 12
)

// classes returns the section about a classification.
func (s subject) classes() Part {
	return Part{Title: s.is.p.Targets[0], Classes: true, Figures: []Figure{s.reliability(), s.confidences(), s.kept()},
		Tables: []Table{s.confusions(), s.worstClasses()}}
}

// reliability returns a picture of accuracy against confidence.
func (s subject) reliability() Figure {
	return Figure{"Is the model as often right as it says?",
		"The share of right answers against their mean probability, in 15 bins. The dashed diagonal is exact calibration. Below the diagonal the model is overconfident, above the diagonal underconfident. The expected calibration error (ECE) is the mean distance from the diagonal, weighted by rows.",
		figure.Curves(figure.Axes{X: "probability of the answer", Y: "share of right answers", Diagonal: true}, s.shares(candidate.confidence))}
}

// confidences returns a picture of the distribution of confidence.
func (s subject) confidences() Figure {
	return Figure{"How sure is the model?", "The share of rows whose most probable class has this probability, in 15 bins.",
		figure.Curves(figure.Axes{X: "probability of the answer", Y: "share of the rows", Zero: true}, s.histograms(candidate.confidence))}
}

// kept returns a picture of the accuracy of the most confident rows against their share.
func (s subject) kept() Figure {
	list := s.lines(func(c candidate, line *figure.Series) {
		top, right := c.confidence()
		order, good := sorted(top, -1), 0
		for k, i := range order {
			if right[i] {
				good++
			}
			if step := max(1, len(order)/100); k%step == step-1 && k >= len(order)/20 {
				line.X, line.Y = append(line.X, float64(k+1)/float64(len(order))), append(line.Y, float64(good)/float64(k+1))
			}
		}
	})
	return Figure{"Are the sure answers the right ones?",
		"The accuracy of the rows with the most probable answers, against their share of all rows. A good model is right where it is sure, so that the curve falls to the right. The rows that are left out could be given to a person.",
		figure.Curves(figure.Axes{X: "share of the rows kept", Y: "accuracy"}, list)}
}

// confusions returns the table of classes against answers, or of the most frequent confusions.
func (s subject) confusions() Table {
	c := len(s.is.p.Classes)
	counts := make([]int, c*c)
	for i, best := range s.is.p.Best() {
		counts[slices.Index(s.is.p.Classes, s.is.y[i])*c+best]++
	}
	if c > maxConfusion {
		return s.pairs(counts)
	}
	out := Table{Title: "Confusions", Caption: "Rows are the classes, columns the answers; counts of rows.", Head: []string{"class"}}
	for k := range c {
		out.Head = append(out.Head, s.is.p.ClassName(k))
		row, total := []Cell{{Text: s.is.p.ClassName(k)}}, 0
		for _, n := range counts[k*c : (k+1)*c] {
			total += n
		}
		for _, n := range counts[k*c : (k+1)*c] {
			row = append(row, Cell{Text: fmt.Sprint(n), Shade: float64(n) / float64(max(1, total))})
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// pairs returns the table of the most frequent confusions. Counts are [C,C], by class and answer.
func (s subject) pairs(counts []int) Table {
	c := len(s.is.p.Classes)
	wrong := make([]float64, len(counts))
	for i, n := range counts {
		if i/c != i%c {
			wrong[i] = float64(n)
		}
	}
	out := Table{Title: "The most frequent confusions", Head: []string{"class", "answer", "rows"}}
	for _, i := range largest(wrong) {
		if wrong[i] > 0 {
			out.Rows = append(out.Rows, []Cell{{Text: s.is.p.ClassName(i / c)}, {Text: s.is.p.ClassName(i % c)}, {Text: fmt.Sprint(wrong[i])}})
		}
	}
	return out
}

// worstClasses returns the table of the rows for which the right class has the smallest probability.
func (s subject) worstClasses() Table {
	out := Table{Title: "Rows with the largest surprises", Caption: "The model gave the right classes of these rows the smallest probabilities. " + rowsFrom1,
		Head: append([]string{"row", "class", "its probability", "answer", "its probability"}, s.inputNames()...)}
	best, c := s.is.p.Best(), len(s.is.p.Classes)
	for _, i := range largest(s.nlls) {
		class := slices.Index(s.is.p.Classes, s.is.y[i])
		row := []Cell{{Text: fmt.Sprint(i + 1)}, {Text: s.is.p.ClassName(class)}, {Text: number(math.Exp(-s.nlls[i]))},
			{Text: s.is.p.ClassName(best[i])}, {Text: number(s.is.p.Probs[i*c+best[i]])}}
		out.Rows = append(out.Rows, append(row, s.inputs(i)...))
	}
	return out
}
