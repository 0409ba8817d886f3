package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

// TestLaws: the tables stand between the marks of the page; a data set without laws has none, a folder without the page
// gets none, and a page without marks is an error.
func TestLaws(t *testing.T) {
	cell := func(data, row string, seed uint64, nll float64) *result.Cell {
		return &result.Cell{
			ID: result.ID{Data: data, Row: row, Seed: seed}, Scores: map[string]result.Scores{"": {"NLL": result.Number(nll)}},
			Curves: result.Curves{Coverage: []float64{0.1, 0.2, 0.3, 0.4, 0.25, 0.6, 0.7, 0.8, 0.9}},
		}
	}
	r := &Report{merged: []experiment{{cells: []*result.Cell{
		cell("a", "MAP", 0, 1), cell("b", "VaLLA 100, t inside", 0, 1), cell("b", "MAP", 0, 3), cell("b", "VaLLA 100, t inside", 1, 2), cell("b", "other", 0, 5),
	}}}}
	dir := t.TempDir()
	if err := r.writeLaws(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "likelihoods.md")
	put := func(text string) error {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return r.writeLaws(dir)
	}
	if err := put("no marks"); err == nil || !strings.Contains(err.Error(), "has no marks") {
		t.Errorf("a page without marks: error %v", err)
	}
	if err := put("first\n<!-- laws: begin -->\nold\n<!-- laws: end -->\nlast\n"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first\n", "**b**", "| MAP | 1 | 3.0000 |", "| VaLLA 100, t inside | 2 | 1.5000 ± 0.7071 |", "| 0.250 |", "<!-- laws: end -->\nlast\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, surplus := range []string{"**a**", "old", "other"} {
		if strings.Contains(string(text), surplus) {
			t.Errorf("%q in\n%s", surplus, text)
		}
	}
}
