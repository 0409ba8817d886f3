package experiments

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/go-valla/valla/internal/atomicfile"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// newPlot is an empty plot in the style of all pictures.
func newPlot(title, x, y string) *plot.Plot {
	pl := plot.New()
	pl.Title.Text, pl.X.Label.Text, pl.Y.Label.Text = title, x, y
	for _, s := range []*text.Style{&pl.Title.TextStyle, &pl.X.Label.TextStyle, &pl.Y.Label.TextStyle,
		&pl.X.Tick.Label, &pl.Y.Tick.Label, &pl.Legend.TextStyle} {
		s.Font.Variant = "Sans"
		s.Font.Size = font.Points(10)
	}
	pl.Legend.Top, pl.Legend.TextStyle.Font.Size = true, font.Points(8.5)
	pl.Legend.Left, pl.Legend.Padding = true, vg.Points(2)
	return pl
}

// savePlots draws plots side by side, with aligned axes, to path.png and path.svg.
func savePlots(path string, row ...*plot.Plot) error {
	w, h := vg.Length(len(row))*4.2*vg.Inch, 3.6*vg.Inch
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(110))}
	svg := vgsvg.New(w, h)
	for ext, c := range map[string]interface {
		vg.CanvasSizer
		io.WriterTo
	}{".png": png, ".svg": svg} {
		if err := drawRow(draw.New(c), row); err != nil {
			return fmt.Errorf("experiments: drawing %s: %w", filepath.Base(path), err)
		}
		err := atomicfile.Write(path+ext, 0o644, func(w io.Writer) error { _, err := c.WriteTo(w); return err })
		if err != nil {
			return fmt.Errorf("experiments: %w", err)
		}
	}
	return nil
}

// drawRow draws the plots. The library panics where a plot has nothing to show.
func drawRow(c draw.Canvas, row []*plot.Plot) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	pad := vg.Points(8)
	tiles := draw.Tiles{Rows: 1, Cols: len(row), PadX: pad, PadTop: pad / 2, PadRight: pad, PadBottom: pad / 2, PadLeft: pad / 2}
	for i, canvas := range plot.Align([][]*plot.Plot{row}, tiles, c)[0] {
		row[i].Draw(canvas)
	}
	return nil
}
