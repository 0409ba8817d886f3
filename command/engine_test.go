package command_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestEngine: predictions and scores by ONNX Runtime are the same, and one line says what is wrong with an engine.
func TestEngine(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	for _, args := range [][]string{
		{"predict", "test.csv", "--model", "m.valla", "--engine", "abacus"},
		{"predict", "test.csv", "--model", "m.valla", "--provider", "webgpu"},
		{"predict", "test.csv", "--model", "m.valla", "--engine", "onnxruntime", "--onnxruntime", "none.so"},
		{"predict", "test.csv", "--model", "m.valla", "--engine", "onnxruntime", "--parts", "shards"},
		{"eval", "test.csv", "--model", "m.valla", "--engine", "onnxruntime", "--onnxruntime", "none.so"},
		{"serve", "--model", "m.valla", "--engine", "onnxruntime", "--onnxruntime", "none.so"},
	} {
		if r := run(t, dir, args...); r.code == 0 || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d, %q", args, r.code, r.stderr)
		}
	}
	if out := must(t, dir, "version", "--engines", "--onnxruntime", "none.so"); !strings.Contains(out, "own ") || !strings.Contains(out, "not available") {
		t.Errorf("engines %q", out)
	}
	if os.Getenv("VALLA_ONNXRUNTIME") == "" {
		t.Skip("VALLA_ONNXRUNTIME names no library")
	}
	want := must(t, dir, "predict", "test.csv", "--model", "m.valla")
	got := must(t, dir, "predict", "test.csv", "--model", "m.valla", "--engine", "onnxruntime")
	a, b := strings.FieldsFunc(want, separates), strings.FieldsFunc(got, separates)
	if len(a) != len(b) {
		t.Fatalf("%d cells, expected %d", len(b), len(a))
	}
	for i := range a {
		x, err := strconv.ParseFloat(a[i], 64)
		y, _ := strconv.ParseFloat(b[i], 64)
		if err == nil && !(max(x-y, y-x) <= 1e-5*max(1, x, -x)) {
			t.Errorf("cell %d: %s by onnxruntime, expected %s", i, b[i], a[i])
		}
	}
	must(t, dir, "eval", "test.csv", "--model", "m.valla", "--engine", "onnxruntime")
}

func separates(r rune) bool { return r == ',' || r == '\n' }
