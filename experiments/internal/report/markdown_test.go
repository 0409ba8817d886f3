package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
)

// The text of one experiment has the measured columns and rows alone.
func TestWriteText(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir)
	var out bytes.Buffer
	if err := WriteText(&out, dir, "mnist", "quick"); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"mnist\n", "VaLLA 100", "1 of 2", "too large", "missing", "-0.4000 **"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	for _, not := range []string{"printed", "runs", "ELLA"} {
		if strings.Contains(text, not) {
			t.Errorf("the text has %q:\n%s", not, text)
		}
	}
	out.Reset()
	for name, profile := range map[string]string{"mnist": "full", "uci": "quick"} {
		if err := WriteText(&out, dir, name, profile); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() != 0 {
		t.Errorf("text of what was not run: %s", &out)
	}
}

func TestMarkdown(t *testing.T) {
	dir := t.TempDir()
	r, _, text := written(t, dir)
	for _, want := range []string{"# Experiments\n", "## mnist\n\nDigits. 5 of 8 runs.", "| **-0.4000** |", "| _0.3000 ± 0.1414_ |", "| NLL | Negative log-likelihood", "```sh\nvalla experiment run mnist --profile quick\nvalla experiment run mnist --profile full\n```",
		"| NLL, printed |", "\n* NLL: VaLLA 100 has", "LᵀL", "## uci: not run\n\nTables\n\n```sh\nvalla experiment run uci\n```", "Computed with valla v1, go"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	again, err := r.markdown(dir)
	if err != nil || again != text {
		t.Error("the report differs from one time to the next")
	}
	if pictures, _ := filepath.Glob(filepath.Join(dir, "figures", "mnist-mnist-*.png")); len(pictures) < 6 {
		t.Errorf("pictures %q", pictures)
	}
}

// Files that cannot be written are one line.
func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir)
	r, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write(file); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if err := result.WriteFile(filepath.Join(file, "x"), nil); err == nil || !strings.HasPrefix(err.Error(), "result: ") {
		t.Errorf("error %v", err)
	}
}

// A damaged result is named in the report.
func TestDamagedResult(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir)
	cells, err := filepath.Glob(filepath.Join(dir, "mnist", "quick", "cells", "*.json"))
	if err != nil || len(cells) == 0 {
		t.Fatal(err)
	}
	if err := os.WriteFile(cells[0], []byte(`{"scores":`), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := New(dir, nil)
	if err != nil || len(r.Damaged) != 1 || !strings.Contains(r.Damaged[0], cells[0]) || strings.Contains(r.Damaged[0], "\n") {
		t.Errorf("damaged %q, error %v", r.Damaged, err)
	}
}

// Sections are in the order of the known experiments, others behind them. Machines are
// listed once.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "own"} {
		f, err := result.Open(dir, name, "full")
		if err != nil {
			t.Fatal(err)
		}
		id := result.ID{Data: "set", Row: "MAP", Hash: "h"}
		if err := f.Expect(result.Plan{Experiment: name, Profile: "full", Data: []string{"set"}, Cells: []result.ID{id}}); err != nil {
			t.Fatal(err)
		}
		if err := f.Write(&result.Cell{ID: id, Machine: result.Machine{Program: "v1", Go: "go", CPU: "chip"}}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(dir, []Known{{Name: "b"}, {Name: "none"}, {Name: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, s := range r.Sections {
		order = append(order, s.ID)
	}
	if got := strings.Join(order, " "); got != "b a own" {
		t.Errorf("sections %s", got)
	}
	if len(r.NotRun) != 1 || r.NotRun[0].Name != "none" || len(r.Machines) != 1 {
		t.Errorf("not run %v, machines %v", r.NotRun, r.Machines)
	}
}

// Names that come from results cannot break out of the page.
func TestEscapes(t *testing.T) {
	r := &Report{Sections: []Section{{ID: "x", Name: "<script>alert(1)</script>", About: `"><b>`, Data: []DataSection{{
		Table: Table{Title: "<i>", Columns: []Column{{"NLL", here, 2, 0}}, Rows: []Row{{Method: "</table>", Cells: []Cell{{Text: "1", Note: `"onclick="x`}}}}},
	}}}}}
	html, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, string(html))
	for _, not := range []string{"<script>alert", "<b>", "<i>", `"onclick`} {
		if strings.Contains(string(html), not) {
			t.Errorf("the page has %s", not)
		}
	}
}

func TestPageParts(t *testing.T) {
	for text, want := range map[string]string{"0.1 ± 0.2": "0.1 <small>±0.2</small>", "too <large": "too &lt;large"} {
		if got := spelled(Cell{Text: text}); string(got) != want {
			t.Errorf("%q is spelled %q", text, got)
		}
	}
	if !oneSource([]Column{{Source: here}}) || oneSource([]Column{{Source: here}, {Source: printed}}) {
		t.Error("the number of sources is wrong")
	}
	a, b := figure.Key{Name: "a", Mark: "line"}, figure.Key{Name: "b", Mark: "dot"}
	f := Figure{Charts: []figure.Chart{{Keys: []figure.Key{a, b}}, {Keys: []figure.Key{b, a}}}}
	if keys := f.Keys(); len(keys) != 2 || keys[0] != a || keys[1] != b {
		t.Errorf("legend %v", keys)
	}
	for _, k := range []figure.Key{a, b} {
		if mark(k) == "" {
			t.Errorf("no shape for %s", k.Mark)
		}
	}
	g := groups([]Column{{Metric: "NLL", Source: printed}, {Metric: "NLL", Source: here}, {Metric: "ECE"}})
	if len(g) != 2 || len(g[0].Columns) != 2 || g[1].Metric != "ECE" {
		t.Errorf("groups %+v", g)
	}
	if got := result.Slug("Mnist quick: A & B–ä 7"); got != "mnist-quick-a-b-7" {
		t.Errorf("slug %q", got)
	}
}
