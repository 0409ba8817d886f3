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
	Name    string // short, as in the name of a file
	Title   string // the question
	Caption string // what is shown, and what to see
	Charts  []figure.Chart
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

// firstSeeds returns one finished cell of each row, that of the first seed.
func firstSeeds(f result.Found, data string) []*result.Cell {
	var cells []*result.Cell
	for _, c := range f.Done {
		if c == nil || c.Data != data || c.Refused != "" || slices.ContainsFunc(cells, func(o *result.Cell) bool { return o.Row == c.Row }) {
			continue
		}
		cells = append(cells, c)
	}
	return cells
}

// largest returns one cell of each method: of those whose names differ only in numbers, the last.
func largest(cells []*result.Cell) (out []*result.Cell) {
	place := map[string]int{}
	for _, c := range cells {
		name := numbers.ReplaceAllString(c.Row, "")
		if k, there := place[name]; there {
			out[k] = c
			continue
		}
		place[name], out = len(out), append(out, c)
	}
	return out
}

// numbers are those in the name of a row, by which the rows of one method differ.
var numbers = regexp.MustCompile(`\d+`)

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

// families returns the panels of the cells with a band, those of one method together, and
// sets the data of b.
func families(cells []*result.Cell, b *figure.Bands) (out [][]figure.Panel, err error) {
	var exact *figure.Curve
	place := map[string]int{}
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
		name := numbers.ReplaceAllString(c.Row, "")
		k, there := place[name]
		if !there {
			k = len(out)
			place[name], out = k, append(out, nil)
		}
		out[k] = append(out[k], p)
	}
	return out, nil
}

// learning draws validation NLL against steps and against seconds. Methods differ in both by powers
// of ten. What the first steps gain is cut off, since it would hide what the others do.
func learning(cells []*result.Cell) []figure.Chart {
	var steps, seconds []figure.Series
	for _, c := range cells {
		if c.Method == "map" || len(c.Curves.History) < 2 {
			continue
		}
		s, t := figure.Series{Name: c.Row}, figure.Series{Name: c.Row}
		for _, p := range c.Curves.History {
			s.X, s.Y = append(s.X, float64(p.Step)), append(s.Y, float64(p.Validation))
			t.X, t.Y = append(t.X, p.Seconds), append(t.Y, float64(p.Validation))
		}
		steps, seconds = append(steps, s), append(seconds, t)
	}
	if steps == nil {
		return nil
	}
	chart := func(title, x string, curves []figure.Series) figure.Chart {
		return figure.Curves(figure.Axes{Title: title, X: x, Y: "validation NLL", LogX: true, Top: settled(curves)}, curves)
	}
	return []figure.Chart{chart("against steps", "steps", steps), chart("against time", "seconds", seconds)}
}

// settled is where the axis of losses ends: above the smaller half of the values of each curve, by half
// of the range of these; 0 where they have no range.
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
	var series []figure.Series
	for _, c := range cells {
		if c.Curves.Coverage == nil {
			continue
		}
		s := figure.Series{Name: c.Row, X: []float64{0}, Y: []float64{0}}
		for i, v := range c.Curves.Coverage {
			s.X, s.Y = append(s.X, float64(i+1)/float64(len(c.Curves.Coverage)+1)), append(s.Y, v)
		}
		s.X, s.Y = append(s.X, 1), append(s.Y, 1)
		series = append(series, s)
	}
	if series == nil {
		return nil
	}
	return []figure.Chart{figure.Curves(figure.Axes{Title: "coverage", X: "α", Y: "coverage", Diagonal: true}, series)}
}

// rotations draws scores against the angle by which test images are turned.
func rotations(cells []*result.Cell) []figure.Chart {
	curve := func(name string, value func(result.Turned) result.Number) figure.Chart {
		var series []figure.Series
		for _, c := range cells {
			s := figure.Series{Name: c.Row}
			for _, r := range c.Curves.Rotations {
				s.X, s.Y = append(s.X, r.Degrees), append(s.Y, float64(value(r)))
			}
			if s.X != nil {
				series = append(series, s)
			}
		}
		return figure.Curves(figure.Axes{Title: name, X: "degrees", Y: name}, series)
	}
	if !slices.ContainsFunc(cells, func(c *result.Cell) bool { return c.Curves.Rotations != nil }) {
		return nil
	}
	return []figure.Chart{
		curve("NLL", func(r result.Turned) result.Number { return r.NLL }),
		curve("ECE", func(r result.Turned) result.Number { return r.ECE }),
		curve("ACC", func(r result.Turned) result.Number { return r.ACC }),
	}
}

// calibration draws the reliability of all methods in one chart, and the entropies of each
// method in a chart of its own.
func calibration(cells []*result.Cell) (reliable, entropies []figure.Chart) {
	var lines []figure.Series
	for _, c := range cells {
		s := figure.Series{Name: c.Row}
		for _, p := range c.Curves.Reliable {
			s.X, s.Y = append(s.X, p.X), append(s.Y, p.Y)
		}
		if s.X != nil {
			lines = append(lines, s)
		}
		if e := c.Curves.Entropy; e != nil && e.Out != nil {
			entropies = append(entropies, figure.Curves(figure.Axes{Title: c.Row, X: "predictive entropy, nats", Y: "density"},
				[]figure.Series{figure.Histogram("test images", e.In, e.Max), figure.Histogram("out of distribution", e.Out, e.Max)}))
		}
	}
	if lines == nil {
		return nil, entropies
	}
	return []figure.Chart{figure.Curves(figure.Axes{Title: "reliability", X: "confidence", Y: "accuracy", Diagonal: true}, lines)}, entropies
}

// leastTime in seconds stands for times that were measured as 0.
const leastTime = 1e-3

// times draws a box plot of the CPU seconds that each method took, over seeds.
// There is none of a single method.
func times(f result.Found, data string) ([]figure.Chart, error) {
	var groups []figure.Group
	for i, id := range f.Cells {
		c := f.Done[i]
		if c == nil || id.Data != data || c.Fit.Runs == 0 || c.Refused != "" {
			continue
		}
		k := slices.IndexFunc(groups, func(g figure.Group) bool { return g.Name == id.Row })
		if k < 0 {
			groups, k = append(groups, figure.Group{Name: id.Row}), len(groups)
		}
		groups[k].Values = append(groups[k].Values, max(c.Fit.CPU, leastTime))
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
	for _, score := range []struct {
		name  string
		value func(result.Corrupt) result.Number
	}{{"NLL", corruptNLL}, {"ECE", func(c result.Corrupt) result.Number { return c.ECE }}} {
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

func corruptNLL(c result.Corrupt) result.Number { return c.NLL }

// atLevel returns the finite scores of a cell on test images under corruptions of one level.
func atLevel(c *result.Cell, level int, value func(result.Corrupt) result.Number) []float64 {
	var out []float64
	for _, x := range c.Curves.Corrupted {
		if v := float64(value(x)); x.Level == level && v-v == 0 {
			out = append(out, v)
		}
	}
	return out
}
