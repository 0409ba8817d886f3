package command_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// writeRevenue writes a table of n revenues with a heavy tail, of which row bad is −3 if it is at least 0.
func writeRevenue(t *testing.T, path string, n, bad int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("x,revenue\n")
	for i := range n {
		x := 2*rng.Float64() - 1
		y := 129 * math.Exp(math.Sin(2*x)+1.2*rng.NormFloat64())
		if i == bad {
			y = -3
		}
		fmt.Fprintf(&text, "%g,%g\n", x, y)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTargetTransformPipeline: the training names the tail of the target and the transform against it. A model with the
// transform predicts positive numbers with finite means, also in parts.
func TestTargetTransformPipeline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRevenue(t, filepath.Join(dir, "sales.csv"), 300, -1)
	train := []string{"train", "sales.csv", "--target", "revenue", "--iterations", "300", "--hidden", "10", "--out", "map.valla"}
	if r := run(t, dir, train...); r.code != 0 || !strings.Contains(r.stderr, `The target "revenue" has a long tail`) || !strings.Contains(r.stderr, "try --target-transform log or --likelihood student-t") {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
	if out := must(t, dir, with(train, "--target-transform", "log")...); !strings.Contains(out, `log of "revenue"`) || !strings.Contains(out, `of the transformed "revenue"`) {
		t.Errorf("report %q", out)
	}
	must(t, dir, "fit", "sales.csv", "--model", "map.valla", "--method", "lla", "--law", "gaussian", "--out", "lla.valla")
	must(t, dir, "predict", "sales.csv", "--model", "lla.valla", "--parts", "shards")
	text := must(t, dir, "predict", "sales.csv", "--model", "lla.valla", "--quantiles", "0.5")
	for i, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		var v []float64 // mean, std, lower, upper, epistemic, aleatoric, median
		for _, cell := range strings.Split(line, ",") {
			number, err := strconv.ParseFloat(cell, 64)
			if err != nil || !(number >= 0 && number < 1e6) {
				t.Fatalf("row %d: %q", i, line)
			}
			v = append(v, number)
		}
		if !(v[2] < v[6] && v[6] < v[0] && v[0] < v[3]) {
			t.Errorf("row %d: %q", i, line)
		}
	}
	var doc map[string]any
	decode(t, must(t, dir, "eval", "sales.csv", "--model", "lla.valla", "--json"), &doc)
	s := doc["scores"].([]any)[1].(map[string]any)
	if nll, crps, rmse := s["nll"].(float64), s["crps"].(float64), s["rmse"].(float64); !(nll < 7 && crps > 0 && rmse > crps) {
		t.Errorf("scores %v", s)
	}
}

// TestTargetTransformWithoutMean: exp of Student's t has no mean. The commands say so, and JSON has null in place of an
// infinite number.
func TestTargetTransformWithoutMean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRevenue(t, filepath.Join(dir, "sales.csv"), 60, -1)
	must(t, dir, "train", "sales.csv", "--target", "revenue", "--iterations", "20", "--hidden", "3", "--target-transform", "log", "--likelihood", "student-t", "--likelihood-nu", "3", "--out", "map.valla")
	const note = "The mean of 60 predictions does not exist"
	r := run(t, dir, "predict", "sales.csv", "--model", "map.valla", "--quantiles", "0.5")
	cells := strings.Split(strings.Split(r.stdout, "\n")[1], ",")
	if r.code != 0 || !strings.Contains(r.stderr, note) || cells[0] != cells[6] || cells[1] != "+Inf" || cells[5] != "+Inf" {
		t.Errorf("exit code %d, stderr %q, the first row is %q", r.code, r.stderr, cells)
	}
	r = run(t, dir, "predict", "sales.csv", "--model", "map.valla", "--json")
	var doc map[string]any
	decode(t, r.stdout, &doc)
	first := func(column string) any { return doc[column].([]any)[0] }
	if !strings.Contains(r.stderr, note) || first("std") != nil || !(first("lower").(float64) < first("mean").(float64)) {
		t.Errorf("stderr %q, document %v", r.stderr, doc)
	}
	if out := must(t, dir, "eval", "sales.csv", "--model", "map.valla"); !strings.Contains(out, note) || !strings.Contains(out, "+Inf") {
		t.Errorf("evaluation %q", out)
	}
	decode(t, must(t, dir, "eval", "sales.csv", "--model", "map.valla", "--json"), &doc)
	if s := doc["scores"].([]any)[0].(map[string]any); doc["medians"] != 60.0 || s["nll"] == nil || s["crps"] != nil {
		t.Errorf("scores %v", doc)
	}
	if r := run(t, dir, "fit", "sales.csv", "--model", "map.valla", "--method", "lla", "--weights", "last-layer", "--out", "m.valla"); r.code != 0 {
		t.Fatalf("fit: %+v", r)
	}
	for _, more := range [][]string{{"--samples", "2"}, {"--parts", "shards"}} {
		if r := run(t, dir, with([]string{"predict", "sales.csv", "--model", "m.valla"}, more...)...); r.code != 0 || !strings.Contains(r.stderr, "predictions does not exist") {
			t.Errorf("%v: exit code %d, stderr %q", more, r.code, r.stderr)
		}
	}
	decode(t, must(t, dir, "report", "sales.csv", "--model", "map.valla", "--out", "r.html", "--json"), &doc)
}

// TestTargetTransformRefusals: a target that the transform does not take is one line with its file, row and column, in
// every command.
func TestTargetTransformRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeRevenue(t, filepath.Join(dir, "sales.csv"), 60, -1)
	writeRevenue(t, filepath.Join(dir, "bad.csv"), 60, 7)
	train := []string{"train", "sales.csv", "--target", "revenue", "--iterations", "2", "--hidden", "3", "--out", "map.valla", "--target-transform"}
	must(t, dir, with(train, "log")...)
	fails(t, dir, 2, `expected one of none, log, log1p, yeo-johnson, found "sqrt"`, with(train, "sqrt")...)
	fails(t, dir, 2, "target transform \"log\" of classes", with(train, "log", "--classes")...)
	const want = `bad.csv: %srow 7 (counting from 0), target "revenue": expected a number above 0 for the target transform log, found -3`
	fails(t, dir, 1, fmt.Sprintf(want, "train: "), "train", "bad.csv", "--target", "revenue", "--target-transform", "log", "--out", "x.valla")
	fails(t, dir, 1, fmt.Sprintf(want, ""), "fit", "bad.csv", "--model", "map.valla", "--out", "x.valla")
	fails(t, dir, 1, fmt.Sprintf(want, ""), "fit", "sales.csv", "--validation-data", "bad.csv", "--model", "map.valla", "--out", "x.valla")
	fails(t, dir, 1, fmt.Sprintf(want, "evaluate: "), "eval", "bad.csv", "--model", "map.valla")
	fails(t, dir, 1, fmt.Sprintf(want, "calibrate: "), "calibrate", "bad.csv", "--model", "map.valla", "--out", "x.valla")
	if _, err := os.Stat(filepath.Join(dir, "x.valla")); err == nil {
		t.Error("a model was written")
	}
}

// TestTrainNoiseHead: a network that tells the noise of each row is trained, fitted, scored and compared, and refuses classes.
func TestTrainNoiseHead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(200, 1))
	must(t, dir, with(quickTrain, "train", "train.csv", "--noise-head", "log-variance", "--out", "map.valla")...)
	must(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--out", "m.valla")
	if out := must(t, dir, "eval", "train.csv", "--model", "m.valla"); !strings.Contains(out, "NLL") {
		t.Errorf("eval printed %s", out)
	}
	if out := must(t, dir, "compare", "train.csv", "--model", "map.valla", "--methods", "mean-variance"); !strings.Contains(out, "left out: mean-variance network: the network itself tells the noise of each row\n") {
		t.Errorf("compare printed %s", out)
	}
	fails(t, dir, 2, `"variance"`, with(quickTrain, "train", "train.csv", "--noise-head", "variance", "--out", "n.valla")...)
	fails(t, dir, 2, "a noise head of a network of classes", with(quickTrain, "train", "train.csv", "--noise-head", "log-variance", "--classes", "--out", "n.valla")...)
}
