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

// legacyFiles are files that the program wrote before any network could be in one: the
// first rows of what it predicted from legacy_reg.csv and legacy_cls.csv are in NAME.csv.
var legacyFiles = []string{"legacy_reg_float64_valla.valla", "legacy_cls_float32_lla_diag.valla", "legacy_reg_float32_map.valla"}

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
	x, err := m.Columns(table)
	if err != nil {
		t.Fatal(err)
	}
	p := predict(t, m, x)
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

// Old files predict what the program predicted that wrote them. On the machine that wrote
// them the numbers are equal; other processors round otherwise.
func TestLegacyFiles(t *testing.T) {
	for i, c := range []struct {
		table, label, form string
		dtype              tensor.Dtype
		tol                float64
	}{
		{"legacy_reg.csv", "VaLLA 20", "3-50-50-1 tanh", tensor.Float64, 1e-9},
		{"legacy_cls.csv", "LLA last-layer Diag", "3-50-50-3 tanh", tensor.Float32, 1e-5},
		{"legacy_reg.csv", "MAP", "3-50-50-1 tanh", tensor.Float32, 1e-5},
	} {
		path := filepath.Join("testdata", legacyFiles[i])
		m := loaded(t, path)
		if m.String() != c.label || m.Form.String() != c.form || m.Dtype() != c.dtype || len(m.History) != 0 {
			t.Errorf("%s: %v of %v in %v, history %v", path, m, m.Form, m.Dtype(), m.History)
		}
		table, got := predictsTheSame(t, m, path, c.table, c.tol)
		// Written again it is a file of the new format with the same predictions.
		again := shown(t, loaded(t, written(t, m)), table)
		for i := range got {
			for j, v := range got[i] {
				near(t, path+" written again", again[i][j], v, 0)
			}
		}
	}
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

// Files of the format of today stay readable, with their history, and predict the same.
func TestFormat2Files(t *testing.T) {
	for _, c := range []struct {
		name, table, label string
		tol                float64
	}{
		{"format2_reg_float64_valla.valla", "legacy_reg.csv", "VaLLA 4", 1e-9},
		{"format2_cls_float32_kfac.valla", "legacy_cls.csv", "LLA KFAC, conformal", 1e-5},
	} {
		path := filepath.Join("testdata", c.name)
		m := loaded(t, path)
		if m.String() != c.label || len(m.History) < 2 || m.History[1].Verdict == nil {
			t.Errorf("%s: %v with history %v", path, m, m.History)
		}
		predictsTheSame(t, m, path, c.table, c.tol)
	}
}

func TestLegacyErrors(t *testing.T) {
	whole := read(t, filepath.Join("testdata", legacyFiles[0]))
	classes := read(t, filepath.Join("testdata", legacyFiles[1]))
	for _, c := range []struct {
		file []byte
		edit func([]member) []member
		want string
	}{
		{whole, replace(`"kind": "regression"`, `"kind": "clustering"`), `kind "clustering"`},
		{whole, replace(`"kind": "regression"`, `"kind": "classification"`), `kind "classification" with 0 classes`},
		{whole, replace(`"inputs": {`, `"classes": [1, 2], "inputs": {`), `kind "regression" with 2 classes`},
		{whole, replace(`"targets": {`, `"targets": null, "training": {`), "scaling of the targets"},
		{whole, replace(`"kind"`, `"colour": 1, "kind"`), `unknown field "colour"`},
		{whole, replace(`"inducing": 20`, `"inducing": 21`), "posterior/valla.z.npy"},
		{whole, replace("tanh", "step"), `unknown activation "step"`},
		{whole, replace(`"method": "valla"`, `"method": "lla"`), "unknown field"},
		{whole, func(l []member) []member { return l[:len(l)-1] }, "missing"},
		{classes, replace(`"method": "lla"`, `"method": "valla"`), "unknown field"},
		{classes, replace(`"kind": "classification"`, `"kind": "regression"`), `kind "regression" with 3 classes`},
	} {
		path := filepath.Join(t.TempDir(), "m.valla")
		if err := os.WriteFile(path, pack(t, c.edit(unpack(t, c.file))), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		oneLine(t, err, path, "damaged", c.want)
	}
}
