package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-valla/valla/internal/kernel"
)

// Series is a named curve.
type Series struct {
	Name string    // name in the legend
	X, Y []float64 // coordinates of the points
	More bool      // the series goes on with the one before, in its colour and without a name in the legend
}

// Axes holds titles and options of a chart of curves.
type Axes struct {
	Title    string  // title of the chart
	X, Y     string  // titles of the axes
	Diagonal bool    // whether to draw a dashed line y = x
	Zero     bool    // whether the vertical axis begins at 0
	Log      bool    // whether the vertical axis is logarithmic; boxes need positive values, and points of curves that are not positive are left out
	LogX     bool    // whether the horizontal axis of curves is logarithmic; points whose x is not positive are left out
	Top      float64 // upper end of the vertical axis, if curves go beyond; 0 means no end
}

// Curves draws lines. Points that are not finite are left out.
func Curves(a Axes, series []Series) Chart {
	c := Chart{Title: a.Title, plot: newPlot(a.Title, a.X, a.Y)}
	if a.Diagonal {
		c.plot.Add(line(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, grey, "dashed"))
	}
	series = positive(series, a)
	c.finish(a, c.curves(series))
	for axis, log := range map[*plot.Axis]bool{&c.plot.X: a.LogX, &c.plot.Y: a.Log} {
		if log && axis.Min > 0 && axis.Min <= axis.Max {
			powers(axis)
		}
	}
	if a.Top != 0 && a.Top > c.plot.Y.Min {
		c.plot.Y.Max = min(c.plot.Y.Max, a.Top)
	}
	return c
}

// positive leaves out the points that have no logarithm on an axis that needs it.
func positive(series []Series, a Axes) []Series {
	out := make([]Series, len(series))
	for i, s := range series {
		out[i].Name, out[i].More = s.Name, s.More
		for k, x := range s.X {
			if (x > 0 || !a.LogX) && (s.Y[k] > 0 || !a.Log) {
				out[i].X, out[i].Y = append(out[i].X, x), append(out[i].Y, s.Y[k])
			}
		}
	}
	return out
}

// finish sets the vertical axis and describes the chart, which shows series with the given names.
func (c *Chart) finish(a Axes, names []string) {
	if a.Zero {
		c.plot.Y.Min = min(c.plot.Y.Min, 0)
	}
	c.Alt = fmt.Sprintf("%s: %s against %s of %s", a.Title, a.Y, a.X, strings.Join(names, ", "))
}

// curves adds lines and returns the names of the series that have points.
func (c *Chart) curves(series []Series) (names []string) {
	marks := []string{"line", "dashed", "dotted"}
	i := -1
	for _, s := range series {
		if !s.More {
			i++
		}
		xys := points(s.X, s.Y)
		if len(xys) == 0 {
			continue
		}
		if s.More {
			s.Name = ""
		}
		col, mark := palette[i%len(palette)], marks[min(i/len(palette), len(marks)-1)]
		c.add(line(xys, col, mark), s.Name, mark, col)
		if !s.More {
			names = append(names, s.Name)
		}
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
	Name   string    // name at the axis or in the legend
	Values []float64 // sample
}

// narrowBoxes is the largest number of boxes in a chart of the usual width.
const narrowBoxes = 8

// Boxes draws box plots. A box reaches from the first to the third quartile, with a line at the median.
// A chart of many boxes is wide.
func Boxes(a Axes, groups []Group) (Chart, error) {
	pl := newPlot(a.Title, a.X, a.Y)
	c := Chart{Title: a.Title, Wide: len(groups) > narrowBoxes, plot: pl}
	room := c.width() * 0.6 / vg.Length(max(1, len(groups)))
	var names []string
	for _, g := range groups {
		box, err := plotter.NewBoxPlot(min(vg.Points(22), room), float64(len(names)), plotter.Values(g.Values))
		if err != nil {
			return Chart{}, fmt.Errorf("figure: %s: %s: %w", a.Title, g.Name, err)
		}
		if a.Log && box.Min <= 0 {
			return Chart{}, fmt.Errorf("figure: %s: %s: expected positive values for a logarithmic axis, found %g", a.Title, g.Name, box.Min)
		}
		box.FillColor = blueBand
		pl.Add(box)
		names = append(names, g.Name)
	}
	pl.NominalX(names...)
	pl.X.Tick.Label.Rotation, pl.X.Tick.Label.XAlign, pl.X.Tick.Label.YAlign = math.Pi/6, draw.XRight, draw.YTop
	if a.Log {
		powers(&pl.Y)
	} else {
		pl.Y.Min = min(pl.Y.Min, 0)
	}
	c.Alt = fmt.Sprintf("%s: box plots of %s for %q", a.Title, a.Y, names)
	return c, nil
}

// powers makes an axis logarithmic, from a power of ten to a power of ten.
func powers(a *plot.Axis) {
	lo, hi := math.Floor(math.Log10(a.Min)), math.Ceil(math.Log10(a.Max))
	a.Scale, a.Tick.Marker = plot.LogScale{}, powerTicks{}
	a.Min, a.Max = math.Pow(10, lo), math.Pow(10, max(hi, lo+1))
}

// Level is a place of an axis with one sample for each series.
type Level struct {
	Name   string  // name at the axis
	Groups []Group // samples by series
}

// LevelBoxes draws the box plots of all series side by side at each level. A series has the same colour
// at all levels, which the legend shows.
func LevelBoxes(a Axes, levels []Level) (Chart, error) {
	pl := newPlot(a.Title, a.X, a.Y)
	c := Chart{Title: a.Title, Wide: true, plot: pl}
	var names, series []string
	for i, l := range levels {
		names = append(names, l.Name)
		for _, g := range l.Groups {
			k := slices.Index(series, g.Name)
			if k < 0 {
				k, series = len(series), append(series, g.Name)
			}
			room := 0.8 / float64(len(l.Groups))
			width := c.width() * 0.8 * vg.Length(room) / vg.Length(len(levels)+1)
			box, err := plotter.NewBoxPlot(width, float64(i)+room*(float64(k)-float64(len(l.Groups)-1)/2), plotter.Values(g.Values))
			if err != nil {
				return Chart{}, fmt.Errorf("figure: %s: %s: %w", a.Title, g.Name, err)
			}
			col := palette[k%len(palette)]
			box.FillColor = color.NRGBA{col.R, col.G, col.B, 96}
			box.BoxStyle.Color, box.MedianStyle.Color, box.WhiskerStyle.Color, box.GlyphStyle.Color = col, col, col, col
			pl.Add(box)
		}
	}
	for k, name := range series {
		col := palette[k%len(palette)]
		c.key(&plotter.Polygon{Color: col}, name, "area", col)
	}
	pl.NominalX(names...)
	pl.Y.Min = min(pl.Y.Min, 0)
	c.Alt = fmt.Sprintf("%s: box plots of %s at %s %q for %q", a.Title, a.Y, a.X, names, series)
	return c, nil
}

// points returns the points with finite coordinates.
func points(x, y []float64) plotter.XYs {
	var xys plotter.XYs
	for i := range x {
		if kernel.Finite(x[i] + y[i]) {
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
