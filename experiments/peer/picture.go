package main

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"github.com/go-valla/valla/internal/atomicfile"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// tileSize is the width of one plot of the picture.
const tileSize = 3.4 * vg.Inch

// lineColors are the colours of one thread, of several, and of memory, or of services. Colour-blind
// readers can tell them apart (Okabe and Ito 2008).
var lineColors = []color.RGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}}

// draw writes path.png and path.svg. They have a column for each sweep, with time above and
// memory below. All axes are logarithmic. Dots are measurements, and lines are fitted powers.
func draw(path string, all []growth) error {
	var times, memory []*plot.Plot
	for _, g := range all {
		t, m := newLogPlot(g.Size, "time of a step, ms"), newLogPlot(g.Size, "memory, MB")
		for i, c := range g.Seconds {
			if err := addCurve(t, plural(g.Threads[i], "thread"), g.Sizes, c, 1e3, lineColors[i%2]); err != nil {
				return err
			}
		}
		if err := addCurve(m, "program", g.Sizes, g.Bytes, 1e-6, lineColors[2]); err != nil {
			return err
		}
		ticks(t, g.Sizes)
		ticks(m, g.Sizes)
		times, memory = append(times, t), append(memory, m)
	}
	equalHeights(times)
	equalHeights(memory)
	return save(path, [][]*plot.Plot{times, memory}, vg.Length(len(all))*tileSize, 2*0.85*tileSize)
}

// save writes plots in rows and columns to path.png and path.svg.
func save(path string, plots [][]*plot.Plot, w, h vg.Length) error {
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(150))}
	for suffix, canvas := range map[string]interface {
		vg.CanvasSizer
		io.WriterTo
	}{".png": png, ".svg": vgsvg.New(w, h)} {
		paint(vgdraw.New(canvas), plots)
		err := atomicfile.Write(path+suffix, 0o644, func(w io.Writer) error { _, err := canvas.WriteTo(w); return err })
		if err != nil {
			return err
		}
	}
	return nil
}

// paint puts the plots in rows and columns on white.
func paint(c vgdraw.Canvas, plots [][]*plot.Plot) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	pad := vg.Points(10)
	tiles := vgdraw.Tiles{Rows: len(plots), Cols: len(plots[0]), PadX: pad, PadY: pad, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad}
	for i, row := range plot.Align(plots, tiles, c) {
		for j, tile := range row {
			plots[i][j].Draw(tile)
		}
	}
}

func newLogPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
	for _, s := range []*text.Style{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		s.Font.Variant, s.Font.Size = "Sans", font.Points(9.5)
	}
	return p
}

// addCurve adds the points and the fitted line of a curve.
func addCurve(p *plot.Plot, name string, sizes []float64, c curve, scale float64, col color.Color) error {
	var measured, fitted plotter.XYs
	for i, x := range sizes {
		measured = append(measured, plotter.XY{X: x, Y: scale * c.Values[i]})
		fitted = append(fitted, plotter.XY{X: x, Y: scale * c.Factor * math.Pow(x, c.Exponent)})
	}
	line, err := plotter.NewLine(fitted)
	if err != nil {
		return err
	}
	dots, err := plotter.NewScatter(measured)
	if err != nil {
		return err
	}
	line.Color, line.Width = col, vg.Points(1.2)
	dots.Color, dots.Shape, dots.Radius = col, vgdraw.CircleGlyph{}, vg.Points(2.6)
	p.Add(line, dots)
	p.Legend.Add(fmt.Sprintf("%s, exponent %.2f", name, c.Exponent), line, dots)
	return nil
}

// equalHeights gives plots the same vertical axis, with room for the legend.
func equalHeights(plots []*plot.Plot) {
	lo, hi := math.Inf(1), 0.0
	for _, p := range plots {
		lo, hi = min(lo, p.Y.Min), max(hi, p.Y.Max)
	}
	lo, hi = lo/1.3, hi*math.Pow(hi/lo, 0.25)
	for _, p := range plots {
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = lo, hi, plot.ConstantTicks(decades(lo, hi))
	}
}

// decades returns ticks at 1, 2 and 5 times powers of ten.
func decades(lo, hi float64) []plot.Tick {
	var list []plot.Tick
	for power := math.Pow(10, math.Floor(math.Log10(lo))); power <= hi; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * power; v >= lo && v <= hi {
				list = append(list, plot.Tick{Value: v, Label: fmt.Sprintf("%.6g", v)})
			}
		}
	}
	return list
}

// ticks sets ticks at the measured sizes.
func ticks(p *plot.Plot, sizes []float64) {
	var list []plot.Tick
	for _, n := range sizes {
		list = append(list, plot.Tick{Value: n, Label: fmt.Sprintf("%g", n)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(list)
}
