package main

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

// The page of results and its figures are those that the cells in experiments/results give. If
// they are not, go run ./experiments/publish writes them anew.
func TestStale(t *testing.T) {
	root, fresh := filepath.Join("..", ".."), t.TempDir()
	link(t, root, fresh)
	if err := os.Mkdir(filepath.Join(fresh, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(fresh, "docs", "likelihoods.md"), content(t, filepath.Join(root, "docs", "likelihoods.md")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := publish(fresh, "", io.Discard); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(fresh, "docs", "*.md"))
	figures, _ := filepath.Glob(filepath.Join(fresh, "docs", "figures", "*"))
	if err != nil || len(pages) != 2 || len(figures) == 0 {
		t.Fatalf("%d pages, %d figures, error %v", len(pages), len(figures), err)
	}
	for _, path := range append(pages, figures...) {
		name, err := filepath.Rel(fresh, path)
		if err != nil {
			t.Fatal(err)
		}
		if !same(content(t, path), content(t, filepath.Join(root, name))) {
			t.Errorf("%s is not what the cells give: go run ./experiments/publish", name)
		}
	}
}

// same tells whether two files are equal, or the same picture. On processors that multiply and add
// in one rounding, pictures may differ in single pixels, and only their size is compared.
func same(a, b []byte) bool {
	x, errX := png.Decode(bytes.NewReader(a))
	y, errY := png.Decode(bytes.NewReader(b))
	if errX != nil || errY != nil {
		return bytes.Equal(a, b)
	}
	equal := x.Bounds() == y.Bounds()
	for i := x.Bounds().Min.X; equal && runtime.GOARCH == "amd64" && i < x.Bounds().Max.X; i++ {
		for j := x.Bounds().Min.Y; j < x.Bounds().Max.Y; j++ {
			equal = equal && x.At(i, j) == y.At(i, j)
		}
	}
	return equal
}

// link copies the cells of the repository root into the folder to.
func link(t *testing.T, root, to string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "experiments", "results", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(to, "experiments", "results")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), content(t, f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Cells of a run are taken over once: instead of those of the same row and seed, whatever their settings, beside the others.
func TestTakeOver(t *testing.T) {
	root, runs := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, "experiments", "results")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := result.Open(runs, "toy", "full")
	if err != nil {
		t.Fatal(err)
	}
	for i, rows := range [][]string{{"MAP", "LLA"}, {"LLA", "ELLA 5"}} {
		plan := result.Plan{Experiment: "toy", Profile: "full", Data: []string{"toy1d"}}
		for _, row := range rows {
			c := &result.Cell{
				Experiment: "toy", Profile: "full", ID: result.ID{Data: "toy1d", Method: "m", Row: row, Hash: fmt.Sprint("h", i)},
				Settings: fmt.Appendf(nil, `[2,"toy1d","x",0,{},{},{},"m",{"row":%q,"version":%d},"",0]`, row, i),
				Scores:   map[string]result.Scores{"": {"NLL": result.Number(i)}},
			}
			if err := f.Write(c); err != nil {
				t.Fatal(err)
			}
			plan.Cells = append(plan.Cells, c.ID)
		}
		if err := f.Expect(plan); err != nil {
			t.Fatal(err)
		}
		if err := publish(root, runs, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	cells, err := result.ReadLines("toy", bytes.NewReader(content(t, filepath.Join(dir, "toy.jsonl"))))
	if err != nil || len(cells) != 3 || cells[0].Row != "MAP" || cells[1].Scores[""]["NLL"] != 1 || cells[2].Row != "ELLA 5" {
		t.Errorf("cells %+v, error %v", cells, err)
	}
	if page := content(t, filepath.Join(root, "docs", "results.md")); !bytes.Contains(page, []byte("ELLA 5")) {
		t.Error("the page lacks a row")
	}
}

// A cell that was refused leaves the published cell with scores, and what is damaged is named.
func TestTakeOverKeepsScores(t *testing.T) {
	root, runs := t.TempDir(), t.TempDir()
	dir := filepath.Join(root, "experiments", "results")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := result.Open(runs, "toy", "full")
	if err != nil {
		t.Fatal(err)
	}
	of := func(row string) *result.Cell {
		return &result.Cell{
			Experiment: "toy", Profile: "full", ID: result.ID{Data: "toy1d", Method: "m", Row: row, Hash: "h"},
			Settings: fmt.Appendf(nil, `[2,"toy1d","x",0,{},{},{},"m",{"row":%q},"",0]`, row), Scores: map[string]result.Scores{"": {"NLL": 1}},
		}
	}
	refused, busy, damaged := of("LLA"), of("ELLA 5"), of("LLA Diag")
	add := func(cells ...*result.Cell) string {
		plan := result.Plan{Experiment: "toy", Profile: "full", Data: []string{"toy1d"}}
		for _, c := range cells {
			if err := f.Write(c); err != nil {
				t.Fatal(err)
			}
			plan.Cells = append(plan.Cells, c.ID)
		}
		if err := f.Expect(plan); err != nil {
			t.Fatal(err)
		}
		if cells[0].Refused != "" {
			if err := os.WriteFile(filepath.Join(string(f), "cells", damaged.Name()+".json"), []byte("{"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var warnings bytes.Buffer
		if err := publish(root, runs, &warnings); err != nil {
			t.Fatal(err)
		}
		return warnings.String()
	}
	if got := add(refused, busy, damaged); got != "" {
		t.Errorf("warnings %q", got)
	}
	refused.Refused, refused.Scores, refused.Limit = "no memory", nil, result.Busy
	busy.HyperRefused, busy.Scores, busy.Limit = "no memory", map[string]result.Scores{"": {"NLL": 2}}, result.Busy
	if got := add(refused, busy, damaged); !strings.Contains(got, damaged.Name()) || strings.Count(got, "\n") != 1 {
		t.Errorf("warnings %q", got)
	}
	cells, err := result.ReadLines("toy", bytes.NewReader(content(t, filepath.Join(dir, "toy.jsonl"))))
	if err != nil || len(cells) != 3 {
		t.Fatalf("%d cells, error %v", len(cells), err)
	}
	for _, c := range cells {
		if c.Scores[""]["NLL"] != 1 {
			t.Errorf("cell %+v", c)
		}
	}
}
