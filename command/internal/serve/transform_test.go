package serve

import (
	"math"
	"net/http"
	"testing"
)

// TestTransform: samples of a transformed target are in the units of the target, and a standard deviation that does not
// exist is null.
func TestTransform(t *testing.T) {
	r := start(t, nil, "logs", "heavy")
	const inputs = `{"inputs":[{"name":"x","shape":[1,2],"datatype":"FP64","data":[0.5,90]}]`
	var got answered
	r.post("/v2/models/logs/infer", inputs+`,"outputs":[{"name":"samples"},{"name":"std"}],"parameters":{"samples":4000,"seed":3}}`, http.StatusOK, &got)
	p := r.predicted("logs", 0.5, 90)
	mean := 0.0
	for _, v := range got.numbers(t, "samples", 1, 4000) {
		mean += v / 4000
	}
	if math.Abs(mean-p.Mean[0]) > 5*p.Std()[0]/math.Sqrt(4000) || got.numbers(t, "std", 1)[0] != p.Std()[0] {
		t.Errorf("samples have the mean %g, expected %g", mean, p.Mean[0])
	}
	var heavy answered
	r.post("/v2/models/heavy/infer", inputs+"}", http.StatusOK, &heavy)
	if median := r.predicted("heavy", 0.5, 90).Quantiles(0.5)[0]; heavy.numbers(t, "mean", 1)[0] != median || string(heavy.Outputs[1].Data) != "[null]" {
		t.Errorf("mean %s, std %s, expected the median %g and null", heavy.Outputs[0].Data, heavy.Outputs[1].Data, median)
	}
	var plain struct {
		Predictions []map[string]*float64 `json:"predictions"`
	}
	r.post("/models/heavy/predict", `{"rows":[{"a":0.5,"b":90}]}`, http.StatusOK, &plain)
	if row := plain.Predictions[0]; row["std"] != nil || row["mean"] == nil {
		t.Errorf("row %v, expected null for std alone", row)
	}
}
