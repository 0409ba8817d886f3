package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
)

// table returns n rows with the columns a and b. kind "numbers" has one target, "pairs" two,
// "classes" three classes, "many" 105 classes, "counts" a count, and "logs" and "heavy" one target above 0.
func table(kind string, n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	targets := map[string][]string{"numbers": {"y"}, "pairs": {"y", "z"}, "classes": {"kind"}, "many": {"kind"}, "counts": {"n"}, "logs": {"y"}, "heavy": {"y"}}[kind]
	x, y := make([]float64, 2*n), make([]float64, n*len(targets))
	for i := range n {
		a, b := 6*rng.Float64()-3, 100+20*rng.NormFloat64()
		x[2*i], x[2*i+1] = a, b
		for k := range targets {
			y[i*len(targets)+k] = 3 + math.Sin(a+float64(k)) + b/100 + 0.1*rng.NormFloat64()
		}
		switch kind {
		case "classes":
			y[i] = math.Round(math.Sin(a) + 1)
		case "many":
			y[i] = float64(i % 105)
		case "counts":
			y[i] = math.Round(y[i])
		}
	}
	return &data.Set{
		Features: []string{"a", "b"}, Targets: targets,
		X: tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(x)),
		Y: tensor.New(tensor.WithShape(n, len(targets)), tensor.WithBacking(y)),
	}
}

// trained writes the file of a small model and returns the model.
func trained(t testing.TB, kind, path string, seed uint64) *valla.Model {
	t.Helper()
	rows := 80
	if kind == "many" {
		rows = 240
	}
	set := table(kind, rows, seed)
	var model likelihood.Settings
	transform := ""
	switch kind {
	case "counts":
		model, _ = likelihood.Named("poisson")
	case "logs":
		transform = task.Log
	case "heavy":
		model, _ = likelihood.Named("student-t", "nu=2")
		transform = task.Log
	}
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{
		Likelihood: model, TargetTransform: transform,
		Classes: kind == "classes" || kind == "many", Seed: seed, Network: valla.Network{Hidden: []int{6}}, Training: valla.Training{Iterations: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac"}, Law: law.Gaussian}); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	return m
}

// running is a server with a model of each kind, behind a listener.
type running struct {
	*Server
	t      testing.TB
	url    string
	models map[string]*valla.Model
	files  map[string]string
}

func start(t testing.TB, change func(*Options), kinds ...string) *running {
	t.Helper()
	if kinds == nil {
		kinds = []string{"numbers", "pairs", "classes"}
	}
	r := &running{t: t, models: map[string]*valla.Model{}, files: map[string]string{}}
	o := Options{Reload: -1}
	for i, kind := range kinds {
		r.files[kind] = filepath.Join(t.TempDir(), kind+".valla")
		r.models[kind] = trained(t, kind, r.files[kind], uint64(i))
		o.Models = append(o.Models, Source{kind, r.files[kind]})
	}
	if change != nil {
		change(&o)
	}
	var err error
	if r.Server, err = New(o); err == nil {
		err = r.Server.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	r.url = behind(t, r.Server)
	return r
}

// behind starts a listener and returns its address; both end with the test.
func behind(t testing.TB, s *Server) string {
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.Close(); s.Close() })
	return h.URL
}

// send sends a request and returns the answer with its body.
func (r *running) send(method, path, kind string, body []byte, header ...string) (*http.Response, []byte) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(context.Background(), method, r.url+path, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if kind != "" {
		q.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Body.Close()
	out, err := io.ReadAll(a.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return a, out
}

// post sends JSON, which must be answered with a status, and decodes the answer into out.
func (r *running) post(path, body string, status int, out any) {
	r.t.Helper()
	a, got := r.send(http.MethodPost, path, "application/json", []byte(body))
	if a.StatusCode != status {
		r.t.Fatalf("POST %s %.300s: status %d, expected %d: %.300s", path, body, a.StatusCode, status, got)
	}
	if err := json.Unmarshal(got, out); err != nil {
		r.t.Fatalf("POST %s: %v in %s", path, err, got)
	}
}

// predicted is the prediction of a model for rows of two columns.
func (r *running) predicted(kind string, x ...float64) *valla.Prediction {
	r.t.Helper()
	p, err := r.models[kind].Predict(r.t.Context(), tensor.New(tensor.WithShape(len(x)/2, 2), tensor.WithBacking(x)), valla.PredictOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// same compares numbers.
func same(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %v, expected %v", what, got, want)
		return
	}
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= 1e-9*max(1, math.Abs(v))) {
			t.Errorf("%s: number %d is %g, expected %g", what, i, got[i], v)
		}
	}
}

// failure is the answer to a request that is refused.
type failure struct {
	Error string `json:"error"`
}

func has(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) || strings.Contains(got, "\n") {
		t.Errorf("%s: %q, expected one line with %q", what, got, want)
	}
}
