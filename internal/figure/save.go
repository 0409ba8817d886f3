package figure

import (
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"slices"

	"github.com/go-valla/valla/internal/atomicfile"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Keys returns the legend of all charts, without repetitions.
func Keys(charts []Chart) []Key {
	var keys []Key
	for _, c := range charts {
		for _, k := range c.Keys {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// perRow is the number of charts side by side in a file.
const perRow = 3

// rows divides charts into rows of a file. A wide chart has a row of its own.
func rows(charts []Chart) (out [][]Chart) {
	for _, c := range charts {
		last := len(out) - 1
		if last < 0 || c.Wide || out[last][0].Wide || len(out[last]) == perRow {
			out = append(out, []Chart{c})
			continue
		}
		out[last] = append(out[last], c)
	}
	return out
}

// canvas is the drawing of a file.
type canvas interface {
	vg.CanvasSizer
	io.WriterTo
}

// Save draws charts, in rows below their common legend, on white, to path.png and path.svg.
func Save(path string, charts ...Chart) error {
	if err := SavePNG(path+".png", charts...); err != nil {
		return err
	}
	return save(path+".svg", func(w, h vg.Length) canvas { return vgsvg.New(w, h) }, charts)
}

// SavePNG draws charts like Save, to one file of pixels.
func SavePNG(path string, charts ...Chart) error {
	return save(path, func(w, h vg.Length) canvas {
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(110))}
	}, charts)
}

// save draws charts to a file, on a canvas of the size that they need.
func save(path string, on func(w, h vg.Length) canvas, charts []Chart) error {
	var w vg.Length
	all := rows(charts)
	for _, row := range all {
		w = max(w, rowWidth(row))
	}
	top := newStrip(charts, w)
	c := on(w, top.height()+vg.Length(len(all))*height)
	if err := drawFile(draw.New(c), top, all); err != nil {
		return err
	}
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error { _, err := c.WriteTo(w); return err })
	if err != nil {
		return fmt.Errorf("figure: %s: %w", filepath.Base(path), err)
	}
	return nil
}

// rowWidth returns the width of a row of charts.
func rowWidth(row []Chart) (w vg.Length) {
	for _, c := range row {
		w += c.width()
	}
	return w
}

// drawFile draws the legend and the rows from the top of the canvas to its bottom.
func drawFile(c draw.Canvas, top strip, all [][]Chart) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	top.draw(c)
	y := c.Max.Y - top.height()
	for _, row := range all {
		part := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X, Y: y - height}, Max: vg.Point{X: c.Min.X + rowWidth(row), Y: y},
		}}
		if err := drawRow(part, row); err != nil {
			return err
		}
		y -= height
	}
	return nil
}

// strip is a legend in columns.
type strip struct {
	entries []plot.Legend // one legend for each entry
	columns int           // number of columns
	column  vg.Length     // width of a column
}

const (
	stripLine vg.Length = 14 // height of a line of a legend
	stripPad  vg.Length = 8  // around a legend, and between its columns
)

// newStrip puts the legend of charts into as many columns as the width has room for.
func newStrip(charts []Chart, w vg.Length) strip {
	s := strip{columns: 1}
	thumbs := map[Key]plot.Thumbnailer{}
	for _, c := range charts {
		for i, k := range c.Keys {
			thumbs[k] = c.thumbs[i]
		}
	}
	for _, k := range Keys(charts) {
		l := plot.NewLegend()
		l.Top, l.Left = true, true
		l.TextStyle.Font.Variant, l.TextStyle.Font.Size = "Sans", font.Points(9)
		l.Add(k.Name, thumbs[k])
		s.column = max(s.column, l.Rectangle(draw.Canvas{}).Size().X+2*stripPad)
		s.entries = append(s.entries, l)
	}
	if s.column > 0 {
		s.columns = max(1, int((w-stripPad)/s.column))
	}
	return s
}

// height returns the height of the legend, which is 0 without entries.
func (s strip) height() vg.Length {
	if len(s.entries) == 0 {
		return 0
	}
	return vg.Length((len(s.entries)+s.columns-1)/s.columns)*stripLine + stripPad
}

// draw draws the legend along the upper edge of a canvas.
func (s strip) draw(c draw.Canvas) {
	for i, l := range s.entries {
		at := c
		at.Min.X += stripPad + vg.Length(i%s.columns)*s.column
		at.Max.Y -= stripPad/2 + vg.Length(i/s.columns)*stripLine
		l.Draw(at)
	}
}
