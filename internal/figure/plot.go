// Package figure draws pictures of predictive bands, curves, points and box plots, as SVG for
// pages and as files.
package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours can be told apart by colour-blind readers (Okabe and Ito 2008). In a page, black
// becomes the colour of the text.
var (
	black     = color.RGBA{0, 0, 0, 255}
	grey      = color.RGBA{130, 130, 130, 255}
	blue      = color.RGBA{0, 114, 178, 255}
	vermilion = color.RGBA{213, 94, 0, 255}
	blueDots  = color.NRGBA{0, 114, 178, 150}
	blueBand  = color.NRGBA{86, 180, 233, 96}
	palette   = []color.RGBA{black, vermilion, blue, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, grey}
)

// Chart is one plot.
type Chart struct {
	Title string     // title of the chart
	Alt   string     // describes the chart for readers who cannot see it
	Wide  bool       // the chart takes the whole width of a page
	Keys  []Key      // the legend
	plot  *plot.Plot // drawing, without the legend

	thumbs []plot.Thumbnailer // the drawings of Keys
}

// Key is an entry of a legend.
type Key struct {
	Name  string // text of the entry
	Mark  string // line, dashed, dotted, area, dot, plus or triangle
	Color string // colour in CSS
}

// shapes maps marks to elements of SVG in a box of 24 by 12.
var shapes = map[string]string{
	"line":     `<path d="M1 6H23" stroke="currentColor" stroke-width="2"/>`,
	"dashed":   `<path d="M1 6H23" stroke="currentColor" stroke-width="2" stroke-dasharray="5 3"/>`,
	"dotted":   `<path d="M1 6H23" stroke="currentColor" stroke-width="2" stroke-dasharray="1.5 2.5"/>`,
	"area":     `<path d="M1 1H23V11H1Z" fill="currentColor"/>`,
	"dot":      `<circle cx="12" cy="6" r="2.5" fill="currentColor"/>`,
	"plus":     `<path d="M12 2V10M8 6H16" stroke="currentColor" stroke-width="1.5"/>`,
	"triangle": `<path d="M12 2L17 11H7Z" fill="currentColor"/>`,
}

// Shape returns the mark as elements of an SVG picture of 24 by 12.
func (k Key) Shape() string { return shapes[k.Mark] }

// element is drawn in a chart and in its legend.
type element interface {
	plot.Plotter
	plot.Thumbnailer
}

// add adds an element to the plot. If it has a name, it is also added to the legend.
func (c *Chart) add(p element, name, mark string, col color.Color) {
	c.plot.Add(p)
	if name != "" {
		c.key(p, name, mark, col)
	}
}

// key adds an entry to the legend.
func (c *Chart) key(thumb plot.Thumbnailer, name, mark string, col color.Color) {
	k := Key{name, mark, "currentColor"}
	if r, g, b, a := col.RGBA(); r+g+b > 0 {
		n := color.NRGBAModel.Convert(col).(color.NRGBA)
		k.Color = fmt.Sprintf("rgba(%d,%d,%d,%.2f)", n.R, n.G, n.B, float64(a)/0xffff)
	}
	c.Keys, c.thumbs = append(c.Keys, k), append(c.thumbs, thumb)
}

// newPlot returns an empty plot in the style of all pictures.
func newPlot(title, x, y string) *plot.Plot {
	pl := plot.New()
	pl.BackgroundColor = nil
	pl.X.Tick.Marker, pl.Y.Tick.Marker = ticks{}, ticks{}
	pl.Title.Text, pl.X.Label.Text, pl.Y.Label.Text = title, x, y
	for _, s := range []*text.Style{&pl.Title.TextStyle, &pl.X.Label.TextStyle, &pl.Y.Label.TextStyle,
		&pl.X.Tick.Label, &pl.Y.Tick.Label} {
		s.Font.Variant = "Sans"
		s.Font.Size = font.Points(10)
	}
	pl.Title.Padding = vg.Points(6)
	return pl
}

// The size of one plot.
const (
	width  = 4.2 * vg.Inch
	height = 3.4 * vg.Inch
)

// width returns the width of the chart in a file. A page keeps its proportion to the height.
func (c Chart) width() vg.Length {
	if c.Wide {
		return 2 * width
	}
	return width
}

// drawRow draws plots side by side with aligned axes. It returns an error where the library
// panics, which it does if a plot has nothing to show.
func drawRow(c draw.Canvas, charts []Chart) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("figure: %s: %v", charts[0].Title, r)
		}
	}()
	row := make([]*plot.Plot, len(charts))
	for i, ch := range charts {
		row[i] = ch.plot
	}
	pad := vg.Points(8)
	tiles := draw.Tiles{Rows: 1, Cols: len(row), PadX: pad, PadTop: pad / 2, PadRight: pad, PadBottom: pad / 2, PadLeft: pad / 2}
	for i, canvas := range plot.Align([][]*plot.Plot{row}, tiles, c)[0] {
		row[i].Draw(canvas)
	}
	return nil
}

// These expressions find the parts of the library's SVG that are changed. The page gives the size, black
// becomes the colour of the text, and superfluous digits outside of texts are cut off.
var (
	prolog   = regexp.MustCompile(`(?s)^.*?<svg[^>]*viewBox="([^"]*)"[^>]*>`)
	blackIn  = regexp.MustCompile(`stroke:#000000`)
	decimals = regexp.MustCompile(`(>[^<]*<|\d\.\d\d)\d*`)
)

// SVG returns the chart as an element of a page that takes the page's width and colours. It
// has no legend: Keys are for the page.
func (c Chart) SVG() ([]byte, error) {
	canvas, out := vgsvg.New(c.width(), height), bytes.Buffer{}
	if err := drawRow(draw.New(canvas), []Chart{c}); err != nil {
		return nil, err
	}
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("figure: %s: %w", c.Title, err)
	}
	svg := prolog.ReplaceAll(out.Bytes(), []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="$1" fill="currentColor" role="img" aria-label="`+escaper.Replace(c.Alt)+`">`))
	svg = blackIn.ReplaceAll(svg, []byte("stroke:currentColor"))
	return decimals.ReplaceAll(svg, []byte("$1")), nil
}

// escaper writes text in a form that an XML attribute can hold. Two dollar signs stand for one in a replacement.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "$", "$$")
