package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReportCommand: a page that needs no other file, and its summary on the terminal.
func TestReportCommand(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	out := must(t, dir, "report", "test.csv", "--model", "m.valla", "--out", "r.html")
	page, err := os.ReadFile(filepath.Join(dir, "r.html"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "wrote a page on") || !strings.Contains(string(page), "Coverage by level") || strings.Contains(string(page), "src=") {
		t.Errorf("printed %q", out)
	}
	var doc struct {
		Rows    int
		Summary []string
	}
	if err := json.Unmarshal([]byte(must(t, dir, "report", "test.csv", "--model", "m.valla", "--out", "r.html", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Rows == 0 || len(doc.Summary) != 2 || !strings.Contains(out, doc.Summary[0]) {
		t.Errorf("document %+v", doc)
	}
	fails(t, dir, 2, "--out", "report", "test.csv", "--model", "m.valla", "--out", "m.valla")
	fails(t, dir, 2, "expected a file called .html", "report", "test.csv", "--model", "m.valla", "--out", "-")
	fails(t, dir, 1, "none.csv", "report", "none.csv", "--model", "m.valla", "--out", "r.html")
	fails(t, dir, 2, `required flag(s) "out"`, "report", "test.csv", "--model", "m.valla")
	if err := os.Rename(filepath.Join(dir, "m.valla"), filepath.Join(dir, "m.html")); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, 2, "it would replace m.html", "report", "test.csv", "--model", "m.html", "--out", "m.html")
}

// TestRequire: rules have lines, a list in the document, and exit codes of their own; wrong rules are wrong usage.
func TestRequire(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	args := []string{"report", "test.csv", "--model", "m.valla", "--out", "r.html", "--require"}
	if out := must(t, dir, append(args, "rmse<=1e9,coverage95>=0")...); !strings.Contains(out, "rmse<=1e9: found ") || !strings.Contains(out, "): holds") {
		t.Errorf("printed %q", out)
	}
	if r := run(t, dir, append(args, "rmse<=0,coverage95>=0,worst_slice>=0.5")...); r.code != 3 || !strings.HasSuffix(r.stderr, "valla: rmse<=0: fails\n") {
		t.Errorf("a rule that fails: %+v", r)
	}
	if r := run(t, dir, append(args, "coverage95>=0,worst_slice>=0.5")...); r.code != 4 || !strings.Contains(r.stderr, "worst_slice>=0.5: cannot tell") {
		t.Errorf("a rule of which rows cannot tell: %+v", r)
	}
	fails(t, dir, 2, "expected a rule such as", append(args, "coverage95")...)
	fails(t, dir, 2, "the rows have no measure speed", append(args, "speed>=1")...)
	r := run(t, dir, append(args, "rmse<=0,nll<=map", "--json")...)
	var doc struct {
		Rules    []struct{ Rule, Verdict string }
		Findings []struct{ Kind string }
		Inputs   []struct{ PSI float64 }
		Weights  []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || r.code != 3 {
		t.Fatalf("code %d, error %v", r.code, err)
	}
	if len(doc.Rules) != 2 || doc.Rules[0].Verdict != "fails" || doc.Findings == nil || len(doc.Inputs) == 0 || len(doc.Weights) != len(doc.Inputs) {
		t.Errorf("document %+v", doc)
	}
}
