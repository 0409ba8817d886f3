package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/internal/figure"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg":       svg,
	"groups":    groups,
	"oneSource": oneSource,
	"spelled":   spelled,
	"key":       key,
	"mark":      mark,
	"inline":    inline,
	"words":     func() []Word { return slices.Concat(glossary, costWords) },
	"farHead":   func() []string { return deviationHead },
	"farText":   func() string { return deviationText },
	"color":     func(c string) template.CSS { return template.CSS(c) },
	"css":       func() template.CSS { return template.CSS(pageCSS) },
	"js":        func() template.JS { return template.JS(pageJS) },
}).Parse(pageHTML))

// HTML returns the report as one page, which needs no other file.
func (r *Report) HTML() ([]byte, error) {
	var out bytes.Buffer
	if err := page.Execute(&out, r); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}

func svg(c figure.Chart) (template.HTML, error) {
	text, err := c.SVG()
	return template.HTML(text), err
}

func mark(k figure.Key) template.HTML { return template.HTML(k.Shape()) }

// Keys returns the legend of all charts of the figure, without repetitions.
func (f Figure) Keys() []figure.Key { return figure.Keys(f.Charts) }

// headGroup is a metric with its neighbouring columns.
type headGroup struct {
	Metric  string   // the name above the columns
	Columns []Column // one for each source of the metric
}

// groups joins neighbouring columns of the same metric.
func groups(columns []Column) []headGroup {
	var out []headGroup
	for _, c := range columns {
		if n := len(out); n > 0 && out[n-1].Metric == c.Metric {
			out[n-1].Columns = append(out[n-1].Columns, c)
			continue
		}
		out = append(out, headGroup{c.Metric, []Column{c}})
	}
	return out
}

// oneSource reports whether all columns hold measured numbers, so that no head need name a source.
func oneSource(columns []Column) bool {
	return !slices.ContainsFunc(columns, func(c Column) bool { return c.Source != here })
}

// spelled returns the text of a cell, with the standard deviation in smaller print.
func spelled(c Cell) template.HTML {
	mean, std, ok := strings.Cut(c.Text, " ± ")
	if !ok {
		return template.HTML(template.HTMLEscapeString(c.Text))
	}
	return template.HTML(template.HTMLEscapeString(mean) + " <small>±" + template.HTMLEscapeString(std) + "</small>")
}

// key returns the text by which a cell is sorted, "" if it has no number.
func key(c Cell) string {
	if math.IsNaN(c.Value) {
		return ""
	}
	return strconv.FormatFloat(c.Value, 'g', -1, 64)
}
