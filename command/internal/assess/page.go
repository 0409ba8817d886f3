package assess

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"github.com/go-valla/valla/internal/figure"
)

// pageHTML is the template of the page.
//
//go:embed page.html
var pageHTML string

// pageCSS is the style of the page.
//
//go:embed page.css
var pageCSS string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg": func(c figure.Chart) (template.HTML, error) {
		text, err := c.SVG()
		return template.HTML(text), err
	},
	"shape": func(k figure.Key) template.HTML { return template.HTML(k.Shape()) },
	"color": func(c string) template.CSS { return template.CSS(c) },
	"shade": func(v float64) template.CSS { return template.CSS(fmt.Sprintf("%.0f%%", 70*v)) },
	"css":   func() template.CSS { return template.CSS(pageCSS) },
}).Parse(pageHTML))

// HTML returns the page as one document that needs no other file.
func (p *Page) HTML() ([]byte, error) {
	var out bytes.Buffer
	if err := page.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}
