package report

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
)

// Figure is a titled row of charts.
type Figure struct {
	Title, Caption string
	Charts         []figure.Chart
}

// figures returns the pictures of one data set. There is one where a cell has its curve.
func figures(f result.Found, data string) ([]Figure, error) {
	first := firstSeeds(f, data)
	var out []Figure
	add := func(title, caption string, charts ...figure.Chart) {
		if len(charts) > 0 {
			out = append(out, Figure{title, caption, charts})
		}
	}
	panels, against, err := bands(first)
	if err != nil {
		return nil, err
	}
	add("Predictive bands", "Data, mean and two standard deviations of y. The dashed lines are exact LLA's band.", panels...)
	add("Few and many points", "The same for methods with several numbers of points; triangles are the inducing inputs after the fit.", against...)
	add("Learning curves", "Negative log-likelihood on the validation rows during the fit, of standardised targets in regression; first seed.", learning(first)...)
	add("Coverage", "Share of test targets inside the central interval of probability α; the dashed diagonal is perfect, CQM is the area between.", coverage(first)...)
	add("Turned test images", "Probit probabilities, test images turned by 0° to 180°.", rotations(first)...)
	worse, err := corruptions(first)
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", data, err)
	}
	add("Corrupted test images", "Box plots over the kinds of corruption; the number after a method is the severity.", worse...)
	add("Reliability and entropy", "Accuracy against confidence in 15 bins; predictive entropy of the test images and of those out of distribution.", calibration(first)...)
	times, err := times(f, data)
	if err != nil {
		return nil, err
	}
	add("Time to fit", "Over seeds; the box holds the middle half, its line is the median.", times...)
	return out, nil
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
		if c.Row == "LLA" {
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

// learning draws validation NLL against steps and against seconds.
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
	return []figure.Chart{
		figure.Curves(figure.Axes{Title: "against steps", X: "steps", Y: "validation NLL"}, steps),
		figure.Curves(figure.Axes{Title: "against time", X: "seconds", Y: "validation NLL"}, seconds),
	}
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
			series = append(series, s)
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
// method in another.
func calibration(cells []*result.Cell) []figure.Chart {
	var lines []figure.Series
	var charts []figure.Chart
	for _, c := range cells {
		if c.Curves.Entropy == nil {
			continue
		}
		s := figure.Series{Name: c.Row}
		for _, p := range c.Curves.Reliable {
			s.X, s.Y = append(s.X, p.X), append(s.Y, p.Y)
		}
		lines = append(lines, s)
		e := c.Curves.Entropy
		charts = append(charts, figure.Curves(figure.Axes{Title: c.Row, X: "predictive entropy, nats", Y: "density"},
			[]figure.Series{figure.Histogram("test images", e.In, e.Max), figure.Histogram("out of distribution", e.Out, e.Max)}))
	}
	if lines == nil {
		return nil
	}
	r := figure.Curves(figure.Axes{Title: "reliability", X: "confidence", Y: "accuracy", Diagonal: true}, lines)
	return append([]figure.Chart{r}, charts...)
}

// times draws a box plot of the seconds that each method took, over seeds.
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
		groups[k].Values = append(groups[k].Values, c.Fit.Wall)
	}
	if len(groups) == 0 {
		return nil, nil
	}
	chart, err := figure.Boxes("seconds to fit", "seconds", groups)
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", data, err)
	}
	return []figure.Chart{chart}, nil
}

// corruptions draws a box over the kinds of corruption for each method and severity. Scores
// that are not finite are left out.
func corruptions(cells []*result.Cell) ([]figure.Chart, error) {
	var charts []figure.Chart
	for _, score := range []struct {
		name  string
		value func(result.Corrupt) result.Number
	}{
		{"NLL", func(c result.Corrupt) result.Number { return c.NLL }}, {"ECE", func(c result.Corrupt) result.Number { return c.ECE }},
	} {
		var groups []figure.Group
		for level := 1; level <= 5; level++ {
			for _, c := range cells {
				if v := atLevel(c, level, score.value); v != nil {
					groups = append(groups, figure.Group{Name: fmt.Sprintf("%s, %d", c.Row, level), Values: v})
				}
			}
		}
		if groups == nil {
			continue
		}
		chart, err := figure.Boxes(score.name, score.name, groups)
		if err != nil {
			return nil, err
		}
		chart.Wide = true
		charts = append(charts, chart)
	}
	return charts, nil
}

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
