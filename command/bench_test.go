package command_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// measured is the document of valla bench --json.
type measured struct {
	Machine struct{ CPU string }
	Peak    speeds
	Rows    []struct {
		Name   string
		Floor  float64 `json:"floor_s"`
		Needed speeds
	}
	Fits []struct {
		Name  string
		Made  bool
		Floor float64 `json:"floor_s"`
		Here  struct {
			Fit struct {
				CPU    float64 `json:"cpu_s"`
				Needed speeds
			}
		}
	}
}

// speeds are operations, or operations a second, by the type of their numbers.
type speeds struct{ Float64, Float32 float64 }

// floor returns the seconds that operations take at a speed.
func (s speeds) floor(peak speeds) float64 { return s.Float64/peak.Float64 + s.Float32/peak.Float32 }

// TestBench: a whole fit of made rows, without a file, has its floor by the speed of a core; a run with the same folder prints the
// same fit as text and in Markdown. Progress is on stderr, and wrong flags are wrong usage.
func TestBench(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"bench", "--only", "^uci-yacht$|^predict 1 row, class", "--steps", "3", "--dir", "kept"}
	var doc measured
	if err := json.Unmarshal([]byte(must(t, dir, append(args, "--json")...)), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Rows) != 2 || len(doc.Fits) != 1 || doc.Machine.CPU == "" || !(doc.Peak.Float64 > 0 && doc.Peak.Float32 > 0) {
		t.Fatalf("document %+v", doc)
	}
	near := func(what string, got, want float64) {
		if !(want > 0 && math.Abs(got-want) <= 1e-9*want) {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	for _, r := range doc.Rows {
		near(r.Name, r.Floor, r.Needed.floor(doc.Peak))
	}
	f := doc.Fits[0]
	near(f.Name, f.Floor, f.Here.Fit.Needed.floor(doc.Peak))
	if !f.Made || f.Here.Fit.CPU <= 0 {
		t.Errorf("fit %+v", f)
	}
	text := run(t, dir, append(args, "--markdown")...)
	for _, want := range []string{doc.Machine.CPU, "A core makes ", "| predict 1 row, classification, M = 100 | float32 |", "| uci-yacht | M = 100, 200 steps, made rows, ", "above floor"} {
		if text.code != 0 || !strings.Contains(text.stdout, want) {
			t.Errorf("exit code %d, no %q in\n%s", text.code, want, text.stdout)
		}
	}
	if !strings.Contains(text.stderr, "uci-yacht, seed 0\n") {
		t.Errorf("progress %q", text.stderr)
	}
	fails(t, dir, 2, "no row has such a name", "bench", "--only", "nothing")
	fails(t, dir, 2, "--steps 1, expected 3", "bench", "--steps", "1")
}
