package data

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// ragged is a row with lists of different lengths: lists as most writers call their levels, which may be missing and have
// missing elements, plain repeated values, and a mask that the program is to fill.
type ragged struct {
	Y     float64    `parquet:"y"`
	Words []*int64   `parquet:"words,list,optional"`
	Mask  []int64    `parquet:"mask,list"`
	Other []float32  `parquet:"other"`
	Deep  [][]string `parquet:"deep,list"`
}

// openRagged opens a file of rows.
func openRagged(t *testing.T, rows []ragged, paddings ...Padding) *Stream {
	t.Helper()
	s, err := openSection("f.parquet", parquetOf(t, rows), paddings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// raggedRows returns rows of 0 to 4 words, of which the first is a missing list and the second an empty one.
func raggedRows() (rows []ragged) {
	for i := range 11 { // several row groups
		r := ragged{Y: float64(i), Other: []float32{float32(i), 2}[:1+i%2], Mask: []int64{7}}
		if i > 0 {
			r.Words = []*int64{}
		}
		for k := range i / 2 % 5 {
			v := int64(10*i + k)
			r.Words = append(r.Words, &v)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestPaddings: lists of different lengths are padded at the end, over row groups and batches, and their masks and lengths
// are filled in, in any order and in part, in place of a column of the name.
func TestPaddings(t *testing.T) {
	rows := raggedRows()
	s := openRagged(t, rows, Padding{Column: "words", Length: 4, Value: -1, Mask: "mask", Count: "n"}, Padding{Column: "other", Length: 2})
	want := "[y words.0 words.1 words.2 words.3 mask.0 mask.1 mask.2 mask.3 n other.0 other.1 deep.list.element.list.element]"
	if got := fmt.Sprint(s.Columns); got != want {
		t.Fatalf("columns %s, want %s", got, want)
	}
	s.Use([]int{11, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, nil)
	at := 0
	for _, n := range []int{2, 5, 100} {
		table, err := s.Next(n)
		if err != nil {
			t.Fatal(err)
		}
		for row := range slices.Chunk(table.Values.Float64s(), 11) {
			r := rows[at]
			want := []float64{0, float64(len(r.Words)), 0, 0, 0, 0, -1, -1, -1, -1, r.Y}
			if len(r.Other) > 1 {
				want[0] = 2
			}
			for k, v := range r.Words {
				want[5-k], want[9-k] = 1, float64(*v)
			}
			if !slices.Equal(row, want) {
				t.Errorf("row %d is %v, want %v", at, row, want)
			}
			at++
		}
	}
	if at != len(rows) {
		t.Errorf("%d rows, want %d", at, len(rows))
	}
}

// TestPaddingsOfAll: a padding without a column is that of all lists, and its sets remember it. A missing element is no end
// of the list.
func TestPaddingsOfAll(t *testing.T) {
	rows := raggedRows()
	rows[7].Words[1] = nil
	s := openRagged(t, rows, Padding{Length: 3})
	if got := fmt.Sprint(s.Columns[:10]); got != "[y words.0 words.1 words.2 mask.0 mask.1 mask.2 other.0 other.1 other.2]" {
		t.Fatalf("columns %s", got)
	}
	s.Use([]int{2, 3, 0}, nil)
	table, err := s.Next(8)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Values.Float64s()[21:]; !math.IsNaN(got[0]) || !slices.Equal(got[1:], []float64{72, 7}) {
		t.Errorf("a row with a missing element is %v", got)
	}
}

// TestPaddingsTooLong: a list that is longer than the padded ones is one clear error, wherever it stands.
func TestPaddingsTooLong(t *testing.T) {
	for _, at := range []int{0, 2, 10} {
		rows, v := raggedRows(), int64(1)
		rows[at].Words = []*int64{&v, &v, nil, &v, &v, &v}
		s := openRagged(t, rows, Padding{Column: "words", Length: 4})
		s.Use([]int{1}, nil)
		want := fmt.Sprintf(`f.parquet: row %d (counting from 0), column "words": expected a list of at most 4 elements, found 6`, at)
		if _, err := s.All(0); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestCheckPaddings: impossible paddings are refused before a file is read.
func TestCheckPaddings(t *testing.T) {
	content := parquetOf(t, raggedRows())
	for _, wrong := range []struct {
		all  []Padding
		want string
	}{
		{[]Padding{{Column: "a"}}, `lists of "a" padded to 0 elements`},
		{[]Padding{{Column: "a", Length: mostElements + 1}}, "expected 1 to"},
		{[]Padding{{Column: "a", Length: 2, Value: math.NaN()}}, "padded with NaN"},
		{[]Padding{{Length: 2, Mask: "m"}}, "expected the name of a column"},
		{[]Padding{{Length: 2}, {Column: "a", Length: 2}}, "expected the name of a column"},
		{[]Padding{{Column: "a", Length: 2, Mask: "m"}, {Column: "b", Length: 2, Count: "m"}}, `two paddings with the column "m"`},
		{[]Padding{{Column: "a", Length: 2, Mask: "a"}}, `two paddings with the column "a"`},
	} {
		if _, err := openSection("f.parquet", content, wrong.all...); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("paddings %v: error %v, want %q", wrong.all, err, wrong.want)
		}
	}
}
