package serve

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla"
)

// TestCalibrated: intervals, quantiles and sets are the calibrated model's. A level for which the
// calibration has too few rows is refused.
func TestCalibrated(t *testing.T) {
	o := Options{Reload: -1}
	x := table("numbers", 2, 9).X
	want := map[string]*valla.Prediction{}
	for _, kind := range []string{"numbers", "classes"} {
		path := filepath.Join(t.TempDir(), "m.valla")
		m := trained(t, kind, path, 1)
		for seed, how := range []string{valla.CalibrateTemperature, valla.CalibrateConformal} {
			var err error
			if m, err = m.Calibrate(t.Context(), table(kind, 30, uint64(seed)+7), valla.CalibrateOptions{Method: how}); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		var err error
		if want[kind], err = m.Predict(t.Context(), x, valla.PredictOptions{}); err != nil {
			t.Fatal(err)
		}
		o.Models = append(o.Models, Source{kind, path})
	}
	s, err := New(o)
	if err == nil {
		err = s.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Server: s, t: t, url: behind(t, s)}

	rows, err := json.Marshal([][]float64{x.Float64s()[:2], x.Float64s()[2:]})
	if err != nil {
		t.Fatal(err)
	}
	var plain struct {
		Predictions []struct {
			Lower, Upper float64
			Set          string
		}
	}
	lower, upper, err := want["numbers"].Interval(0.9)
	if err != nil {
		t.Fatal(err)
	}
	r.post("/models/numbers/predict?level=0.9", `{"rows":`+string(rows)+`}`, http.StatusOK, &plain)
	for i, p := range plain.Predictions {
		same(t, "bounds", []float64{p.Lower, p.Upper}, []float64{lower[i], upper[i]})
	}
	var got answered
	ask := func(kind, output string) {
		r.post("/v2/models/"+kind+"/infer", `{"inputs":[{"name":"x","shape":[2,2],"datatype":"FP64","data":`+string(rows)+`}],"outputs":[`+output+`]}`, http.StatusOK, &got)
	}
	ask("numbers", `{"name":"quantiles","parameters":{"levels":[0.05,0.5,0.95]}}`)
	q := got.numbers(t, "quantiles", 2, 3)
	r.post("/v2/models/numbers/infer", `{"inputs":[{"name":"x","shape":[2,2],"datatype":"FP64","data":`+string(rows)+`}],
		"parameters":{"levels":[0.05,0.5,0.95]},"outputs":[{"name":"quantiles","parameters":{"binary_data":false}}]}`, http.StatusOK, &got)
	same(t, "quantiles at levels of the request", got.numbers(t, "quantiles", 2, 3), q)
	same(t, "quantiles", q, []float64{lower[0], want["numbers"].Mean[0], upper[0], lower[1], want["numbers"].Mean[1], upper[1]})

	classes, err := want["classes"].Sets(0.9)
	if err != nil {
		t.Fatal(err)
	}
	sets := want["classes"].SetNames(classes)
	r.post("/models/classes/predict?level=0.9", `{"rows":`+string(rows)+`}`, http.StatusOK, &plain)
	ask("classes", `{"name":"set","parameters":{"level":"0.9"}}`)
	if text, err := json.Marshal(sets); err != nil || string(got.Outputs[0].Data) != string(text) || plain.Predictions[0].Set != sets[0] || plain.Predictions[1].Set != sets[1] {
		t.Errorf("sets %s and %+v, expected %q", got.Outputs[0].Data, plain.Predictions, sets)
	}
	var wrong failure
	r.post("/v2/models/classes/infer", `{"inputs":[{"name":"x","shape":[2,2],"datatype":"FP64","data":`+string(rows)+`}],"outputs":[{"name":"set","parameters":{"level":"much"}}]}`, http.StatusBadRequest, &wrong)
	has(t, "level", wrong.Error, `set: level "much", expected a probability`)
	a, body := r.send(http.MethodPost, "/models/classes/predict?level=0.99", "application/json", rows)
	if a.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "needs a conformal calibration with 99 rows at least, this one has 30") {
		t.Errorf("status %d: %s", a.StatusCode, body)
	}
}

// TestAbstain: a model with a rule offers whether rows need a look, and other models do not.
func TestAbstain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.valla")
	m := trained(t, "classes", path, 1)
	m, err := m.Calibrate(t.Context(), table("classes", 300, 7), valla.CalibrateOptions{Method: valla.CalibrateAbstain, Risk: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Reload: -1, Models: []Source{{"asking", path}}})
	if err == nil {
		err = s.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Server: s, t: t, url: behind(t, s)}
	x := table("classes", 5, 9).X
	p, err := m.Predict(t.Context(), x, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := p.Abstains()
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, len(asked))
	for i, v := range asked {
		if v {
			want[i] = 1
		}
	}
	data, err := json.Marshal(x.Float64s())
	if err != nil {
		t.Fatal(err)
	}
	var a answered
	r.post("/v2/models/asking/infer", `{"inputs":[{"name":"x","shape":[5,2],"datatype":"FP64","data":`+string(data)+`}],"outputs":[{"name":"unfamiliar"},{"name":"abstain"}]}`, http.StatusOK, &a)
	same(t, "marks", a.numbers(t, "abstain", 5), want)
	if len(p.Unfamiliar) == 5 {
		same(t, "unfamiliar", a.numbers(t, "unfamiliar", 5), p.Unfamiliar)
	}
}
