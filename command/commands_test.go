package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemoCommand: no arguments, no files; then the same as JSON, with equal numbers.
func TestDemoCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := must(t, dir, "demo")
	for _, want := range []string{"MAP", "LLA", "VaLLA 20", "NLL", "CQM", filepath.Join("runs", "demo", "demo.png")} {
		if !strings.Contains(text, want) {
			t.Errorf("output lacks %q:\n%s", want, text)
		}
	}
	for _, file := range []string{"demo.png", "demo.svg", "demo.valla"} {
		if _, err := os.Stat(filepath.Join(dir, "runs", "demo", file)); err != nil {
			t.Error(err)
		}
	}
	var doc struct {
		Scores []struct {
			Method string
			Scores struct{ NLL float64 }
		}
	}
	if err := json.Unmarshal([]byte(must(t, dir, "demo", "--json", "--dir", "again")), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Scores) != 3 || !strings.Contains(text, fmt.Sprintf("%.4f", doc.Scores[2].Scores.NLL)) {
		t.Errorf("scores %+v are not those of the table:\n%s", doc.Scores, text)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.csv"), []byte("x\n0\n3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := must(t, dir, "predict", "data.csv", "--model", filepath.Join("again", "demo.valla")); out == "" {
		t.Error("the demonstration's model predicts nothing")
	}
}

func TestDataCommand(t *testing.T) {
	dir := t.TempDir()
	if out := must(t, dir, "data", "list", "--data", "data"); !strings.Contains(out, "4 of 4 files missing in "+filepath.Join("data", "mnist")) {
		t.Errorf("list %q", out)
	}
	fails(t, dir, 1, `"imagenet"`, "data", "get", "imagenet")
	fails(t, dir, 2, "name of a data set", "data", "get")
}

func TestNetworkCommand(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	if out := must(t, dir, "network", "show", "m.valla"); !strings.Contains(out, "dense1.weight dense1.bias") || !strings.Contains(out, "41 parameters") {
		t.Errorf("show printed %q", out)
	}
	out := must(t, dir, "network", "show", "m.valla", "--weights", "last-layer", "--inducing", "5", "--batch-size", "7")
	for _, want := range []string{"none", "structured", "11 of them are uncertain", "with 5 inducing points takes", "in float64 for 7 rows at a time"} {
		if !strings.Contains(out, want) {
			t.Errorf("show lacks %q: %q", want, out)
		}
	}
	fails(t, dir, 2, `"none" is unknown`, "network", "show", "m.valla", "--weights", "none")
	if out := must(t, dir, "network", "operators"); !strings.Contains(out, "Conv\n") {
		t.Errorf("operators printed %q", out)
	}
	fails(t, dir, 2, "expected the file of one network", "network", "show")
	fails(t, dir, 1, "no such file", "network", "show", "none.onnx")
	fails(t, dir, 2, "expected a file called .onnx", "fit", "train.csv", "--network", "net.pt", "--out", "x.valla")
	fails(t, dir, 1, "a folder of images for inputs of shape [2]", "predict", ".", "--model", "m.valla")
}
