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
