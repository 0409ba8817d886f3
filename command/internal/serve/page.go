package serve

import (
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-valla/valla/data"
)

//go:embed web
var web embed.FS

var pageTemplate = template.Must(template.ParseFS(web, "web/page.html"))

// pageModel describes a model for the page.
type pageModel struct {
	Name    string   `json:"name"`              // name of the model
	Version string   `json:"version"`           // start of the file's SHA-256 sum
	Title   string   `json:"title"`             // method and network
	Kind    string   `json:"kind"`              // what targets are: number, count, binary, ordered or class
	Targets []string `json:"targets"`           // names of the targets
	Classes []string `json:"classes,omitempty"` // names of the classes
	Fields  []field  `json:"fields"`            // columns of a row
}

// field is a column of the form.
type field struct {
	Name  string   `json:"name"`            // name of the column
	Text  bool     `json:"text"`            // whether the cells are text
	Value string   `json:"value"`           // usual cell, as a file has it
	Words []string `json:"words,omitempty"` // some of the possible texts
	Mean  float64  `json:"mean"`            // mean of the numbers
	Std   float64  `json:"std"`             // standard deviation of the numbers
}

// mostWords bounds field.Words.
const mostWords = 100

// page serves the form. The form needs no token, because it has no data of users; its requests for
// predictions need one.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	models := []pageModel{} // not null for the page
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

// asset returns a handler that serves a file of the page.
func asset(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		http.ServeFileFS(w, r, web, "web/"+name)
	}
}

// forPage returns the description of the model.
func (v *version) forPage() pageModel {
	p := pageModel{Name: v.name, Version: v.hash, Title: v.model.String() + ", " + v.model.Form.String(), Kind: v.kind(), Targets: v.model.Task.Predicted()}
	if v.classes() != nil {
		p.Classes = v.classNames()
	}
	p.Fields = v.fields()
	return p
}

// fields returns the columns of a row.
func (v *version) fields() []field {
	in := v.model.Task.Inputs
	out := []field{} // not null for the page
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
