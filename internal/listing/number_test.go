package listing

import (
	"encoding/json"
	"math"
	"testing"
)

// TestNumbers: numbers go through JSON with all their digits, and numbers that are not finite are null.
func TestNumbers(t *testing.T) {
	v := []float64{0, -1.5, 1e21, 5e-324, 0.1 + 0.2, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)}
	text, err := json.Marshal(map[string]any{"all": Numbers(v), "none": Numbers{}, "nil": Numbers(nil)})
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ All, None, Nil []*float64 }
	if err := json.Unmarshal(text, &back); err != nil || len(back.All) != len(v) || back.Nil != nil || back.None == nil {
		t.Fatalf("%s: %v", text, err)
	}
	for i, want := range v {
		if got := back.All[i]; (got == nil) != (want-want != 0) || got != nil && *got != want {
			t.Errorf("%g became %v in %s", want, got, text)
		}
	}
}
