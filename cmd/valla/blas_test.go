package main_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestBLASErrors(t *testing.T) {
	dir := t.TempDir()
	fails(t, dir, 1, "--blas: no OpenBLAS found", "demo", "--blas", "none.so")
	fails(t, dir, 2, "flag needs an argument: --blas", "demo", "--blas")
}

// A network that is trained with the system's OpenBLAS ends where it does without, but
// for rounding.
func TestBLAS(t *testing.T) {
	dir := fitted(t)
	if r := valla(t, dir, "eval", "test.csv", "--model", "m.valla", "--blas", "openblas"); strings.Contains(r.stderr, "no OpenBLAS found") {
		t.Skip("no OpenBLAS on this machine: ", r.stderr)
	}
	scores := func(args ...string) map[string]float64 {
		var found map[string]any
		text := must(t, dir, append([]string{"eval", "test.csv", "--model", "m.valla", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			t.Fatal(err)
		}
		numbers := map[string]float64{}
		for name, v := range found {
			if x, ok := v.(float64); ok {
				numbers[name] = x
			}
		}
		return numbers
	}
	want, got := scores(), scores("--blas", "openblas")
	if len(want) < 3 || len(got) != len(want) {
		t.Fatalf("scores %v and %v", want, got)
	}
	for name, v := range want {
		if math.Abs(got[name]-v) > 1e-9*math.Max(1, math.Abs(v)) {
			t.Errorf("%s: %v with OpenBLAS, %v without", name, got[name], v)
		}
	}
}
