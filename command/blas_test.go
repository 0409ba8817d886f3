package command_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestBLASErrors(t *testing.T) {
	dir := t.TempDir()
	fails(t, dir, 1, "--blas: no OpenBLAS found", "method", "list", "--blas", "none.so")
	fails(t, dir, 2, "flag needs an argument: --blas", "method", "list", "--blas")
}

// Training with the system's OpenBLAS gives the same network as training without it, up to
// rounding.
func TestBLAS(t *testing.T) {
	dir := fitted(t)
	if r := run(t, dir, "eval", "test.csv", "--model", "m.valla", "--blas", "openblas"); strings.Contains(r.stderr, "no OpenBLAS found") {
		t.Skip("no OpenBLAS on this machine: ", r.stderr)
	}
	type scores []struct{ NLL, RMSE, CRPS float64 }
	eval := func(args ...string) scores {
		var found struct{ Scores scores }
		text := must(t, dir, append([]string{"eval", "test.csv", "--model", "m.valla", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			t.Fatal(err)
		}
		return found.Scores
	}
	want, got := eval(), eval("--blas", "openblas")
	if len(want) != 2 || len(got) != 2 {
		t.Fatalf("scores %v and %v", want, got)
	}
	for i, w := range want {
		for _, v := range [][2]float64{{got[i].NLL, w.NLL}, {got[i].RMSE, w.RMSE}, {got[i].CRPS, w.CRPS}} {
			if !(math.Abs(v[0]-v[1]) <= 1e-9*math.Max(1, math.Abs(v[1]))) {
				t.Errorf("%v with OpenBLAS, %v without", got[i], w)
			}
		}
	}
}
