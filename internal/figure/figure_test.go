package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parse fails unless text is well-formed XML.
func parse(t *testing.T, what string, text []byte) {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func bands() Bands {
	c := Curve{Mean: []float64{0, 1, 0}, Std: []float64{1, 0.1, 1}}
	return Bands{Grid: []float64{-1, 0, 1}, X: []float64{-0.5, 0.5}, Y: []float64{0, 1}, HeldX: []float64{0}, HeldY: []float64{0.5},
		Panels: []Panel{{Title: `a "b" & <c> $1`, Curve: c}, {Title: "d", Curve: c, Reference: &c, ReferenceName: "LLA", After: []float64{0}}}}
}

// TestCharts: every kind of chart is well-formed SVG without a size and in the page's
// colour, describes its contents in words, and has a legend of its own.
func TestCharts(t *testing.T) {
	charts, err := bands().Charts()
	if err != nil {
		t.Fatal(err)
	}
	charts = append(charts, Curves(Axes{Title: "t", X: "x", Y: "y", Diagonal: true}, []Series{
		{Name: "one", X: []float64{0, 1, 2}, Y: []float64{1, math.Inf(1), 2}}, {Name: "none"}, Histogram("h", []float64{1, 3}, 2)}))
	box, err := Boxes(Axes{Title: "time", Y: "seconds"}, []Group{{"m", []float64{1, 2, 3, 4}}, {"n", []float64{2}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(charts, box) {
		svg, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		parse(t, c.Title, svg)
		head, _, _ := strings.Cut(string(svg), "\n")
		if !strings.HasPrefix(head, "<svg") || strings.Contains(head, "width=") || !strings.Contains(head, `aria-label="`+strings.ReplaceAll(escaper.Replace(c.Alt), "$$", "$")) {
			t.Errorf("%s: head %q", c.Title, head)
		}
		if strings.Contains(string(svg), "#000000") || !strings.Contains(string(svg), "currentColor") {
			t.Errorf("%s: it has a black of its own", c.Title)
		}
	}
	if len(charts[1].Keys) != 6 || charts[1].Keys[2] != (Key{"±2σ of LLA", "dashed", "rgba(213,94,0,1.00)"}) {
		t.Errorf("legend %+v", charts[1].Keys)
	}
	if k := charts[2].Keys; len(k) != 2 || k[0].Color != "currentColor" {
		t.Errorf("legend of curves %+v: those without points do not belong there", k)
	}
	if h := Histogram("", []float64{1, 3}, 2); h.X[3] != 2 || h.Y[2] != 3 {
		t.Errorf("histogram %+v", h)
	}
	if _, err := Boxes(Axes{Title: "t", Y: "s"}, []Group{{"empty", nil}}); err == nil {
		t.Error("a box of no values was drawn")
	}
}

// TestSave: the files are pictures of a size that can be read.
func TestSave(t *testing.T) {
	charts, err := bands().Charts()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "p")
	if err := Save(path, charts...); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path + ".png")
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() < 600 || b.Dy() < 200 {
		t.Errorf("the picture has %v pixels", b.Max)
	}
	if r, g, b, _ := img.At(1, 1).RGBA(); r+g+b != 3*0xffff {
		t.Error("the picture's ground is not white")
	}
	svg, err := os.ReadFile(path + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	parse(t, "svg", svg)
}
