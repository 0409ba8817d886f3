package calibrate_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/calibrate"
)

// TestControlRisk: the share of wrong rows among the accepted ones is at most the risk in at least 90 of 100 tables, for doubts
// that tell much, little or nothing, and for doubts with few values.
func TestControlRisk(t *testing.T) {
	for name, wrong := range map[string]func(d float64) float64{
		"much":    func(d float64) float64 { return 0.4 * d * d },
		"little":  func(d float64) float64 { return 0.04 + 0.02*d },
		"nothing": func(float64) float64 { return 0.05 },
		"steps":   func(d float64) float64 { return 0.1 * math.Floor(3*d) },
	} {
		risks, accepted := 0, 0
		for seed := range uint64(100) {
			rng := rand.New(rand.NewPCG(seed, 1))
			n := 1000
			doubts, bad := make([]float64, n), make([]bool, n)
			for i := range doubts {
				doubts[i] = rng.Float64()
				if name == "steps" {
					doubts[i] = math.Floor(10*doubts[i]) / 10
				}
				bad[i] = rng.Float64() < wrong(doubts[i])
			}
			most, took, ok := calibrate.ControlRisk(doubts, bad, 0.05, 0.9)
			if !ok {
				continue
			}
			accepted += took
			risk, count := 0.0, 0.0 // the true risk
			for k := range 1000 {
				d := (float64(k) + 0.5) / 1000
				if name == "steps" {
					d = math.Floor(10*d) / 10
				}
				if d <= most {
					risk, count = risk+wrong(d), count+1
				}
			}
			if risk > 0.05*count*(1+1e-9) {
				risks++
			}
		}
		if risks > 10 {
			t.Errorf("%s: the risk is larger in %d of 100 tables", name, risks)
		}
		if name == "much" && accepted < 100*420 {
			t.Errorf("%s: %d of %d rows accepted", name, accepted, 100*1000)
		}
	}
	if _, _, ok := calibrate.ControlRisk(make([]float64, 20), make([]bool, 20), 0.02, 0.95); ok {
		t.Error("20 rows show a risk of 2 %")
	}
}

// TestParseAbstain: rules are read as they are written, and wrong ones are refused.
func TestParseAbstain(t *testing.T) {
	for text, want := range map[string]calibrate.Abstain{
		"unfamiliar<=0.99":  {By: "unfamiliar", Most: 0.99},
		"width90 <= 20":     {By: "width", Most: 20, Level: 0.9},
		"width55 <= 20":     {By: "width", Most: 20, Level: 0.55},
		"width<=20":         {By: "width", Most: 20, Level: 0.8},
		"probability>=0.75": {By: "probability", Most: 0.25},
	} {
		a, err := calibrate.ParseAbstain(text, 0.8)
		if err != nil || *a != want {
			t.Errorf("%s: %+v, error %v", text, a, err)
			continue
		}
		if b, err := calibrate.ParseAbstain(a.String(), 0.8); err != nil || *b != *a {
			t.Errorf("%s as %s: %+v, error %v", text, a, b, err)
		}
	}
	for text, want := range map[string]string{"": "expected one such as", "width>=1": "expected one such as", "probability<=1": "expected one such as", "speed<=1": "expected one such as",
		"unfamiliar<=2": "from 0 to 1", "width100<=2": "between 0 and 1", "width<=Inf": "finite", "unfamiliar90<=0.5": "expected one such as", "width9.5.0<=20": "expected one such as", "width.<=20": "expected one such as"} {
		if _, err := calibrate.ParseAbstain(text, 0.95); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
