package serve

import (
	"embed"
	"encoding/json"
	"html/template"
	"net/http"

	"github.com/go-valla/valla/gp/task"
)

//go:embed web
var web embed.FS

var pageTemplate = template.Must(template.ParseFS(web, "web/page.html"))

// pageModel is what the page knows of a model.
type pageModel struct {
	Name    string     `json:"name"`
	Version string     `json:"version"`
	Title   string     `json:"title"`
	Kind    string     `json:"kind"`
	Targets []string   `json:"targets"`
	Classes []string   `json:"classes,omitempty"`
	Fields  []pageText `json:"fields"`
}

// pageText is a field of the form: a column, with its usual value and how much it varies.
type pageText struct {
	Name string  `json:"name"`
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

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
	in := v.model.Task.Inputs
	p := pageModel{Name: v.name, Version: v.hash, Title: v.model.String() + ", " + v.model.Form.String(), Kind: v.model.Task.Outputs.Kind(), Targets: v.model.Task.Outputs.Targets()}
	if _, classes := v.model.Task.Outputs.(*task.Classification); classes {
		p.Classes = v.classNames()
	}
	for i, name := range in.Features {
		f := pageText{Name: name, Std: 1}
		if in.Mean != nil {
			f.Mean, f.Std = in.Mean[i], in.Std[i]
		}
		p.Fields = append(p.Fields, f)
	}
	return p
}
