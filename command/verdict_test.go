package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/holdout"
)

// TestVerdict: a fit ends with the verdict, in a line, in the document and in the file.
func TestVerdict(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	out := must(t, dir, with(quickFit, "fit", "train.csv", "--model", "map.valla", "--out", "v.valla")...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "verdict ") || !strings.Contains(last, "the network alone") || !strings.Contains(last, "on 20 rows that training or fit may have used; 95 % intervals hold") {
		t.Errorf("the last line is %q", last)
	}
	text := must(t, dir, with(quickFit, "fit", "train.csv", "--model", "map.valla", "--validation-data", "test.csv", "--out", "v.valla", "--json")...)
	var doc struct {
		Verdict map[string]any
		Event   struct{ Verdict valla.Verdict }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"rows", "map_nll", "nll", "standard_error", "better", "advice"} {
		if doc.Verdict[key] == nil {
			t.Errorf("no %s in the verdict %v", key, doc.Verdict)
		}
	}
	m, err := valla.Load(filepath.Join(dir, "v.valla"))
	if err != nil {
		t.Fatal(err)
	}
	if v := *m.History[1].Verdict; v != doc.Event.Verdict || v.Rows != 100 || v.NLL != doc.Verdict["nll"] {
		t.Errorf("verdict %+v in the file, %+v in the document", v, doc)
	}
}

// TestValidationRowsAreDivided: of many rows in a file half choose and half judge.
func TestValidationRowsAreDivided(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	writeTable(t, filepath.Join(dir, "many.csv"), example(holdout.EnoughToSplit, 5))
	var r report
	decode(t, must(t, dir, with(quickFit, "fit", "train.csv", "--model", "map.valla", "--validation-data", "many.csv", "--out", "v.valla", "--json")...), &r)
	if v := r.Verdict; r.Event.ValidationRows != holdout.EnoughToSplit/2 || v.Rows != holdout.EnoughToSplit/2 || v.Seen {
		t.Errorf("%d rows to choose by, verdict %+v", r.Event.ValidationRows, v)
	}
}

// TestRequireBetter: without a better verdict nothing is written, and a warning names the
// remedy where error bars are worse than none.
func TestRequireBetter(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	before, err := os.ReadFile(filepath.Join(dir, "m.valla"))
	if err != nil {
		t.Fatal(err)
	}
	// A prior so wide that the posterior knows nothing.
	bad := []string{"fit", "train.csv", "--model", "map.valla", "--method", "lla", "--structure", "diag", "--hyper", "fixed", "--prior-std", "1000", "--noise-std", "5", "--law", "gaussian", "--out", "m.valla"}
	r := run(t, dir, append(bad, "--require-better")...)
	if r.code != 1 || !strings.HasPrefix(r.stderr, "valla: nothing was written: the posterior is worse than the network alone with the law student-t: NLL ") || r.stdout != "" {
		t.Errorf("exit code %d, stderr %q, stdout %q", r.code, r.stderr, r.stdout)
	}
	after, err := os.ReadFile(filepath.Join(dir, "m.valla"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the file was changed, error %v", err)
	}
	r = run(t, dir, bad...)
	if r.code != 0 || !strings.Contains(r.stderr, "valla: warning: These error bars are worse than none: try --hyper grid") || !strings.Contains(r.stdout, "worse than the network alone") {
		t.Errorf("exit code %d, stderr %q, stdout %q", r.code, r.stderr, r.stdout)
	}
	// The other way: a network that is far too sure of itself.
	m, err := valla.Load(filepath.Join(dir, "map.valla"))
	if err != nil {
		t.Fatal(err)
	}
	sure(t, m)
	if err := m.Save(filepath.Join(dir, "sure.valla")); err != nil {
		t.Fatal(err)
	}
	must(t, dir, with(quickFit, "fit", "train.csv", "--model", "sure.valla", "--out", "v.valla", "--require-better")...)
}

// TestUnevenNoise: with float32 and a noise that differs from place to
// place the prior becomes wide. What is written predicts.
func TestUnevenNoise(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unevenTable(t, filepath.Join(dir, "train.csv"), 3000)
	must(t, dir, "train", "train.csv", "--dtype", "float32", "--hidden", "30,30", "--iterations", "400", "--out", "map.valla")
	must(t, dir, "fit", "train.csv", "--model", "map.valla", "--iterations", "100", "--inducing", "50", "--out", "m.valla")
	for i, row := range readPredictions(t, must(t, dir, "predict", "train.csv", "--model", "m.valla")) {
		if !(row[1] > 0 && row[4] >= 0 && row[5] >= 0) {
			t.Fatalf("row %d: %v", i, row)
		}
	}
}

// TestQuantityIsNoClass: a target of many broken numbers is refused, with what to do.
func TestQuantityIsNoClass(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(200, 1))
	fails(t, dir, 2, "which look like numbers: leave out classes", "train", "train.csv", "--classes", "--out", "x.valla")
}
