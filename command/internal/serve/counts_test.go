package serve

import (
	"math"
	"net/http"
	"testing"
)

// TestCounts: quantiles and samples of a model of counts are counts, with the mean and the quantiles of the prediction.
func TestCounts(t *testing.T) {
	r := start(t, nil, "counts")
	var got answered
	r.post("/v2/models/counts/infer", `{"inputs":[{"name":"x","shape":[1,2],"datatype":"FP64","data":[0.5,90]}],
		"outputs":[{"name":"quantiles","parameters":{"levels":[0.05,0.5,0.95]}},{"name":"samples"}],"parameters":{"samples":4000,"seed":3}}`, http.StatusOK, &got)
	p := r.predicted("counts", 0.5, 90)
	for k, level := range []float64{0.05, 0.5, 0.95} {
		if q := got.numbers(t, "quantiles", 1, 3)[k]; q != p.Quantiles(level)[0] || q != math.Floor(q) {
			t.Errorf("the quantile %g is %g, expected %g", level, q, p.Quantiles(level)[0])
		}
	}
	mean := 0.0
	for _, v := range got.numbers(t, "samples", 1, 4000) {
		if v != math.Floor(v) || v < 0 {
			t.Fatalf("the sample %g is no count", v)
		}
		mean += v / 4000
	}
	if math.Abs(mean-p.Mean[0]) > 5*p.Std()[0]/math.Sqrt(4000) {
		t.Errorf("samples have the mean %g, expected %g", mean, p.Mean[0])
	}
}
