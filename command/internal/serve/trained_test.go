package serve

import (
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/client"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
)

// serveTrained serves a model "m" of few steps with an observation model, a name and its settings, for rows of these features and targets.
func serveTrained(t *testing.T, o Options, observation string, features, targets []string) *running {
	t.Helper()
	const n = 80
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float64, n*len(features)), make([]float64, n*len(targets))
	for i := range n {
		for j := range features {
			x[i*len(features)+j] = rng.Float64()
		}
		y[i*len(targets)] = x[i*len(features)] + 0.1*rng.NormFloat64()
	}
	set := &data.Set{
		Features: features, Targets: targets,
		X: tensor.New(tensor.WithShape(n, len(features)), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, len(targets)), tensor.WithBacking(y)),
	}
	words := strings.Fields(observation)
	like, err := likelihood.Named(words[0], words[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Likelihood: like, Network: valla.Network{Hidden: []int{6}}, Training: valla.Training{Iterations: 100}})
	if err == nil {
		m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac"}})
	}
	path := filepath.Join(t.TempDir(), "m.valla")
	if err == nil {
		err = m.Save(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Reload, o.Models = -1, []Source{{"m", path}}
	s, err := New(o)
	if err == nil {
		err = s.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return &running{t: t, Server: s, models: map[string]*valla.Model{"m": m}, url: behind(t, s)}
}

// TestSlowQuantiles: quantiles of a law that has no formula for them keep to the time limit.
func TestSlowQuantiles(t *testing.T) {
	r := serveTrained(t, Options{Timeout: 100 * time.Millisecond, MaxAnswer: 200 << 20}, "student-t nu=4", []string{"a"}, []string{"y"})
	var column, levels []string
	for i := range 5000 {
		column = append(column, fmt.Sprint(float64(i)/5000))
	}
	for i := range 100 {
		levels = append(levels, fmt.Sprint((float64(i)+0.5)/100))
	}
	all := strings.Join(levels, ",")
	for path, body := range map[string]string{
		"/v2/models/m/infer": `{"inputs":[{"name":"a","shape":[5000],"datatype":"FP64","data":[` + strings.Join(column, ",") +
			`]}],"outputs":[{"name":"quantiles","parameters":{"levels":[` + all + `]}}]}`,
		"/predict?quantiles=" + all: "a\n" + strings.Join(column, "\n") + "\n",
	} {
		if a, text := r.send(http.MethodPost, path, "", []byte(body)); a.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%.20s: status %d, %.100s", path, a.StatusCode, text)
		}
	}
}

// TestFurtherTargetColumns: the scale of a target's noise, a column of its own, is no target of predictions.
func TestFurtherTargetColumns(t *testing.T) {
	r := serveTrained(t, Options{Outcomes: t.TempDir()}, "heteroscedastic", []string{"a"}, []string{"y", "h"})
	_, text := r.send(http.MethodGet, "/", "", nil)
	var page struct{ Models []struct{ Targets []string } }
	at := regexp.MustCompile(`data-page="([^"]*)"`).FindSubmatch(text)
	if err := json.Unmarshal([]byte(html.UnescapeString(string(at[1]))), &page); err != nil || !slices.Equal(page.Models[0].Targets, []string{"y"}) {
		t.Errorf("the page has the models %v, error %v", page.Models, err)
	}
	var rows [firstRows - 1]string
	for i := range rows {
		rows[i] = fmt.Sprintf("[%g]", float64(i)/firstRows)
	}
	for range 4 {
		var got any
		r.post("/predict", "["+strings.Join(rows[:], ",")+"]", http.StatusOK, &got)
	}
	if metrics := r.metricsText(); !strings.Contains(metrics, `valla_output_psi{model="m",target="y"}`) || strings.Contains(metrics, `target="h"`) {
		t.Error("the metrics have no drift of y, or one of h")
	}
}

// TestOutcomesWithoutVariance: a law without a variance keeps its intervals, and its outcomes are refused.
func TestOutcomesWithoutVariance(t *testing.T) {
	const law, row = "student-t nu=2", `[{"a":0.5}]`
	var want, got struct{ Predictions []map[string]*float64 }
	serveTrained(t, Options{}, law, []string{"a"}, []string{"y"}).post("/predict", row, http.StatusOK, &want)
	r := serveTrained(t, Options{Outcomes: t.TempDir()}, law, []string{"a"}, []string{"y"})
	r.post("/predict", row, http.StatusOK, &got)
	for _, name := range []string{"lower", "upper"} {
		if v := got.Predictions[0][name]; v == nil || *v != *want.Predictions[0][name] {
			t.Errorf("%s is %v, expected %g", name, v, *want.Predictions[0][name])
		}
	}
	if a, text := r.send(http.MethodPost, "/outcomes", "application/json", []byte(`[{"a":0.5,"y":0.6}]`)); a.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "infinite") {
		t.Errorf("status %d, %s", a.StatusCode, text)
	}
}

// TestColumnCalledX: a client's rows are taken as a whole where a column has the name of the client's tensor.
func TestColumnCalledX(t *testing.T) {
	r := serveTrained(t, Options{}, "gaussian", []string{"x", "z"}, []string{"y"})
	rows := [][]float64{{0.1, 0.2}, {0.3, 0.4}}
	p, err := (&client.Client{URL: r.url}).Rows(t.Context(), "m", rows)
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.models["m"].Predict(t.Context(), tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(slices.Concat(rows...))), valla.PredictOptions{})
	if err != nil || !slices.Equal(p.Mean, want.Mean) {
		t.Errorf("mean %v, expected %v, error %v", p.Mean, want.Mean, err)
	}
}
