package serve

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPlannedAnswers: an output that is named twice, an answer that is too large, and an answer for which others leave no
// room are refused before any work; the memory of an answer is free after it.
func TestPlannedAnswers(t *testing.T) {
	r := start(t, func(o *Options) { o.MaxAnswer = 1 << 20 }, "numbers", "classes")
	body := func(rows int, outputs string) string {
		data := strings.TrimSuffix(strings.Repeat("1,", 2*rows), ",")
		return fmt.Sprintf(`{"inputs":[{"name":"x","shape":[%d,2],"datatype":"FP64","data":[%s]}],"parameters":{"samples":5000},"outputs":[%s]}`, rows, data, outputs)
	}
	for _, c := range []struct {
		model, body string
		status      int
		want        string
	}{
		{"numbers", body(139, strings.TrimSuffix(strings.Repeat(`{"name":"samples"},`, 300), ",")), 400, `output "samples" is named twice`},
		{"numbers", body(1, `{"name":"covariance"},{"name":"covariance"}`), 400, `output "covariance" is named twice`},
		{"numbers", body(139, `{"name":"samples"}`), 413, "the request and its answer need about 31.9 MiB of memory, expected at most 1 MiB"},
		{"classes", body(139, `{"name":"samples"}`), 413, "ask for fewer rows, samples or outputs"},
		{"numbers", body(1, `{"name":"samples","parameters":{"samples":10001}}`), 400, "expected a whole number"},
	} {
		var got failure
		r.post("/v2/models/"+c.model+"/infer", c.body, c.status, &got)
		has(t, c.model, got.Error, c.want)
	}
	var got failure
	r.post("/models/numbers/predict", "["+strings.TrimSuffix(strings.Repeat("[1,2],", 3000), ",")+"]", 413, &got)
	has(t, "rows", got.Error, "of memory, expected at most 1 MiB")

	var fine answered
	r.post("/v2/models/numbers/infer", body(3, `{"name":"samples"}`), http.StatusOK, &fine)
	for end := time.Now().Add(10 * time.Second); r.budget.taken.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) { // an answer is sent before its memory is free
			t.Fatalf("%d bytes are reserved after all answers", r.budget.taken.Load())
		}
	}
	r.budget.taken.Store(requestsUnderWay << 20)
	r.post("/v2/models/numbers/infer", body(3, `{"name":"mean"}`), http.StatusTooManyRequests, &got)
	has(t, "no room", got.Error, "other requests need the memory")
}

// TestAbove: the probabilities above a number, in the protocol and in a table, with quantiles beside them.
func TestAbove(t *testing.T) {
	r := start(t, nil, "numbers", "pairs", "classes")
	p, pairs := r.predicted("numbers", 0.5, 90), r.predicted("pairs", 0.5, 90)
	const row = `{"inputs":[{"name":"x","shape":[1,2],"datatype":"FP64","data":[0.5,90]}],"outputs":[{"name":"above","parameters":{"thresholds":[4,5]}}]}`
	var one, two answered
	r.post("/v2/models/numbers/infer", row, http.StatusOK, &one)
	r.post("/v2/models/pairs/infer", row, http.StatusOK, &two)
	same(t, "above", one.numbers(t, "above", 1, 2), []float64{p.Above(4)[0], p.Above(5)[0]})
	same(t, "above", two.numbers(t, "above", 1, 2, 2), []float64{pairs.Above(4)[0], pairs.Above(5)[0], pairs.Above(4)[1], pairs.Above(5)[1]})
	if z := (4 - p.Mean[0]) / p.Std()[0]; r.models["numbers"].Laws == nil && math.Abs(p.Above(4)[0]-0.5*math.Erfc(z/math.Sqrt2)) > 1e-12 {
		t.Errorf("P(y > 4) is %g", p.Above(4)[0])
	}
	var rows struct{ Predictions []map[string]float64 }
	r.post("/models/numbers/predict?quantiles=0.1,0.5&above=4", `[[0.5,90]]`, http.StatusOK, &rows)
	same(t, "columns", []float64{rows.Predictions[0]["q0.1"], rows.Predictions[0]["q0.5"], rows.Predictions[0]["above_4"]},
		[]float64{p.Quantiles(0.1)[0], p.Quantiles(0.5)[0], p.Above(4)[0]})
	var got failure
	r.post("/models/classes/predict?above=4", `[[0.5,90]]`, http.StatusBadRequest, &got)
	has(t, "classes", got.Error, "quantiles of classes")
	r.post("/models/numbers/predict?above=x", `[[0.5,90]]`, http.StatusBadRequest, &got)
	has(t, "no number", got.Error, `above "x", expected a finite number`)
	r.post("/v2/models/numbers/infer", strings.Replace(row, `,"parameters":{"thresholds":[4,5]}`, "", 1), http.StatusBadRequest, &got)
	has(t, "no thresholds", got.Error, "expected the parameter thresholds")
}
