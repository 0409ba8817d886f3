package data

import (
	"fmt"
	"strings"
	"testing"
)

// listed is a row with lists: plain repeated values, and lists as most writers call their levels.
type listed struct {
	Y     float64   `parquet:"y"`
	Words []int64   `parquet:"words,list"`
	Other []float32 `parquet:"other"`
}

// TestParquetLists: lists of one length are columns, in any order and in part; lists of other lengths are one clear error.
func TestParquetLists(t *testing.T) {
	var rows []listed
	for i := range 8 { // several row groups
		rows = append(rows, listed{float64(i), []int64{int64(i), 7, int64(-i)}, []float32{float32(i) / 2}})
	}
	s, err := openSection("f.parquet", parquetOf(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := fmt.Sprint(s.Columns); got != "[y words.0 words.1 words.2 other.0]" {
		t.Fatalf("columns %s", got)
	}
	s.Use([]int{3, 0, 1, 4}, nil)
	table, err := s.All(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if got, want := fmt.Sprint(table.Values.Float64s()[4*i:4*i+4]), fmt.Sprint([]float64{float64(-i), float64(i), float64(i), float64(i) / 2}); got != want {
			t.Errorf("row %d is %s, want %s", i, got, want)
		}
	}
	for _, wrong := range []struct {
		words []int64
		at    int
		want  string
	}{
		{[]int64{1, 2}, 1, `f.parquet: row 1 (counting from 0), column "words": expected a list of 3 elements, as in the first row, found 2: pad lists to one length`},
		{[]int64{1, 2}, 7, "row 7 (counting from 0)"}, {nil, 3, "row 3 (counting from 0)"}, {nil, 3, "found none"},
		{[]int64{1, 2, 3, 4}, 0, "expected a list of 4"}, {[]int64{1, 2, 3, 4}, 1, "found more than 3"}, {[]int64{1, 2, 3, 4}, 7, "found more than 3"},
	} {
		bad := append([]listed{}, rows...)
		bad[wrong.at].Words = wrong.words
		s, err := openSection("f.parquet", parquetOf(t, bad))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.All(0); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("words %v in row %d: error %v, want %q", wrong.words, wrong.at, err, wrong.want)
		}
		s.Close()
	}
}

// TestParquetListsAlone: a file whose first list is empty, or whose lists are not used, is read as before.
func TestParquetListsAlone(t *testing.T) {
	s, err := openSection("f.parquet", parquetOf(t, []listed{{Y: 1}, {Y: 2, Words: []int64{3}, Other: []float32{1, 2}}}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Use([]int{0}, nil)
	if table, err := s.All(0); err != nil || fmt.Sprint(table.Values.Float64s()) != "[1 2]" {
		t.Errorf("table %v, error %v", table, err)
	}
}
