package experiments

import (
	"fmt"
	"image/color"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Curve is a predictive distribution along a one-dimensional grid.
type Curve struct {
	Mean, Std []float64 // of y, noise included, at the grid's points
}

// Panel shows one method's predictive band over the data.
type Panel struct {
	Title         string
	Curve         Curve
	Reference     *Curve    // a second band, drawn as dashed outlines; may be nil
	ReferenceName string    // its name in the legend
	Before, After []float64 // inducing inputs before and after the fit; may be empty
}

// Bands is a row of panels with a common scale: data, mean and ±2σ.
type Bands struct {
	Grid   []float64
	X, Y   []float64 // the data
	Panels []Panel
}

// Colours that stay apart for colour-blind readers (Okabe and Ito 2008).
var (
	black     = color.RGBA{40, 40, 40, 255}
	blue      = color.RGBA{0, 114, 178, 255}
	blueBand  = color.RGBA{190, 222, 243, 255}
	vermilion = color.RGBA{213, 94, 0, 255}
	grey      = color.RGBA{130, 130, 130, 255}
)

// Save draws the panels to path.png and path.svg.
func (f Bands) Save(path string) error {
	low, high := f.limits()
	var row []*plot.Plot
	for _, p := range f.Panels {
		pl, err := f.plot(p, low, high)
		if err != nil {
			return fmt.Errorf("experiments: drawing %s: %w", filepath.Base(path), err)
		}
		row = append(row, pl)
	}
	return savePlots(path, row...)
}

// limits spans the data, with room, so that one wide band does not flatten the rest.
func (f Bands) limits() (low, high float64) {
	low, high = f.Y[0], f.Y[0]
	for _, y := range f.Y {
		low, high = min(low, y), max(high, y)
	}
	room := 0.6 * (high - low)
	return low - room, high + room
}

func (f Bands) plot(p Panel, low, high float64) (*plot.Plot, error) {
	pl := newPlot(p.Title, "x", "y")
	if err := f.band(pl, p); err != nil {
		return nil, err
	}
	if err := f.points(pl, p, low); err != nil {
		return nil, err
	}
	pl.X.Min, pl.X.Max, pl.Y.Min, pl.Y.Max = f.Grid[0], f.Grid[len(f.Grid)-1], low, high
	return pl, nil
}

// band adds the mean, its ±2σ band, and the outlines of the reference.
func (f Bands) band(pl *plot.Plot, p Panel) error {
	area, err := plotter.NewPolygon(f.outline(p.Curve))
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = blueBand, 0
	mean, err := plotter.NewLine(f.offset(p.Curve, 0))
	if err != nil {
		return err
	}
	mean.Color, mean.Width = blue, vg.Points(1.5)
	pl.Add(area, mean)
	pl.Legend.Add("mean", mean)
	pl.Legend.Add("±2σ", area)
	if p.Reference == nil {
		return nil
	}
	for i, k := range []float64{-2, 2} {
		edge, err := plotter.NewLine(f.offset(*p.Reference, k))
		if err != nil {
			return err
		}
		edge.Color, edge.Width, edge.Dashes = vermilion, vg.Points(1), []vg.Length{vg.Points(4), vg.Points(3)}
		pl.Add(edge)
		if i == 0 {
			pl.Legend.Add("±2σ of "+p.ReferenceName, edge)
		}
	}
	return nil
}

// points adds the data, and the inducing inputs along the lower edge.
func (f Bands) points(pl *plot.Plot, p Panel, low float64) error {
	at := func(x []float64, y func(int) float64) plotter.XYs {
		xys := make(plotter.XYs, len(x))
		for i := range x {
			xys[i] = plotter.XY{X: x[i], Y: y(i)}
		}
		return xys
	}
	high := low
	for _, y := range f.Y {
		high = max(high, y)
	}
	rows := []struct {
		name  string
		xys   plotter.XYs
		style draw.GlyphStyle
	}{
		{"data", at(f.X, func(i int) float64 { return f.Y[i] }), draw.GlyphStyle{Color: black, Radius: vg.Points(1.2), Shape: draw.CircleGlyph{}}},
		{"Z before", at(p.Before, func(int) float64 { return low + 0.10*(high-low) }), draw.GlyphStyle{Color: grey, Radius: vg.Points(3), Shape: draw.PlusGlyph{}}},
		{"Z after", at(p.After, func(int) float64 { return low + 0.04*(high-low) }), draw.GlyphStyle{Color: vermilion, Radius: vg.Points(2.6), Shape: draw.PyramidGlyph{}}},
	}
	for _, r := range rows {
		if len(r.xys) == 0 {
			continue
		}
		s, err := plotter.NewScatter(r.xys)
		if err != nil {
			return err
		}
		s.GlyphStyle = r.style
		pl.Add(s)
		pl.Legend.Add(r.name, s)
	}
	return nil
}

// offset is mean + k·σ along the grid.
func (f Bands) offset(c Curve, k float64) plotter.XYs {
	xys := make(plotter.XYs, len(f.Grid))
	for i, x := range f.Grid {
		xys[i] = plotter.XY{X: x, Y: c.Mean[i] + k*c.Std[i]}
	}
	return xys
}

// outline runs along mean + 2σ and back along mean − 2σ.
func (f Bands) outline(c Curve) plotter.XYs {
	upper, lower := f.offset(c, 2), f.offset(c, -2)
	for i := len(lower) - 1; i >= 0; i-- {
		upper = append(upper, lower[i])
	}
	return upper
}
