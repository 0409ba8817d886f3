package assess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/audit"
	"github.com/go-valla/valla/internal/figure"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/train/metric"
)

const (
	maxDots    = 600 // most points of a chart
	groups     = 10  // groups of equal size into which rows are divided by their standard deviation
	leastToBin = 50  // least number of rows that are divided into groups
	worst      = 10  // number of listed rows
	maxInputs  = 6   // most listed inputs of a row
)

// one returns the means, standard deviations and true values of target t, each [N]. The value of a target of which
// bounds are known is NaN.
func (c candidate) one(t int) (mean, std, y []float64) {
	width, all, w := len(c.p.Targets), c.p.Std(), len(c.y)/len(c.p.Mean)
	for i := t; i < len(c.p.Mean); i += width {
		m, sd, v := c.p.Mean[i], all[i], c.y[i*w]
		if w > 1 {
			o := c.p.Outcome(i/width, t, c.y[i*w:(i+1)*w])
			m, sd, v = o.Mean(), math.Sqrt(o.Variance()), o.Upper
			if o.Lower < o.Upper {
				v = math.NaN()
			}
		}
		mean, std, y = append(mean, m), append(std, sd), append(y, v)
	}
	return mean, std, y
}

// seen leaves out the rows whose values are not known.
func seen(mean, std, y []float64) (_, _, _ []float64) {
	n := 0
	for i, v := range y {
		if !math.IsNaN(v) {
			mean[n], std[n], y[n] = mean[i], std[i], v
			n++
		}
	}
	return mean[:n], std[:n], y[:n]
}

// inside returns the share of the values of target t inside the intervals of a level, or NaN if the
// model has no intervals of this level. Whole numbers, and targets of which bounds are known, count by the part of their
// PIT that lies inside.
func (c candidate) inside(t int, level float64) float64 {
	width := len(c.p.Targets)
	if c.pits != nil {
		sum := 0.0
		for i := t; i < len(c.pits); i += width {
			sum += c.pits[i].Within(0.5-level/2, 0.5+level/2)
		}
		return sum * float64(width) / float64(len(c.pits))
	}
	lower, upper, err := c.p.Interval(level)
	if err != nil {
		return math.NaN()
	}
	inside, n := 0, 0
	for i := t; i < len(c.y); i += width {
		if n++; lower[i] <= c.y[i] && c.y[i] <= upper[i] {
			inside++
		}
	}
	return float64(inside) / float64(n)
}

// pits returns the PIT of each target [N,T] that is a whole number or has several numbers; nil for other targets.
func pits(p *valla.Prediction, y []float64) (out []metric.Row) {
	if p.Classes != nil || !p.Whole() && len(y) == len(p.Mean) || p.Conformal != nil {
		return nil
	}
	width, w := len(p.Targets), len(y)/len(p.Mean)
	for i := range p.Mean {
		o := p.Outcome(i/width, i%width, y[i*w:(i+1)*w])
		row := metric.Row{Below: o.CDF(o.Lower), UpTo: o.CDF(o.Upper)}
		if p.Whole() {
			row.Below = o.CDF(o.Lower - 1)
		}
		out = append(out, row)
	}
	return out
}

// lines returns a line for each candidate, to which draw adds the points.
func (s subject) lines(draw func(c candidate, line *figure.Series)) (all []figure.Series) {
	for _, c := range s.all {
		line := figure.Series{Name: c.Name}
		draw(c, &line)
		all = append(all, line)
	}
	return all
}

// coverage returns a picture of the share of targets inside intervals against the probability of the
// intervals.
func (s subject) coverage(t int) Figure {
	list := s.lines(func(c candidate, line *figure.Series) {
		line.X, line.Y = []float64{0}, []float64{0}
		for level := 0.05; level < 0.995; level += 0.05 {
			line.X, line.Y = append(line.X, level), append(line.Y, c.inside(t, level))
		}
		line.X, line.Y = append(line.X, 1), append(line.Y, 1)
	})
	return Figure{"Do the intervals hold what they promise?",
		"The share of targets inside the central interval, against the probability of the interval. The dashed diagonal is exact. Below the diagonal the error bars are too small, above the diagonal too large.",
		figure.Curves(figure.Axes{X: "probability of the interval", Y: "share inside", Diagonal: true}, list)}
}

// sharpness returns a picture of the standard deviations in ascending order.
func (s subject) sharpness(t int) Figure {
	list := s.lines(func(c candidate, line *figure.Series) {
		_, std, _ := c.one(t)
		slices.Sort(std)
		for k := range 101 {
			line.X, line.Y = append(line.X, float64(k)/100), append(line.Y, std[k*(len(std)-1)/100])
		}
	})
	return Figure{"How large are the error bars?",
		"The standard deviations of all rows in ascending order. If the intervals of two models hold, the model with the smaller deviations says more. A horizontal line means the same deviation for every row.",
		figure.Curves(figure.Axes{X: "share of the rows", Y: "standard deviation", Zero: true}, list)}
}

// residuals returns a picture of the sizes of the residuals against the standard deviations.
func (s subject) residuals(t int) Figure {
	mean, std, y := seen(s.is.one(t))
	if len(y) == 0 {
		return Figure{} // of no target more than bounds are known
	}
	dots := figure.Series{Name: "rows"}
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(y))
	for _, i := range order[:min(len(order), maxDots)] {
		dots.X, dots.Y = append(dots.X, std[i]), append(dots.Y, math.Abs(y[i]-mean[i]))
	}
	low, high := slices.Min(std), slices.Max(std)
	if high-low < 1e-6*high { // where all deviations are equal, the chart needs a width
		low, high = low*0.9, high*1.1
	}
	bar := func(k float64) figure.Series {
		name := fmt.Sprintf("%g standard deviation", k)
		if k > 1 {
			name += "s"
		}
		return figure.Series{Name: name, X: []float64{low, high}, Y: []float64{k * low, k * high}}
	}
	lines := []figure.Series{bar(1), bar(2)}
	caption := "Each point is a row" + sampled(len(y)) + ". Where the error bars are right, two of three points lie below the line of 1."
	if len(y) >= leastToBin {
		lines = append(lines, binned(mean, std, y))
		caption += " The root mean squares of rows with similar deviations then follow that line: rows with large deviations have large residuals."
	}
	return Figure{"Are the residuals large where the error bars are?", caption,
		figure.Cloud(figure.Axes{X: "standard deviation", Y: "size of the residual", Zero: true}, dots, lines)}
}

// sampled returns a remark if the chart does not show all n rows.
func sampled(n int) string {
	if n <= maxDots {
		return ""
	}
	return fmt.Sprintf(" (%d of %d, drawn at random)", maxDots, n)
}

// binned returns, for groups of rows of equal size, the root mean squares of the residuals against the
// root mean squares of the standard deviations.
func binned(mean, std, y []float64) figure.Series {
	out := figure.Series{Name: "root mean square of a tenth of the rows"}
	order := sorted(std, 1)
	size := max(1, (len(order)+groups-1)/groups)
	for part := range slices.Chunk(order, size) {
		var r, v float64
		for _, i := range part {
			r, v = r+(y[i]-mean[i])*(y[i]-mean[i]), v+std[i]*std[i]
		}
		n := float64(len(part))
		out.X, out.Y = append(out.X, math.Sqrt(v/n)), append(out.Y, math.Sqrt(r/n))
	}
	return out
}

// levels returns the table of coverage by level, with bounds and interval scores of the model.
func (s subject) levels(t int) Table {
	out := Table{Title: "Coverage by level", Head: []string{"interval"}, Caption: fmt.Sprintf(
		"Share of the targets inside their intervals, in percent, and for %s the bounds that hold the true share with a probability of 95 %%. The interval score is the mean width plus 2/(1 − level) times the distance of targets outside; smaller is better.", s.is.Name)}
	for _, c := range s.all {
		out.Head = append(out.Head, c.Name)
	}
	out.Head = append(out.Head, "from", "to", "interval score")
	for _, level := range []float64{0.5, 0.8, 0.9, 0.95, 0.99} {
		row := []Cell{{Text: fmt.Sprintf("%g %%", 100*level)}}
		for _, c := range s.all {
			row = append(row, Cell{Text: inPercent(c.inside(t, level))})
		}
		v := s.is.inside(t, level)
		m := audit.Measure{Lower: math.NaN(), Upper: math.NaN()}
		if kernel.Finite(v) {
			m = audit.Share(v*float64(s.is.p.N()), s.is.p.N())
		}
		out.Rows = append(out.Rows, append(row, Cell{Text: inPercent(m.Lower)}, Cell{Text: inPercent(m.Upper)}, Cell{Text: s.is.winkler(t, level)}))
	}
	return out
}

// inPercent returns the text of a share in percent; a dash for NaN.
func inPercent(v float64) string {
	if !kernel.Finite(v) {
		return "–"
	}
	return fmt.Sprintf("%.1f", 100*v)
}

// winkler returns the text of the mean interval score of target t (Gneiting and Raftery 2007); a dash where there are no
// intervals, or where only bounds of the targets are known.
func (c candidate) winkler(t int, level float64) string {
	lower, upper, err := c.p.IntervalAt(c.y, level)
	if err != nil || len(c.y) > len(c.p.Mean) {
		return "–"
	}
	width, sum := len(c.p.Targets), 0.0
	for i := t; i < len(lower); i += width {
		sum += metric.IntervalScore(level, lower[i], upper[i], c.y[i])
	}
	if sum /= float64(c.p.N()); kernel.Finite(sum) {
		return number(sum)
	}
	return "–"
}

// sizes returns the table of standard deviations and widths.
func (s subject) sizes(t int) Table {
	out := Table{Title: "Sharpness", Caption: fmt.Sprintf("Standard deviations, and the mean width of the %g %% intervals, in the units of the target.", 100*s.level),
		Head: []string{"", "smallest", "median", "root mean square", "largest", "width"}}
	for _, c := range s.all {
		_, std, _ := c.one(t)
		slices.Sort(std)
		squares := 0.0
		for _, v := range std {
			squares += v * v / float64(len(std))
		}
		width := "–"
		if lower, upper, err := c.p.IntervalAt(c.y, s.level); err == nil {
			total := 0.0
			for i := t; i < len(lower); i += len(c.p.Targets) {
				total += (upper[i] - lower[i]) / float64(len(std))
			}
			width = number(total)
		}
		out.Rows = append(out.Rows, []Cell{{Text: c.Name}, {Text: number(std[0])}, {Text: number(std[len(std)/2])}, {Text: number(math.Sqrt(squares))}, {Text: number(std[len(std)-1])}, {Text: width}})
	}
	return out
}

// worstNumbers returns the table of the rows with the largest residuals in standard deviations.
func (s subject) worstNumbers(t int) Table {
	if len(s.is.y) > len(s.is.p.Mean) {
		return s.worstTargets(t)
	}
	mean, std, y := s.is.one(t)
	miss := make([]float64, len(y))
	for i := range y {
		miss[i] = math.Abs(y[i]-mean[i]) / std[i]
	}
	out := Table{Title: "Rows with the largest surprises", Caption: "These rows have the largest residuals in standard deviations. " + rowsFrom1,
		Head: append([]string{"row", "target", "prediction", "std", "residual / std"}, s.inputNames()...)}
	for _, i := range largest(miss) {
		row := []Cell{{Text: fmt.Sprint(i + 1)}, {Text: input(y[i])}, {Text: input(mean[i])}, {Text: number(std[i])}, {Text: fmt.Sprintf("%+.2f", (y[i]-mean[i])/std[i])}}
		out.Rows = append(out.Rows, append(row, s.inputs(i)...))
	}
	return out
}

// rowsFrom1 says how tables number rows.
const rowsFrom1 = "Rows are numbered from 1. The numbers do not count the heading of the file, nor rows that were left out."

// largest returns the indices of the largest numbers of v, the largest first.
func largest(v []float64) []int { return sorted(v, -1)[:min(worst, len(v))] }

// inputNames returns the names of the listed inputs: columns of the file, or nothing if the inputs are
// no columns.
func (s subject) inputNames() []string {
	names := s.set.Features
	if s.set.Encoding != nil {
		names = s.set.Encoding.Names()
	}
	return names[:min(maxInputs, len(names))]
}

// inputs returns the listed inputs of a row.
func (s subject) inputs(row int) (out []Cell) {
	d := len(s.set.Features)
	x, texts := s.x[row*d:(row+1)*d], []string(nil)
	if s.set.Encoding != nil {
		texts = s.set.Encoding.Cells(x)
	} else {
		for _, v := range x {
			texts = append(texts, input(v))
		}
	}
	for _, text := range texts[:len(s.inputNames())] {
		out = append(out, Cell{Text: text})
	}
	return out
}

// input returns the text of a number with six significant digits.
func input(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
