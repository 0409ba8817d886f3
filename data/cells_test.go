package data

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTableOf: cells in memory make the same table as a file of text.
func TestTableOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("city,age,born\nBonn, 1.5,2001-02-03\n,NA,\n007, -2e3 ,4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want, err := ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := TableOf("cells", []Cells{
		{Name: "city", Texts: []string{"Bonn", "", " 007"}}, {Name: "age", Texts: []string{"1.5 ", "NA", "-2e3"}}, {Name: "born", Texts: []string{"2001-02-03", "", "4"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for j := range want.Columns {
		if w, g := want.Texts(j), got.Texts(j); !slices.Equal(w, g) || !slices.Equal(want.Words[j].Codes, got.Words[j].Codes) {
			t.Errorf("column %d is %q, codes %v, expected %q", j, g, got.Words[j].Codes, w)
		}
	}
	for i, v := range want.Values.Float64s() {
		if g := got.Values.Float64s()[i]; g != v && (g == g || v == v) {
			t.Errorf("number %d is %g, expected %g", i, g, v)
		}
	}
	numbers, err := TableOf("cells", []Cells{{Name: "a", Numbers: []float64{1, 2}}})
	if err != nil || numbers.Words != nil || !reflect.DeepEqual(numbers.Values.Float64s(), []float64{1, 2}) {
		t.Errorf("table %+v, error %v", numbers, err)
	}
	for want, columns := range map[string][]Cells{
		`cells: column "b" has 1 rows, expected 2 as column "a"`:    {{Name: "a", Numbers: []float64{1, 2}}, {Name: "b", Texts: []string{""}}},
		`two columns are called "a"`:                                {{Name: "a", Numbers: []float64{1}}, {Name: "a", Numbers: []float64{1}}},
		`cells: row 1 (counting from 0), column "a": expected a fi`: {{Name: "a", Numbers: []float64{1, math.Inf(1)}}},
	} {
		table, err := TableOf("cells", columns)
		if err == nil {
			_, err = table.Numbers([]int{0})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}

// A number where the encoding expects a date is found by its row.
func TestNumberForDate(t *testing.T) {
	e := &Encoding{Missing: MissingMedian, Columns: []ColumnCode{{Name: "born", Kind: Date, Layout: "2006-1-2"}}}
	table, err := TableOf("cells", []Cells{{Name: "born", Texts: []string{"2001-02-03", "4"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(table, []int{0}, nil); err == nil || !strings.Contains(err.Error(), `cells: row 1 (counting from 0), column "born": expected a date`) {
		t.Errorf("error %v", err)
	}
}
