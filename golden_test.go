package valla

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
)

// rows reads a CSV file of numbers with a header.
func rows(t *testing.T, path string) [][]float64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]float64
	for _, line := range lines[1:] {
		var row []float64
		for _, cell := range line {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		out = append(out, row)
	}
	return out
}

// shown returns the columns that the program prints for the rows of a table.
func shown(t *testing.T, m *Model, table *data.Table) [][]float64 {
	t.Helper()
	in, err := m.Set(table, false)
	if err != nil {
		t.Fatal(err)
	}
	p := predict(t, m, in.X)
	var out [][]float64
	if p.Classes != nil {
		for i, best := range p.Best() {
			out = append(out, append([]float64{p.Classes[best]}, p.Probs[3*i:3*i+3]...))
		}
		return out
	}
	lower, upper, err := p.Interval(0.95)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Mean {
		out = append(out, []float64{p.Mean[i], p.Std()[i], lower[i], upper[i]})
	}
	return out
}

// predictsTheSame compares what a model predicts for a table with the file path.csv, which the
// program wrote that wrote the model.
func predictsTheSame(t *testing.T, m *Model, path, name string, tol float64) (*data.Table, [][]float64) {
	t.Helper()
	table, err := data.ReadTable(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	got, want := shown(t, m, table), rows(t, path+".csv")
	if len(want) < 5 || len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", path, len(got), len(want))
	}
	for i := range want {
		for j, v := range want[i] {
			near(t, path, got[i][j], v, tol)
		}
	}
	return table, got
}

// TestGoldenFiles: files of format 2 stay readable, with their history, and predict what they predicted
// when they were written. On the machine that wrote them the predictions are equal; other processors
// round otherwise.
func TestGoldenFiles(t *testing.T) {
	for _, c := range []struct {
		name, table, label, form string
		dtype                    tensor.Dtype
		events                   int
		tol                      float64
	}{
		{"format2_reg_float64_valla.valla", "regression.csv", "VaLLA 4", "3-6-1 tanh", tensor.Float64, 2, 1e-9},
		{"format2_cls_float32_kfac.valla", "classes.csv", "LLA KFAC, conformal", "3-6-3 tanh", tensor.Float32, 3, 1e-5},
		{"format2_cls_float32_lla_diag.valla", "classes.csv", "LLA last-layer Diag", "3-50-50-3 tanh", tensor.Float32, 0, 1e-5},
		{"format2_reg_float32_map.valla", "regression.csv", "MAP", "3-50-50-1 tanh", tensor.Float32, 0, 1e-5},
	} {
		path := filepath.Join("testdata", c.name)
		m := loaded(t, path)
		if m.String() != c.label || m.Form.String() != c.form || m.Dtype() != c.dtype || len(m.History) != c.events {
			t.Errorf("%s: %v of %v in %v with history %v", path, m, m.Form, m.Dtype(), m.History)
		}
		if c.events > 0 && m.History[1].Verdict == nil {
			t.Errorf("%s: a fit without a verdict", path)
		}
		table, got := predictsTheSame(t, m, path, c.table, c.tol)
		again := shown(t, loaded(t, written(t, m)), table)
		for i := range got {
			for j, v := range got[i] {
				near(t, path+" written again", again[i][j], v, 0)
			}
		}
	}
}

// TestOtherFormats: a file of another format is refused in one line, which names both formats.
func TestOtherFormats(t *testing.T) {
	whole := read(t, filepath.Join("testdata", "format2_reg_float64_valla.valla"))
	for _, format := range []string{"valla model 1", "valla model 3", ""} {
		path := filepath.Join(t.TempDir(), "m.valla")
		edit := replace(`"format": "valla model 2"`, `"format": "`+format+`"`)
		if err := os.WriteFile(path, pack(t, edit(unpack(t, whole))), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		oneLine(t, err, path, `format "`+format+`", expected "valla model 2"`)
	}
}
