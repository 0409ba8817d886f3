package command_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEngine: predictions, also in parts and of a server, and scores by ONNX Runtime are the same, and one line says what is wrong with an engine.
func TestEngine(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	for _, args := range [][]string{
		{"predict", "test.csv", "--model", "m.valla", "--engine", "abacus"},
		{"predict", "test.csv", "--model", "m.valla", "--provider", "webgpu"},
		{"predict", "test.csv", "--model", "m.valla", "--engine", "onnxruntime", "--onnxruntime", "none.so"},
		{"predict", "test.csv", "--model", "m.valla", "--engine", "onnxruntime", "--onnxruntime", "none.so", "--parts", "none"},
		{"predict", "test.csv", "--model", "m.valla", "--engine", "abacus", "--parts", "none"},
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
	by := []string{"predict", "test.csv", "--model", "m.valla", "--engine", "onnxruntime"}
	near(t, must(t, dir, by...), want)
	for _, more := range [][]string{nil, {"--workers", "2"}} {
		folder := fmt.Sprint("shards", len(more))
		must(t, dir, with(by, with(more, "--parts", folder, "--part-size", "1KiB", "--out", folder+".csv")...)...)
		got, err := os.ReadFile(filepath.Join(dir, folder+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		near(t, string(got), want)
	}
	same(t, dir, "shards0.csv", "shards2.csv")
	fails(t, dir, 1, "its options are", "predict", "test.csv", "--model", "m.valla", "--parts", "shards0", "--part-size", "1KiB")
	must(t, dir, "eval", "test.csv", "--model", "m.valla", "--engine", "onnxruntime")
	near(t, answer(t, serving(t, dir, "--model", "m.valla", "--engine", "onnxruntime")), answer(t, serving(t, dir, "--model", "m.valla")))
}

// answer is what a server predicts for two rows.
func answer(t *testing.T, s *served) string {
	t.Helper()
	r, err := http.Post(s.url+"/models/m/predict", "application/json", strings.NewReader(`[[0.3,-0.4],[1.2,2]]`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s, %q, %v", r.Status, text, err)
	}
	return string(text)
}

// near fails unless two texts have the same numbers up to the rounding of float32.
func near(t *testing.T, got, want string) {
	t.Helper()
	a, b := strings.FieldsFunc(want, separates), strings.FieldsFunc(got, separates)
	if len(a) != len(b) || len(a) < 4 {
		t.Fatalf("%d cells, expected %d", len(b), len(a))
	}
	for i := range a {
		x, err := strconv.ParseFloat(a[i], 64)
		y, wrong := strconv.ParseFloat(b[i], 64)
		if (err == nil) != (wrong == nil) || err == nil && !(max(x-y, y-x) <= 1e-5*max(1, x, -x)) {
			t.Errorf("cell %d: %s by onnxruntime, expected %s", i, b[i], a[i])
		}
	}
}

func separates(r rune) bool { return strings.ContainsRune(",\n []{}:", r) }
