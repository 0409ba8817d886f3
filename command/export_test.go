package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla"
)

// TestExport: a fitted model becomes an ONNX file, whose differences are printed; what cannot be exported is refused.
func TestExport(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	text := must(t, dir, "export", "m.valla", "--out", "net.onnx", "--data", "test.csv", "--quantiles", "0.1,0.9", "--json")
	var e valla.Export
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "net.onnx"))
	if err != nil || int(info.Size()) != e.Bytes || e.Rows != 100 || len(e.Outputs) != 7 {
		t.Errorf("export printed %s (%v)", text, err)
	}
	out := must(t, dir, "export", "map.valla", "--out", "map.onnx")
	for _, want := range []string{"map.onnx: ", "at 20 rows", "input ", `"a", "b"`, "mean ", "largest difference"} {
		if !strings.Contains(out, want) {
			t.Errorf("export printed %q, want %q", out, want)
		}
	}
	for _, args := range [][]string{
		{"export", "m.valla", "--out", "m.valla"},
		{"export", "none.valla", "--out", "x.onnx"},
		{"export", "m.valla", "--out", "x.onnx", "--check", "--onnxruntime", "none.so"},
	} {
		if r := run(t, dir, args...); r.code == 0 || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%v: exit code %d, %q", args, r.code, r.stderr)
		}
	}
}
