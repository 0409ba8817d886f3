package figure

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curve is a predictive distribution along a one-dimensional grid.
type Curve struct {
	Mean []float64 // means of y at the grid points
	Std  []float64 // standard deviations of y at the grid points, with noise
}

// Panel shows one method's predictive band over the data.
type Panel struct {
	Title         string    // title of the chart
	Curve         Curve     // predictions of the method
	Reference     *Curve    // second band, drawn as dashed outlines; may be nil
	ReferenceName string    // name of the second band in the legend
	Before        []float64 // inducing inputs before the fit; may be empty
	After         []float64 // inducing inputs after the fit; may be empty
}

// Bands describes panels with a common scale. Each shows the data, a mean and ±2σ.
type Bands struct {
	Grid   []float64 // inputs of the curves, ascending
	X, Y   []float64 // inputs and targets of the training rows
	HeldX  []float64 // inputs of the held-out rows; may be empty
	HeldY  []float64 // targets of the held-out rows
	Panels []Panel   // one panel for each method
}

// Charts returns a chart for each panel.
func (f Bands) Charts() ([]Chart, error) {
	low, high := f.limits()
	var charts []Chart
	for _, p := range f.Panels {
		c := Chart{Title: p.Title, Alt: p.alt(), plot: newPlot(p.Title, "x", "y")}
		if err := f.band(&c, p); err != nil {
			return nil, fmt.Errorf("figure: %s: %w", p.Title, err)
		}
		if err := f.points(&c, p, low); err != nil {
			return nil, fmt.Errorf("figure: %s: %w", p.Title, err)
		}
		c.plot.X.Min, c.plot.X.Max, c.plot.Y.Min, c.plot.Y.Max = f.Grid[0], f.Grid[len(f.Grid)-1], low, high
		charts = append(charts, c)
	}
	return charts, nil
}

// alt returns a description of the panel for readers who cannot see it.
func (p Panel) alt() string {
	s := p.Title + ": data, mean and band of two standard deviations"
	if p.Reference != nil {
		s += ", band of " + p.ReferenceName + " dashed"
	}
	return s
}

// limits returns the vertical range: the range of the data with some room. A wide band is cut off, so
// that it does not flatten the other bands.
func (f Bands) limits() (low, high float64) {
	y := slices.Concat(f.Y, f.HeldY)
	low, high = slices.Min(y), slices.Max(y)
	room := 0.6 * (high - low)
	return low - room, high + room
}

// band adds the mean, its ±2σ band, and the outlines of the reference.
func (f Bands) band(c *Chart, p Panel) error {
	area, err := plotter.NewPolygon(f.outline(p.Curve))
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = blueBand, 0
	c.add(area, "±2σ", "area", blueBand)
	c.add(line(f.offset(p.Curve, 0), blue, "line"), "mean", "line", blue)
	if p.Reference == nil {
		return nil
	}
	c.add(line(f.offset(*p.Reference, -2), vermilion, "dashed"), "±2σ of "+p.ReferenceName, "dashed", vermilion)
	c.add(line(f.offset(*p.Reference, 2), vermilion, "dashed"), "", "", nil)
	return nil
}

// points adds the data, and the inducing inputs along the lower edge.
func (f Bands) points(c *Chart, p Panel, low float64) error {
	high := slices.Max(f.Y)
	level := func(n int, at float64) []float64 { return slices.Repeat([]float64{low + at*(high-low)}, n) }
	rows := []struct {
		name  string          // name in the legend
		mark  string          // mark in the legend
		x, y  []float64       // coordinates of the points
		style draw.GlyphStyle // look of a point
	}{
		{"data", "dot", f.X, f.Y, draw.GlyphStyle{Color: black, Radius: vg.Points(1.2), Shape: draw.CircleGlyph{}}},
		{"validation data", "dot", f.HeldX, f.HeldY, draw.GlyphStyle{Color: vermilion, Radius: vg.Points(1.2), Shape: draw.CircleGlyph{}}},
		{"Z before the fit", "plus", p.Before, level(len(p.Before), 0.10), draw.GlyphStyle{Color: grey, Radius: vg.Points(3), Shape: draw.PlusGlyph{}}},
		{"Z after the fit", "triangle", p.After, level(len(p.After), 0.04), draw.GlyphStyle{Color: vermilion, Radius: vg.Points(2.6), Shape: draw.PyramidGlyph{}}},
	}
	for _, r := range rows {
		if len(r.x) == 0 {
			continue
		}
		s, err := plotter.NewScatter(points(r.x, r.y))
		if err != nil {
			return err
		}
		s.GlyphStyle = r.style
		c.add(s, r.name, r.mark, r.style.Color)
	}
	return nil
}

// offset returns mean + k·σ along the grid.
func (f Bands) offset(c Curve, k float64) plotter.XYs {
	xys := make(plotter.XYs, len(f.Grid))
	for i, x := range f.Grid {
		xys[i] = plotter.XY{X: x, Y: c.Mean[i] + k*c.Std[i]}
	}
	return xys
}

// outline returns the polygon along mean + 2σ and back along mean − 2σ.
func (f Bands) outline(c Curve) plotter.XYs {
	upper, lower := f.offset(c, 2), f.offset(c, -2)
	slices.Reverse(lower)
	return append(upper, lower...)
}
