package command_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpdate: rows are added to SFR on the command line. The report says how they were
// predicted before, the new model predicts them better, and the old one stays.
func TestUpdate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTable(t, at("train.csv"), example(200, 1))
	writeTable(t, at("later.csv"), example(60, 2))
	must(t, dir, with(quickTrain, "train", "train.csv", "--out", "map.valla")...)
	r := run(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "sfr", "--own-mean", "--points", "20", "--out", "m.valla")
	if r.code != 0 || !strings.Contains(r.stdout, "SFR 20") || !strings.Contains(r.stderr, "SFR's own mean, which is not the network's output") {
		t.Fatalf("fit: %+v", r)
	}
	out := must(t, dir, "update", "later.csv", "--model", "m.valla", "--out", "m2.valla")
	for _, want := range []string{"60 added", "SFR 20", "NLL of these rows before", "NLL of these rows after", "m2.valla"} {
		if !strings.Contains(out, want) {
			t.Errorf("update printed %q, want %q", out, want)
		}
	}
	var doc struct {
		Event struct {
			Action, Method string
			Rows           int
			Facts          []struct{ Value float64 }
		}
	}
	text := must(t, dir, "update", "later.csv", "--model", "m.valla", "--out", "m3.valla", "--json")
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if e := doc.Event; e.Action != "update" || e.Method != "sfr" || e.Rows != 60 || len(e.Facts) != 2 {
		t.Errorf("update as JSON: %s", text)
	}
	var before, after evaluation
	decode(t, must(t, dir, "eval", "later.csv", "--model", "m.valla", "--json"), &before)
	decode(t, must(t, dir, "eval", "later.csv", "--model", "m2.valla", "--json"), &after)
	if b, a := before.posterior().NLL, after.posterior().NLL; a >= b || math.Abs(doc.Event.Facts[0].Value-b) > 1e-9 || math.Abs(doc.Event.Facts[1].Value-a) > 1e-9 {
		t.Errorf("NLL %g before, %g after the update, reported %+v", b, a, doc.Event.Facts)
	}
	const own = "Predictions have SFR's own mean, which is not the network's output."
	if before.OwnMean != own || !strings.HasSuffix(must(t, dir, "eval", "later.csv", "--model", "m.valla"), own+"\n") {
		t.Errorf("eval says of the mean %q", before.OwnMean)
	}
	if r := run(t, dir, "update", "later.csv", "--model", "m2.valla", "--out", "m2.valla"); r.code != 0 || !strings.Contains(r.stderr, "counts twice") { // in place
		t.Errorf("the same rows again: %+v", r)
	}
}

// TestUpdateErrors: one line says what is wrong, and nothing is written.
func TestUpdateErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(80, 1))
	writeTable(t, filepath.Join(dir, "blind.csv"), example(5, 1), "a", "b")
	must(t, dir, with(quickTrain, "train", "train.csv", "--out", "map.valla")...)
	must(t, dir, with(quickFit, "fit", "train.csv", "--model", "map.valla", "--out", "m.valla")...)
	fails(t, dir, 1, "m.valla: update: valla: rows can be added exactly to a regression with --alpha 0 alone", "update", "train.csv", "--model", "m.valla", "--out", "m2.valla")
	fails(t, dir, 1, "map.valla: update: the model has no posterior to add rows to", "update", "train.csv", "--model", "map.valla", "--out", "m2.valla")
	fails(t, dir, 1, `blind.csv: no column "y", the target`, "update", "blind.csv", "--model", "m.valla", "--out", "m2.valla")
	fails(t, dir, 1, "no.valla", "update", "train.csv", "--model", "no.valla", "--out", "m2.valla")
	fails(t, dir, 1, "no/m2.valla", "update", "train.csv", "--model", "m.valla", "--out", filepath.Join("no", "m2.valla"))
	fails(t, dir, 2, "expected one file of data", "update", "--model", "m.valla", "--out", "m2.valla")
	fails(t, dir, 2, `"out" not set`, "update", "train.csv", "--model", "m.valla")
	if matches, err := filepath.Glob(filepath.Join(dir, "m2*")); err != nil || len(matches) > 0 {
		t.Errorf("files %q, error %v", matches, err)
	}
}
