package assess

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/audit"
	"github.com/go-valla/valla/internal/figure"
)

// mostListed is the largest number of inputs in a table.
const mostListed = 15

// audit looks for faults and judges the rules.
func (p *Page) audit(ctx context.Context, s subject) error {
	found, err := s.audited(ctx, p.PredictOptions)
	if err != nil {
		return err
	}
	p.Audit, p.Searched = found, s.searched(found)
	for _, t := range []Table{s.slices(found), drifts(found), weights(found, s.is.p.Classes != nil)} {
		if len(t.Rows) > 0 {
			p.Checks = append(p.Checks, t)
		}
	}
	for _, r := range p.Rules {
		j, err := s.judge(r, found)
		if err != nil {
			return err
		}
		p.Judged = append(p.Judged, j)
	}
	return nil
}

// searched says where faults were looked for.
func (s subject) searched(found *audit.Result) string {
	text := "Looked for copied rows, shifted targets, error bars that are too small or too large, and heavy tails"
	if s.is.p.Classes != nil {
		text = "Looked for copied rows, and for probabilities that are too large or too small"
	}
	switch {
	case s.set.Features == nil:
		return text + "."
	case found.Compared > 0:
		text += fmt.Sprintf("; compared %d slices of the rows", found.Compared)
	default:
		text += "; the rows are too few for slices of 200"
	}
	if found.Drifts == nil {
		return text + "; the model file holds no inputs of the training to compare with."
	}
	return text + fmt.Sprintf("; compared %d inputs with the training.", len(found.Drifts))
}

// slices returns the table of the slices whose intervals hold least.
func (s subject) slices(found *audit.Result) Table {
	out := Table{Title: "Where the intervals hold least", Head: []string{"rows with", "rows", "inside, %", "from", "to"},
		Caption: fmt.Sprintf("Slices with the clearest loss of coverage of the %g %% intervals or sets. The bounds hold for all %d slices together with a probability of 95 %%.", 100*s.level, found.Compared)}
	for _, v := range found.Slices {
		if v.Gain > 0 {
			out.Rows = append(out.Rows, []Cell{{Text: v.Name}, {Text: fmt.Sprint(v.Rows)}, {Text: inPercent(v.Inside.Value)}, {Text: inPercent(v.Inside.Lower)}, {Text: inPercent(v.Inside.Upper)}})
		}
	}
	return out
}

// drifts returns the table of inputs compared with the training.
func drifts(found *audit.Result) Table {
	out := Table{Title: "Inputs compared with the training", Head: []string{"input", "PSI", "from", "to", "p"},
		Caption: "Population stability index: 0.1 is a change to look at, 0.25 a large change. p is the probability of such a difference without a change."}
	for _, v := range found.Drifts[:min(mostListed, len(found.Drifts))] {
		out.Rows = append(out.Rows, []Cell{{Text: v.Name}, {Text: fmt.Sprintf("%.3f", v.PSI.Value)}, {Text: fmt.Sprintf("%.3f", v.PSI.Lower)}, {Text: fmt.Sprintf("%.3f", v.PSI.Upper)}, {Text: fmt.Sprintf("%.2g", v.P)}})
	}
	return out
}

// weights returns the table of what the predictions depend on.
func weights(found *audit.Result, classes bool) Table {
	out := Table{Title: "What drives the width of the error bars", Head: []string{"input", "width", "predictions, %", "NLL"},
		Caption: "What changes if the values of an input are exchanged between rows: the size of the error bars by this factor on average, the predictions by this share of their variance, and the NLL by this number."}
	if classes {
		out.Title, out.Head[1] = "What drives the doubts", "entropy"
		out.Caption = "What changes if the values of an input are exchanged between rows: the entropy of the classes by this number on average, the probabilities by this share of their variance, and the NLL by this number."
	}
	for _, w := range found.Weights[:min(mostListed, len(found.Weights))] {
		width := fmt.Sprintf("%.3f", math.Exp(w.Width))
		if classes {
			width = fmt.Sprintf("%.3f", w.Width)
		}
		out.Rows = append(out.Rows, []Cell{{Text: w.Name}, {Text: width}, {Text: inPercent(w.Center)}, {Text: fmt.Sprintf("%+.3f", w.Loss)}})
	}
	return out
}

// accepted returns a picture of the error of the rows with the smallest error bars against their share.
func (s subject) accepted(t int) Figure {
	list := s.lines(func(c candidate, line *figure.Series) {
		mean, std, y := seen(c.one(t))
		order, sum := sorted(std, 1), 0.0
		for k, i := range order {
			sum += (y[i] - mean[i]) * (y[i] - mean[i])
			if at := (k + 1) * 100 / len(order); at > k*100/len(order) && at >= 5 {
				line.X, line.Y = append(line.X, float64(at)/100), append(line.Y, math.Sqrt(sum/float64(k+1)))
			}
		}
	})
	if len(list[0].X) == 0 {
		return Figure{}
	}
	return Figure{"What is gained by asking about some rows?",
		"The root mean squared error of the rows with the smallest error bars, against their share, if the others go to somebody else. Error bars that know where the model is wrong make a line that rises.",
		figure.Curves(figure.Axes{X: "share of the rows that are accepted", Y: "RMSE", Zero: true}, list)}
}

// dotted are the shares of the rows, by the size of the error bars, of the rows of [subject.dots].
var dotted = []float64{0.05, 0.5, 0.95}

// dots returns quantile dotplots of a few rows (Kay et al. 2016): each of 20 dots is as likely as the others.
func (s subject) dots(t int) Figure {
	mean, std, y := s.is.one(t)
	if len(s.is.y) > len(s.is.p.Mean) || len(y) < len(dotted) {
		return Figure{}
	}
	order := sorted(std, 1)
	dots := figure.Series{Name: "one in twenty"}
	truth := [2][]figure.Series{}
	for level, at := range dotted {
		i := order[int(at*float64(len(order)-1)+0.5)]
		d := s.is.p.Distribution(i, t)
		var v []float64
		for k := range 20 {
			v = append(v, d.Quantile((float64(k)+0.5)/20))
		}
		x, h := stacked(v)
		for k := range x {
			dots.X, dots.Y = append(dots.X, x[k]), append(dots.Y, float64(level)+0.07+0.085*float64(h[k]))
		}
		for k, v := range []float64{y[i], mean[i]} {
			truth[k] = append(truth[k], figure.Series{Name: []string{"target", "prediction"}[k], X: []float64{v, v}, Y: []float64{float64(level), float64(level) + 0.8}, More: level > 0})
		}
	}
	return Figure{"What does a prediction say?", "Three rows, with small error bars below, middle ones, and large ones above. Each dot stands for one chance in twenty: seven dots right of a value mean that the target is larger with a probability of 35 %.",
		figure.Cloud(figure.Axes{X: s.is.p.Targets[t], Y: "rows by the size of their error bars"}, dots, slices.Concat(truth[0], truth[1]))}
}

// stacked puts dots with ascending values into columns: the value of the column of each dot, and its place in the column from 0 on
// (Wilkinson 1999). A column is a tenth of the range of the values wide.
func stacked(v []float64) (x []float64, height []int) {
	wide := (v[len(v)-1] - v[0]) / 10
	for first := 0; first < len(v); {
		last := first
		for last+1 < len(v) && v[last+1]-v[first] <= wide {
			last++
		}
		for k := first; k <= last; k++ {
			x, height = append(x, (v[first]+v[last])/2), append(height, k-first)
		}
		first = last + 1
	}
	return x, height
}

// Document returns what the page says about faults, for JSON.
func (p *Page) Document() map[string]any {
	type slice struct {
		Name    string   `json:"name"`
		Columns []string `json:"columns"`
		Rows    int      `json:"rows"`
		Inside  float64  `json:"inside"`
		Lower   float64  `json:"lower"`
		Upper   float64  `json:"upper"`
	}
	list := []slice{}
	for _, s := range p.Audit.Slices {
		list = append(list, slice{s.Name, s.Columns, s.Rows, s.Inside.Value, s.Inside.Lower, s.Inside.Upper})
	}
	inputs := []map[string]any{}
	for _, d := range p.Audit.Drifts {
		inputs = append(inputs, map[string]any{"name": d.Name, "psi": d.PSI.Value, "lower": d.PSI.Lower, "upper": d.PSI.Upper, "p": d.P})
	}
	return map[string]any{
		"findings": orEmpty(p.Audit.Findings), "slices": list, "slices_compared": p.Audit.Compared,
		"inputs": inputs, "weights": orEmpty(p.Audit.Weights), "rules": orEmpty(p.Judged),
	}
}

// orEmpty returns a list that is not nil, which JSON would write as null.
func orEmpty[T any](v []T) []T { return append([]T{}, v...) }

// Verdict returns the verdict on all rules: that of the worst.
func (p *Page) Verdict() string {
	out := Holds
	for _, j := range p.Judged {
		if j.Verdict == Fails || out == Holds {
			out = j.Verdict
		}
	}
	return out
}
