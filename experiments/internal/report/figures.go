package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
)

// Figure is a row of charts that answers a question.
type Figure struct {
	Name    string         // short, as in the name of a file
	Title   string         // the question
	Caption string         // what is shown, and what to see
	Charts  []figure.Chart // the charts, side by side
}

// figures returns the pictures of one data set. There is one where a cell has its curve.
func figures(f result.Found, data string) ([]Figure, error) {
	first := firstSeeds(f, data)
	panels, against, err := bands(first)
	if err != nil {
		return nil, err
	}
	first = largest(first)
	worse, err := corruptions(first)
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", data, err)
	}
	took, err := times(f, data)
	if err != nil {
		return nil, err
	}
	reliable, entropies := calibration(first)
	all := []Figure{
		{"bands", "Do the error bars open where there are no data?", bandCaption(first), panels},
		{"points", "How many points does a sparse method need?", pointCaption, against},
		{"learning", "How fast does a fit learn, and does it overfit?", learningCaption, learning(first)},
		{"coverage", "Do intervals hold what they promise?", coverageCaption(first), coverage(first)},
		{"rotations", "Does a method notice that images are turned?", rotationCaption(first), rotations(first)},
		{"corruptions", "Does a method notice that images are corrupted?", corruptionCaption(first), worse},
		{"reliability", "Is a confidence a probability?", reliabilityCaption(first), reliable},
		{"entropy", "Does the entropy detect images of another data set?", entropyCaption(first), entropies},
		{"time", "How long does a fit take?", timeCaption, took},
	}
	return slices.DeleteFunc(all, func(f Figure) bool { return len(f.Charts) == 0 }), nil
}

// firstSeeds returns, for each row, the finished cell of the smallest seed.
func firstSeeds(f result.Found, data string) []*result.Cell {
	var cells []*result.Cell
	for _, c := range f.Done {
		if c == nil || c.Data != data || c.Refused != "" {
			continue
		}
		switch i := slices.IndexFunc(cells, func(o *result.Cell) bool { return o.Row == c.Row }); {
		case i < 0:
			cells = append(cells, c)
		case c.Seed < cells[i].Seed:
			cells[i] = c
		}
	}
	return cells
}

// largest returns the last cell of each method. The names of a method's rows differ only in numbers.
func largest(cells []*result.Cell) (out []*result.Cell) {
	for _, family := range result.Grouped(cells, func(c *result.Cell) string { return familyOf(c.Row) }) {
		out = append(out, family[len(family)-1])
	}
	return out
}

// numbers matches the numbers in the name of a row, in which the rows of one method differ.
var numbers = regexp.MustCompile(`\d+`)

// familyOf returns the name of a row without numbers.
func familyOf(row string) string { return numbers.ReplaceAllString(row, "") }

// bands returns two groups of panels with exact LLA's band. The first has a panel for each
// method, with the largest number of points where it has several. The second has a panel for
// each number of points.
func bands(cells []*result.Cell) (panels, against []figure.Chart, err error) {
	var b figure.Bands
	list, err := families(cells, &b)
	if err != nil || list == nil {
		return nil, nil, err
	}
	var all, compared []figure.Panel
	for _, family := range list {
		last := family[len(family)-1]
		if len(family) > 1 {
			compared = append(compared, family...)
			last.Before, last.After = nil, nil
		}
		all = append(all, last)
	}
	b.Panels = all
	if panels, err = b.Charts(); err != nil {
		return nil, nil, err
	}
	b.Panels = compared
	against, err = b.Charts()
	return panels, against, err
}

// families returns the panels of the cells with a band, grouped by method, and sets the data of b.
func families(cells []*result.Cell, b *figure.Bands) (out [][]figure.Panel, err error) {
	var exact *figure.Curve
	var all []figure.Panel
	for _, c := range cells {
		band := c.Curves.Band
		if band == nil {
			continue
		}
		if err := band.Check(); err != nil {
			return nil, fmt.Errorf("report: %s, %s, seed %d: %w", c.Data, c.Row, c.Seed, err)
		}
		b.Grid, b.X, b.Y, b.HeldX, b.HeldY = band.Grid, band.X, band.Y, band.HeldX, band.HeldY
		p := figure.Panel{Title: c.Row, Curve: figure.Curve{Mean: band.Mean, Std: band.Std}, After: band.After, Before: band.Before}
		if isExact(c) {
			exact = &p.Curve
		} else {
			p.Reference, p.ReferenceName = exact, "LLA"
		}
		all = append(all, p)
	}
	return result.Grouped(all, func(p figure.Panel) string { return familyOf(p.Title) }), nil
}

// seriesOf returns the curve of each cell that has points.
func seriesOf(cells []*result.Cell, points func(*result.Cell) []result.XY) (out []figure.Series) {
	for _, c := range cells {
		s := figure.Series{Name: c.Row}
		for _, p := range points(c) {
			s.X, s.Y = append(s.X, p.X), append(s.Y, p.Y)
		}
		if s.X != nil {
			out = append(out, s)
		}
	}
	return out
}

// chart returns a chart of curves, or none without curves.
func chart(a figure.Axes, curves []figure.Series) []figure.Chart {
	if curves == nil {
		return nil
	}
	return []figure.Chart{figure.Curves(a, curves)}
}

// learning draws validation NLL against steps and against seconds. Methods differ in both by powers
// of ten. The gain of the first steps is cut off, since it would hide the later steps.
func learning(cells []*result.Cell) []figure.Chart {
	against := func(title, x string, at func(result.Point) float64) []figure.Chart {
		curves := seriesOf(cells, func(c *result.Cell) (out []result.XY) {
			if c.Method == "map" || len(c.Curves.History) < 2 {
				return nil
			}
			for _, p := range c.Curves.History {
				out = append(out, result.XY{X: at(p), Y: float64(p.Validation)})
			}
			return out
		})
		return chart(figure.Axes{Title: title, X: x, Y: "validation NLL", LogX: true, Top: settled(curves)}, curves)
	}
	return append(against("against steps", "steps", func(p result.Point) float64 { return float64(p.Step) }),
		against("against time", "seconds", func(p result.Point) float64 { return p.Seconds })...)
}

// settled returns the end of the axis of losses. It lies above the smaller half of the values of each
// curve, by half of the range of these values. It is 0 where these values have no range.
func settled(curves []figure.Series) float64 {
	lowest, top := math.Inf(1), math.Inf(-1)
	for _, s := range curves {
		y := slices.DeleteFunc(slices.Sorted(slices.Values(s.Y)), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
		if len(y) > 0 {
			lowest, top = min(lowest, y[0]), max(top, y[(len(y)-1)/2])
		}
	}
	if top <= lowest || math.IsInf(top, 0) {
		return 0
	}
	return top + (top-lowest)/2
}

// coverage draws the coverage of central intervals against their probability.
func coverage(cells []*result.Cell) []figure.Chart {
	return chart(figure.Axes{Title: "coverage", X: "α", Y: "coverage", Diagonal: true}, seriesOf(cells, func(c *result.Cell) []result.XY {
		if c.Curves.Coverage == nil {
			return nil
		}
		out := []result.XY{{}}
		for i, v := range c.Curves.Coverage {
			out = append(out, result.XY{X: float64(i+1) / float64(len(c.Curves.Coverage)+1), Y: v})
		}
		return append(out, result.XY{X: 1, Y: 1})
	}))
}

// rotations draws scores against the angle by which test images are turned.
func rotations(cells []*result.Cell) (charts []figure.Chart) {
	for _, score := range changedScores {
		charts = append(charts, chart(figure.Axes{Title: score.name, X: "degrees", Y: score.name}, seriesOf(cells, func(c *result.Cell) (out []result.XY) {
			for _, r := range c.Curves.Rotations {
				out = append(out, result.XY{X: r.Degrees, Y: float64(score.value(r.Changed))})
			}
			return out
		}))...)
	}
	return charts
}

// calibration draws the reliability of all methods in one chart, and the entropies of each
// method in a chart of its own.
func calibration(cells []*result.Cell) (reliable, entropies []figure.Chart) {
	for _, c := range cells {
		if e := c.Curves.Entropy; e != nil && e.Out != nil {
			entropies = append(entropies, figure.Curves(figure.Axes{Title: c.Row, X: "predictive entropy, nats", Y: "density"},
				[]figure.Series{figure.Histogram("test images", e.In, e.Max), figure.Histogram("out of distribution", e.Out, e.Max)}))
		}
	}
	lines := seriesOf(cells, func(c *result.Cell) []result.XY { return c.Curves.Reliable })
	return chart(figure.Axes{Title: "reliability", X: "confidence", Y: "accuracy", Diagonal: true}, lines), entropies
}

// leastTime in seconds stands for times that were measured as 0.
const leastTime = 1e-3

// times draws a box plot of the CPU seconds that each method took, over seeds.
// There is none of a single method.
func times(f result.Found, data string) ([]figure.Chart, error) {
	timed := slices.DeleteFunc(slices.Clone(f.Done), func(c *result.Cell) bool {
		return c == nil || c.Data != data || c.Fit.Runs == 0 || c.Refused != ""
	})
	var groups []figure.Group
	for _, cells := range result.Grouped(timed, func(c *result.Cell) string { return c.Row }) {
		g := figure.Group{Name: cells[0].Row}
		for _, c := range cells {
			g.Values = append(g.Values, max(c.Fit.CPU, leastTime))
		}
		groups = append(groups, g)
	}
	if len(groups) < 2 {
		return nil, nil // nothing to compare
	}
	chart, err := figure.Boxes(figure.Axes{Title: "seconds to fit", Y: "CPU seconds", Log: true}, groups)
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", data, err)
	}
	return []figure.Chart{chart}, nil
}

// corruptions draws a box over the kinds of corruption for each method at each severity. Scores
// that are not finite are left out.
func corruptions(cells []*result.Cell) ([]figure.Chart, error) {
	var charts []figure.Chart
	for _, score := range changedScores[:2] {
		var levels []figure.Level
		for level := 1; level <= 5; level++ {
			l := figure.Level{Name: strconv.Itoa(level)}
			for _, c := range cells {
				if v := atLevel(c, level, score.value); v != nil {
					l.Groups = append(l.Groups, figure.Group{Name: c.Row, Values: v})
				}
			}
			if l.Groups != nil {
				levels = append(levels, l)
			}
		}
		if levels == nil {
			continue
		}
		chart, err := figure.LevelBoxes(figure.Axes{Title: score.name, X: "severity", Y: score.name}, levels)
		if err != nil {
			return nil, err
		}
		charts = append(charts, chart)
	}
	return charts, nil
}

// changedScores are the scores on changed test images that figures show. Corruptions have the first two.
var changedScores = []struct {
	name  string                             // of the score
	value func(result.Changed) result.Number // takes the score
}{
	{"NLL", changedNLL},
	{"ECE", func(c result.Changed) result.Number { return c.ECE }},
	{"ACC", func(c result.Changed) result.Number { return c.ACC }},
}

func changedNLL(c result.Changed) result.Number { return c.NLL }

// atLevel returns the finite scores of a cell on test images under corruptions of one level.
func atLevel(c *result.Cell, level int, value func(result.Changed) result.Number) []float64 {
	var out []float64
	for _, x := range c.Curves.Corrupted {
		if v := float64(value(x.Changed)); x.Level == level && v-v == 0 {
			out = append(out, v)
		}
	}
	return out
}
