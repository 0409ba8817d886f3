package figure

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is a named curve.
type Series struct {
	Name string
	X, Y []float64
}

// Axes holds titles and options of a chart of curves.
type Axes struct {
	Title, X, Y string
	Diagonal    bool // a dashed line y = x
	Zero        bool // the vertical axis begins at 0
}

// Curves draws lines. Points that are not finite are left out.
func Curves(a Axes, series []Series) Chart {
	c := Chart{Title: a.Title, plot: newPlot(a.Title, a.X, a.Y)}
	if a.Diagonal {
		c.plot.Add(line(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, grey, "dashed"))
	}
	c.finish(a, c.curves(series))
	return c
}

// finish sets the axis and describes the chart, which shows what has these names.
func (c *Chart) finish(a Axes, names []string) {
	if a.Zero {
		c.plot.Y.Min = min(c.plot.Y.Min, 0)
	}
	c.Alt = fmt.Sprintf("%s: %s against %s of %s", a.Title, a.Y, a.X, strings.Join(names, ", "))
}

// curves adds lines and returns the names of those that have points.
func (c *Chart) curves(series []Series) (names []string) {
	marks := []string{"line", "dashed", "dotted"}
	for i, s := range series {
		xys := points(s.X, s.Y)
		if len(xys) == 0 {
			continue
		}
		col, mark := palette[i%len(palette)], marks[min(i/len(palette), len(marks)-1)]
		c.add(line(xys, col, mark), s.Name, mark, col)
		names = append(names, s.Name)
	}
	return names
}

// Cloud draws points, and lines above them. Points that are not finite are left out.
func Cloud(a Axes, cloud Series, series []Series) Chart {
	c := Chart{Title: a.Title, plot: newPlot(a.Title, a.X, a.Y)}
	dots := &plotter.Scatter{XYs: points(cloud.X, cloud.Y), GlyphStyle: draw.GlyphStyle{Color: blueDots, Radius: vg.Points(1.8), Shape: draw.CircleGlyph{}}}
	c.add(dots, cloud.Name, "dot", blueDots)
	c.finish(a, append([]string{cloud.Name}, c.curves(series)...))
	return c
}

// Histogram returns the outline of densities in equal bins of [0, top].
func Histogram(name string, density []float64, top float64) Series {
	s, step := Series{Name: name}, top/float64(len(density))
	for i, d := range density {
		s.X = append(s.X, float64(i)*step, float64(i+1)*step)
		s.Y = append(s.Y, d, d)
	}
	return s
}

// Group is a named sample.
type Group struct {
	Name   string
	Values []float64
}

// narrowBoxes is for how many boxes, with their names, a chart of the usual width has room.
const narrowBoxes = 8

// Boxes draws box plots. A box reaches from the first to the third quartile, and the line in it
// is the median. The chart of many is wide.
func Boxes(title, y string, groups []Group) (Chart, error) {
	pl := newPlot(title, "", y)
	c := Chart{Title: title, Wide: len(groups) > narrowBoxes, plot: pl}
	room := c.width() * 0.6 / vg.Length(max(1, len(groups)))
	var names []string
	for _, g := range groups {
		box, err := plotter.NewBoxPlot(min(vg.Points(22), room), float64(len(names)), plotter.Values(g.Values))
		if err != nil {
			return Chart{}, fmt.Errorf("figure: %s: %s: %w", title, g.Name, err)
		}
		box.FillColor = blueBand
		pl.Add(box)
		names = append(names, g.Name)
	}
	pl.NominalX(names...)
	pl.X.Tick.Label.Rotation, pl.X.Tick.Label.XAlign, pl.X.Tick.Label.YAlign = math.Pi/6, draw.XRight, draw.YTop
	pl.Y.Min = min(pl.Y.Min, 0)
	c.Alt = fmt.Sprintf("%s: box plots of %s for %q", title, y, names)
	return c, nil
}

// points returns the points with finite coordinates.
func points(x, y []float64) plotter.XYs {
	var xys plotter.XYs
	for i := range x {
		if v := x[i] + y[i]; v-v == 0 {
			xys = append(xys, plotter.XY{X: x[i], Y: y[i]})
		}
	}
	return xys
}

// line returns the line through points, drawn as a mark says.
func line(xys plotter.XYs, c color.Color, mark string) *plotter.Line {
	l := &plotter.Line{XYs: xys, LineStyle: draw.LineStyle{Color: c, Width: vg.Points(1.4)}}
	switch mark {
	case "dashed":
		l.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	case "dotted":
		l.Dashes = []vg.Length{vg.Points(1), vg.Points(2)}
	}
	return l
}
