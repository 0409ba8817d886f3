package serve

import (
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
)

//go:embed web
var web embed.FS

var pageTemplate = template.Must(template.ParseFS(web, "web/page.html"))

// pageModel is what the page knows of a model.
type pageModel struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Title   string   `json:"title"`
	Kind    string   `json:"kind"`
	Targets []string `json:"targets"`
	Classes []string `json:"classes,omitempty"`
	Fields  []field  `json:"fields"`
}

// field is a column, with its usual value and, if it has numbers, how much they vary.
type field struct {
	Name  string   `json:"name"`
	Text  bool     `json:"text"`
	Value string   `json:"value"`           // as in a file
	Words []string `json:"words,omitempty"` // some that Text may be
	Mean  float64  `json:"mean"`
	Std   float64  `json:"std"`
}

// mostWords bounds field.Words.
const mostWords = 100

// page serves the form. It has no inputs of its own, so that it needs no token; what it asks
// for does.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	var models []pageModel
	for _, h := range s.models {
		if v := h.acquire(); v != nil {
			models = append(models, v.forPage())
			v.release()
		}
	}
	data, err := json.Marshal(map[string]any{"models": models, "token": len(s.tokens) > 0})
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = pageTemplate.Execute(w, string(data))
}

// asset serves a file of the page.
func asset(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		b, err := web.ReadFile("web/" + name)
		if err != nil {
			fail(w, http.StatusNotFound, name)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(b)
	}
}

// forPage describes the model.
func (v *version) forPage() pageModel {
	p := pageModel{Name: v.name, Version: v.hash, Title: v.model.String() + ", " + v.model.Form.String(), Kind: v.model.Task.Outputs.Kind(), Targets: v.model.Task.Outputs.Targets()}
	if _, classes := v.model.Task.Outputs.(*task.Classification); classes {
		p.Classes = v.classNames()
	}
	p.Fields = v.fields()
	return p
}

// fields describes the columns.
func (v *version) fields() []field {
	in := v.model.Task.Inputs
	var out []field
	for _, name := range v.columns() {
		f := field{Name: name, Std: 1}
		if i := slices.Index(in.Features, name); in.Mean != nil && i >= 0 {
			f.Mean, f.Std = in.Mean[i], in.Std[i]
		}
		f.Value = strconv.FormatFloat(f.Mean, 'g', 4, 64)
		out = append(out, f)
	}
	if v.encoded() {
		for i, c := range in.Encoding.Columns {
			if f := &out[i]; c.Kind != data.Number {
				f.Text, f.Value, f.Words = true, c.Usual(), c.Values[:min(len(c.Values), mostWords)]
			}
		}
	}
	return out
}
