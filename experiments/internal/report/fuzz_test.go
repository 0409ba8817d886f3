package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReport: whatever stands in a plan and in a cell, the report is made, or an error of one
// line says why not.
func FuzzReport(f *testing.F) {
	dir := f.TempDir()
	seed := func(t *testing.T) (plan, cell []byte, name string) {
		leave(t, dir)
		cells, err := filepath.Glob(filepath.Join(dir, "mnist", "quick", "cells", "*valla-100*"))
		if err != nil || len(cells) == 0 {
			t.Fatalf("%q, error %v", cells, err)
		}
		plan, err = os.ReadFile(filepath.Join(dir, "mnist", "quick", "plan.json"))
		if err != nil {
			t.Fatal(err)
		}
		if cell, err = os.ReadFile(cells[0]); err != nil {
			t.Fatal(err)
		}
		return plan, cell, filepath.Base(cells[0])
	}
	f.Add("", "", 0)
	f.Add(`"grid": [`, `"grid": [3e300, `, 1)
	f.Add(`"step": 2`, `"step": -2`, 1)
	f.Add(`"NLL": `, `"NLL": "NaN", "x": `, 1)
	f.Add(`"max": 1`, `"max": -1`, 1)
	f.Add(`"level": 1`, `"level": 99`, 1)
	f.Add(`"in": [`, `"in": [1e308, 1e308, `, 1)
	f.Add(`"data": "mnist"`, `"data": "../../x"`, 0)
	f.Add(`"row": "MAP"`, `"row": ""`, 0)
	f.Add(`"experiment": "mnist"`, `"experiment": "../../x"`, 0)
	f.Add(`"seed": 1`, `"seed": 18446744073709551615`, 0)
	f.Fuzz(func(t *testing.T, old, other string, which int) {
		plan, cell, name := seed(t)
		texts := []*[]byte{&plan, &cell}
		at := texts[which&1]
		*at = []byte(strings.Replace(string(*at), old, other, 1))
		inner := t.TempDir()
		folder := filepath.Join(inner, "mnist", "quick")
		if err := os.MkdirAll(filepath.Join(folder, "cells"), 0o755); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string][]byte{filepath.Join(folder, "plan.json"): plan, filepath.Join(folder, "cells", name): cell} {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := New(inner, nil)
		if err == nil {
			_, err = r.HTML()
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error of several lines: %q", err)
		}
	})
}
