package main_test

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
	dir := t.TempDir()
	text := must(t, dir, "demo")
	for _, want := range []string{"MAP", "LLA", "VaLLA M=20", "NLL", "CQM", filepath.Join("runs", "demo", "demo.png")} {
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
			NLL    float64
		}
	}
	if err := json.Unmarshal([]byte(must(t, dir, "demo", "--json", "--dir", "again")), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Scores) != 3 || !strings.Contains(text, fmt.Sprintf("%.4f", doc.Scores[2].NLL)) {
		t.Errorf("scores %+v are not those of the table:\n%s", doc.Scores, text)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.csv"), []byte("x\n0\n3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := must(t, dir, "predict", "data.csv", "--model", filepath.Join("again", "demo.valla")); out == "" {
		t.Error("the demonstration's model predicts nothing")
	}
}

func TestExperimentCommand(t *testing.T) {
	dir := t.TempDir()
	if list := must(t, dir, "experiment", "list"); !strings.Contains(list, "uci") || !strings.Contains(list, "mnist") {
		t.Errorf("list %q", list)
	}
	if err := os.MkdirAll(filepath.Join(dir, "sets", "toy1d"), 0o755); err != nil {
		t.Fatal(err)
	}
	var csv strings.Builder
	csv.WriteString("x,y\n")
	for i := range 50 {
		x := float64(i%25)/5 + float64(i/25)*6
		fmt.Fprintf(&csv, "%g,%g\n", x, x*x/20+float64(i*7%5)/20)
	}
	if err := os.WriteFile(filepath.Join(dir, "sets", "toy1d", "data.csv"), []byte(csv.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"experiment", "run", "toy", "--data", "sets", "--m", "3,6", "--iterations", "20"}
	if out := must(t, dir, args...); !strings.Contains(out, "M = 6") {
		t.Errorf("output %q", out)
	}
	var doc map[string]struct{ Rows []struct{ Inducing int } }
	if err := json.Unmarshal([]byte(must(t, dir, append(args, "--json")...)), &doc); err != nil || len(doc["toy"].Rows) != 2 {
		t.Errorf("JSON %+v, error %v", doc, err)
	}
	fails(t, dir, 2, `"toys"`, "experiment", "run", "toys")
	fails(t, dir, 2, "name of an experiment", "experiment", "run")
	fails(t, dir, 2, "runs", "experiment", "runs")
	fails(t, dir, 1, "boston.npz", "experiment", "run", "uci", "--data", "sets")
	fails(t, dir, 1, "train-images-idx3-ubyte", "experiment", "run", "mnist", "--data", "sets")
}

func TestDataCommand(t *testing.T) {
	dir := t.TempDir()
	if out := must(t, dir, "data", "list"); !strings.Contains(out, "4 of 4 files missing in "+filepath.Join("data", "mnist")) {
		t.Errorf("list %q", out)
	}
	fails(t, dir, 1, `"imagenet"`, "data", "get", "imagenet")
	fails(t, dir, 2, "name of a data set", "data", "get")
}
