package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFeaturesCommand: features are computed once, fits and evaluations read them, and predictions need no file.
func TestFeaturesCommand(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	ok := func(args ...string) string {
		t.Helper()
		r := run(t, dir, args...)
		if r.code != 0 {
			t.Fatalf("valla %s: exit code %d, stderr %q", strings.Join(args, " "), r.code, r.stderr)
		}
		return r.stdout
	}
	if r := run(t, dir, "features", "test.csv", "--model", "m.valla", "--out", "other"); !strings.HasPrefix(r.stderr, "valla: estimate: features of shape [10] of 100 rows, 100 of them new, take about ") || !strings.Contains(r.stderr, " of the file") {
		t.Errorf("stderr %q", r.stderr)
	}
	var doc struct {
		File, Before string
		Shape        []int
		Rows, New    int
	}
	if err := json.Unmarshal([]byte(ok("features", "train.csv", "--model", "m.valla", "--out", "f", "--json")), &doc); err != nil || doc.File != "f" || doc.Before != "dense2.weight" || len(doc.Shape) != 1 || doc.New != doc.Rows || doc.Rows == 0 {
		t.Fatalf("%+v, error %v", doc, err)
	}
	if out := ok("features", "train.csv", "--model", "m.valla", "--out", "f"); !strings.Contains(out, ", 0 of them new") {
		t.Errorf("a second run printed %q", out)
	}
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "f"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	ok("fit", "train.csv", "--model", "m.valla", "--method", "lla", "--weights", "last-layer", "--out", "whole.valla")
	ok("fit", "train.csv", "--model", "m.valla", "--method", "lla", "--feature-file", "f", "--out", "rest.valla")
	if size() != before {
		t.Errorf("the fit made the file %d bytes longer", size()-before)
	}
	predictions := func(model string) string { return ok("predict", "train.csv", "--model", model) }
	if predictions("whole.valla") != predictions("rest.valla") {
		t.Error("predictions with and without features differ")
	}
	if text := ok("eval", "train.csv", "--model", "rest.valla", "--feature-file", "f"); text != ok("eval", "train.csv", "--model", "rest.valla") {
		t.Errorf("eval with features printed %q", text)
	}
	ok("calibrate", "train.csv", "--model", "rest.valla", "--feature-file", "f", "--out", "c.valla")
	ok("compare", "train.csv", "--model", "m.valla", "--feature-file", "f", "--methods", "temperature,lla")
	fails(t, dir, 1, "no file of features", "fit", "train.csv", "--model", "m.valla", "--feature-file", "train.csv", "--out", "x.valla")
	fails(t, dir, 2, "weights all: no layers with weights come before them", "features", "train.csv", "--model", "m.valla", "--weights", "all", "--out", "g")
	fails(t, dir, 2, "it would replace", "features", "train.csv", "--model", "m.valla", "--out", "train.csv")
}
