package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/npy"
)

var expectError = fixture.OneLineFrom

// put writes content to a file of that name in a fresh folder.
func put(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func array(shape []int, backing any) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
}

func putNPY(t *testing.T, d *tensor.Dense) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := npy.Write(path, d); err != nil {
		t.Fatal(err)
	}
	return path
}

// putNPZ writes arrays called by the words of names.
func putNPZ(t *testing.T, names string, arrays ...*tensor.Dense) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.npz")
	if err := npy.WriteArchive(path, strings.Fields(names), arrays); err != nil {
		t.Fatal(err)
	}
	return path
}

// expectTable fails unless got holds these columns and values.
func expectTable(t *testing.T, got *Table, err error, columns string, values ...float64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(columns)
	shape := tensor.Shape{len(values) / len(names), len(names)}
	if !slices.Equal(got.Columns, names) || !got.Values.Shape().Eq(shape) || !slices.Equal(got.Values.Float64s(), values) {
		t.Errorf("columns %q of shape %v: %v\nwant %q of shape %v: %v", got.Columns, got.Values.Shape(), got.Values.Data(), names, shape, values)
	}
}

func TestReadTableCSV(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		columns string
		values  []float64
	}{
		"header":     {"a,b\n1,2\n3,4\n", "a b", []float64{1, 2, 3, 4}},
		"no header":  {"1,2\n3,4", "x0 x1", []float64{1, 2, 3, 4}},
		"spaces":     {" a, b \n 1 ,\t2\n", "a b", []float64{1, 2}},
		"CRLF":       {"a,b\r\n1,2\r\n", "a b", []float64{1, 2}},
		"mark":       {"\ufeffa,b\n1,2\n", "a b", []float64{1, 2}},
		"mark only":  {"\ufeff1,2\n", "x0 x1", []float64{1, 2}},
		"quoted":     {"\"a\",\"b\"\n\"1\",\"2e-3\"\n", "a b", []float64{1, 0.002}},
		"one column": {"y\n-1\n", "y", []float64{-1}},
		"mixed row":  {"a,1\n3,4\n", "a 1", []float64{3, 4}},
		"blank line": {"a,b\n\n1,2\n\n", "a b", []float64{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadTable(put(t, "d.csv", c.content))
			expectTable(t, got, err, c.columns, c.values...)
			got, err = ReadTable(put(t, "d.CSV.gz", string(fixture.Gzip(t, []byte(c.content)))))
			expectTable(t, got, err, c.columns, c.values...)
		})
	}
}

func TestReadTableCSVErrors(t *testing.T) {
	for name, c := range map[string]struct{ content, place, say string }{
		"word":        {"a,b\n1,2\n3,abc\n", ":3: ", `column "b": expected a number, found "abc"`},
		"empty cell":  {"a,b\n1,\n", ":2: ", `column "b": expected a number, found ""`},
		"NaN":         {"a,b\nNaN,1\n", ":2: ", `column "a": expected a finite number, found "NaN"`},
		"Inf":         {"1,2\n3,-Inf\n", ":2: ", `found "-Inf"`},
		"overflow":    {"1,2\n3,1e999\n", ":2: ", `expected a finite number, found "1e999"`},
		"underscore":  {"a,b\n1_000,2\n", ":2: ", `expected a number, found "1_000"`},
		"hexadecimal": {"a,b\n1,0x1p4\n", ":2: ", `column "b": expected a number, found "0x1p4"`},
		"long cell":   {"a,b\n1," + strings.Repeat("z", 1000) + "\n", ":2: ", `found "` + strings.Repeat("z", 40) + `"...`},
		"short row":   {"a,b\n1,2\n3\n", ":3: ", "expected 2 cells, found 1"},
		"long row":    {"1,2\n3,4,5\n", ":2: ", "expected 2 cells, found 3"},
		"blank lines": {"a,b\n\n\n1,x\n", ":4: ", `found "x"`},
		"quote":       {"a,b\n\"1,2\n", ":2: ", "quote"},
		"twice":       {"a,b,a\n1,2,3\n", ": ", `two columns are called "a"`},
		"empty":       {"", ": ", "an empty file"},
		"header only": {"a,b\n", ": ", "no rows"},
		"blank":       {"\n\n", ": ", "no rows"},
		"UTF-16":      {"\xff\xfea\x00,\x00b\x00\n\x00", ": ", "expected text in UTF-8, found UTF-16"},
		"Latin-1":     {"a,b\n1,2\nK\xf6ln,3\n", ":3: ", `expected text in UTF-8, found "K\xf6ln"`},
		"Latin name":  {"a,gr\xf6sse\n1,2\n", ": ", `expected text in UTF-8, found "gr\xf6sse"`},
		"Parquet":     {"PAR1 or so", ": ", "found a Parquet file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := put(t, "d.csv", c.content)
			table, err := ReadTable(path)
			if err == nil {
				_, err = table.Set()
			}
			expectError(t, err, path+c.place, c.say)
		})
	}
}

// A first row that may be names or data is not guessed.
func TestHeader(t *testing.T) {
	for text, want := range map[string]string{ // the columns; "" for an error
		"a,b\n1,2\n":               "a b",
		"a,1\n3,4\n":               "a 1",
		"1,2\n3,4\n":               "x0 x1",
		"3,1,2\n3,4,5\n":           "x0 x1 x2",
		",0,1,2\n0,4,5,6\n":        "Unnamed:_0 0 1 2",
		"a,,c\n1,2,3\n":            "a Unnamed:_1 c",
		"p,q\nr,s\n":               "p q",
		"0,1,2\n3,4,5\n":           "",
		"2019,2020,2021\n3,4,5\n":  "",
		"1,,3\n4,5,6\n":            "",
		"1,nan\n3,4\n":             "",
		"5.1,setosa\n4.9,setosa\n": "",
		"M,0.3,1.2\nF,?,-0.9\n":    "",
		"M,?,1.2\nF,0.1,-0.9\n":    "",
		"5.1,setosa\n4.9,\n":       "",
		"a,1,2\nb,c,NA\n":          "a 1 2",
		"RI,Na,Mg\n1.5,13.6,4.4\n": "RI Na Mg",
	} {
		path := put(t, "d.csv", text)
		s, err := TableReader{}.Open(path)
		if want == "" {
			expectError(t, err, path+":1: ", "say header yes or header no")
		} else if err != nil || strings.ReplaceAll(strings.Join(s.Columns, "|"), " ", "_") != strings.ReplaceAll(want, " ", "|") {
			t.Errorf("%q: columns %v, error %v, want %s", text, s, err, want)
		}
		for header, first := range map[string]bool{"yes": false, "no": true} {
			s, err := TableReader{Header: header}.Open(path)
			if err != nil || (s.Columns[0] == "x0") != first {
				t.Errorf("%q, header %s: %v, error %v", text, header, s, err)
			}
		}
	}
	path := put(t, "d.csv", "2019,2020,2021\n3,4,5\n")
	known, err := TableReader{Names: []string{"2020", "2019"}}.Read(path)
	expectTable(t, known, err, "2019 2020 2021", 3, 4, 5)
	before, err := TableReader{Names: []string{"x0", "x1"}}.Read(path)
	expectTable(t, before, err, "x0 x1 x2", 2019, 2020, 2021, 3, 4, 5)
	_, err = TableReader{Header: "maybe"}.Read(path)
	expectError(t, err, path, `header "maybe", expected auto, yes or no`)
}

// The content tells the separator of the cells and the packing of the file.
func TestForms(t *testing.T) {
	plain := "a,b\n1.5,2\n3,-4e1\n"
	for name, content := range map[string]string{
		"d.csv":     plain,
		"semi.csv":  strings.ReplaceAll(plain, ",", ";"),
		"tab.tsv":   strings.ReplaceAll(plain, ",", "\t"),
		"bar.txt":   strings.ReplaceAll(plain, ",", "|"),
		"mark.csv":  "\ufeff\"a\",\"b\"\r\n\"1.5\",2\r\n3,\" -4e1 \"\r\n",
		"d.csv.gz":  string(fixture.Gzip(t, []byte(plain))),
		"d.tsv.zst": string(zstandard(t, strings.ReplaceAll(plain, ",", "\t"))),
		"x.parquet": string(parquetOf(t, []struct{ A, B float64 }{{1.5, 2}, {3, -40}})),
	} {
		got, err := ReadTable(put(t, name, content))
		if name == "x.parquet" && err == nil {
			got.Columns = []string{"a", "b"}
		}
		expectTable(t, got, err, "a b", 1.5, 2, 3, -40)
	}
	german, err := ReadTable(put(t, "d.csv", "a;b\n1,5;2,5\n3,5;4,5\n"))
	if err != nil || len(german.Columns) != 2 || german.Words[1].List[0].Text != "2,5" {
		t.Errorf("semicolons and decimal commas: %+v, error %v", german, err)
	}
	quoted, err := ReadTable(put(t, "d.csv", "a,b\n\"x;y;\nz\",2\n\"p;q\",4\n"))
	if err != nil || quoted.N() != 2 || quoted.Words[0].List[0] != (Word{Text: "x;y;\nz", At: 2}) || quoted.Words[0].List[1].At != 4 {
		t.Errorf("separators between quotes: %+v, error %v", quoted, err)
	}
}

// Rows come in batches, and only of the columns that are used.
func TestStream(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,free,b\n")
	for i := range 10 {
		fmt.Fprintf(&text, "%d,word %d,%s\n", i, i, []string{"", "x", "7"}[i%3])
	}
	type row struct {
		A    int64   `parquet:"a"`
		Free string  `parquet:"free"`
		B    *string `parquet:"b,optional"`
	}
	var rows []row
	for i := range 10 {
		rows = append(rows, row{int64(i), "word", []*string{nil, new("x"), new("7")}[i%3]})
	}
	for _, path := range []string{put(t, "d.csv", text.String()), put(t, "d.parquet", string(parquetOf(t, rows)))} {
		s, err := TableReader{}.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s.Use([]int{2, 0}, []int{2})
		var a []float64
		var words []string
		for {
			b, err := s.Next(4)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || b.N() > 4 || !slices.Equal(b.Columns, []string{"b", "a"}) {
				t.Fatalf("%s: batch %+v, error %v", path, b, err)
			}
			for i := range b.N() {
				a = append(a, b.Values.Float64s()[2*i+1])
				words = append(words, b.Words[0].List[b.Words[0].Codes[i]-1].Text)
			}
		}
		s.Close()
		if fmt.Sprint(a) != "[0 1 2 3 4 5 6 7 8 9]" || fmt.Sprintf("%q", words) != `["" "x" "7" "" "x" "7" "" "x" "7" ""]` {
			t.Errorf("%s: %v, %q", path, a, words)
		}
		if s, err = (TableReader{}).Open(path); err != nil {
			t.Fatal(err)
		}
		_, err = s.All(10)
		expectError(t, err, path+": ", "take a part of the rows, or drop columns")
		s.Close()
	}
}

// Whole numbers that float64 does not hold are said once for a column.
func TestRounded(t *testing.T) {
	table, err := ReadTable(put(t, "d.csv", "id,b\n9007199254740992,1\n9007199254740993,2\n9007199254740995,2\n"))
	if err != nil || len(table.Notes) != 1 || !strings.Contains(table.Notes[0], `d.csv:3: column "id": 9007199254740993 is beyond 2⁵³`) {
		t.Errorf("table %+v, error %v", table, err)
	}
	table, err = ReadTable(put(t, "d.parquet", string(parquetOf(t, []struct{ A int64 }{{1}, {9007199254740993}}))))
	if err != nil || len(table.Notes) != 1 || !strings.Contains(table.Notes[0], "row 1 (counting from 0)") {
		t.Errorf("table %+v, error %v", table, err)
	}
	table, err = ReadTable(put(t, "d.csv", "id,b\n18446744073709551615,1\n18446744073709551614,2\n"))
	if err != nil || len(table.Notes) != 1 || !strings.Contains(table.Notes[0], "18446744073709551615 is beyond 2⁵³") {
		t.Errorf("notes %q, error %v", table.Notes, err)
	}
	table, err = ReadTable(put(t, "d.csv", "id,b\n"+strings.Repeat("123456789", 5)+",1\n"))
	if err != nil || len(table.Notes) != 1 {
		t.Errorf("notes %q of 45 digits, error %v", table.Notes, err)
	}
	table, err = ReadTable(put(t, "d.csv", "id,b\n18446744073709551616,1\n9223372036854775808,2\n"))
	if err != nil || len(table.Notes) != 0 {
		t.Errorf("notes %q of powers of two, error %v", table.Notes, err)
	}
}

func TestReadTableGzipErrors(t *testing.T) {
	path := put(t, "d.csv.gz", "a,b\n1,2\n3,4\n") // the content tells the packing
	got, err := ReadTable(path)
	expectTable(t, got, err, "a b", 1, 2, 3, 4)
	whole := string(fixture.Gzip(t, []byte(strings.Repeat("1,2\n", 100))))
	path = put(t, "d.csv.gz", whole[:len(whole)-6])
	_, err = ReadTable(path)
	expectError(t, err, path+": ", "unexpected EOF")
}

func TestReadTableArrays(t *testing.T) {
	got, err := ReadTable(putNPY(t, array([]int{3}, []float32{1, 2.5, 3})))
	expectTable(t, got, err, "x0", 1, 2.5, 3)
	got, err = ReadTable(putNPY(t, array([]int{2, 2}, []int64{1, 2, 3, 4})))
	expectTable(t, got, err, "x0 x1", 1, 2, 3, 4)

	x, y := array([]int{2, 2}, []uint8{1, 2, 3, 4}), array([]int{2, 1}, []int32{-5, -6})
	flat := array([]int{2}, []int8{-5, -6})
	for _, target := range []*tensor.Dense{y, flat} {
		got, err = ReadTable(putNPZ(t, "y X other", target, x, flat))
		expectTable(t, got, err, "x0 x1 y", 1, 2, -5, 3, 4, -6)
	}
	got, err = ReadTable(putNPZ(t, "X", flat))
	expectTable(t, got, err, "x0", -5, -6)
	got, err = TableReader{X: "in", Y: "out"}.Read(putNPZ(t, "in out X", x, y, y))
	expectTable(t, got, err, "x0 x1 out", 1, 2, -5, 3, 4, -6)
	got, err = ReadTable(putNPZ(t, "X y", flat, x))
	expectTable(t, got, err, "x0 y0 y1", -5, 1, 2, -6, 3, 4)
}

// TestReadTableImages: inputs of more axes than two keep their shape and type.
func TestReadTableImages(t *testing.T) {
	x, y := array([]int{2, 1, 2, 2}, []uint8{1, 2, 3, 4, 5, 6, 7, 8}), array([]int{2}, []int64{3, 0})
	table, err := ReadTable(putNPZ(t, "X y", x, y))
	expectTable(t, table, err, "y", 3, 0)
	set, err := table.Set()
	if err != nil {
		t.Fatal(err)
	}
	some := set.Rows([]int{1})
	if set.Features != nil || !slices.Equal(set.Targets, []string{"y"}) || !slices.Equal(some.X.Uint8s(), []uint8{5, 6, 7, 8}) || some.Y.Float64s()[0] != 0 {
		t.Errorf("set %+v, its second example %v", set, some.X)
	}
	alone, err := ReadTable(putNPZ(t, "X", x))
	if err != nil || alone.X == nil || alone.Values != nil {
		t.Errorf("images without labels: %+v, error %v", alone, err)
	}
	_, err = alone.Set()
	expectError(t, err, alone.Path+": ", "no targets beside X")
}

func TestReadTableArrayErrors(t *testing.T) {
	x, y := array([]int{2, 2}, []float64{1, 2, 3, 4}), array([]int{2, 1}, []float64{5, 6})
	deep := array([]int{1, 2, 2}, []float64{1, 2, 3, 4})
	bad := array([]int{2, 2}, []float64{1, 2, math.NaN(), 4})
	for name, c := range map[string]struct {
		path   string
		reader TableReader
		say    string
	}{
		"dims":      {putNPY(t, deep), TableReader{}, "expected an array of shape [N] or [N,K], found (1, 2, 2)"},
		"scalar":    {putNPY(t, tensor.New(tensor.FromScalar(1.0))), TableReader{}, "expected an array of shape [N]"},
		"NaN":       {putNPY(t, bad), TableReader{}, `row 1 (counting from 0), column "x0": expected a finite number, found NaN`},
		"no X":      {putNPZ(t, "a b", x, y), TableReader{}, `no array "X"; it has "a", "b"`},
		"no y":      {putNPZ(t, "X b", x, y), TableReader{Y: "y"}, `no array "y"; it has "X", "b"`},
		"y rows":    {putNPZ(t, "X y", y, array([]int{3}, []float64{1, 2, 3})), TableReader{}, `array "y": expected shape [2] or [2,T]`},
		"X scalar":  {putNPZ(t, "X", tensor.New(tensor.FromScalar(1.0))), TableReader{}, "expected an array of shape [N]"},
		"images, y": {putNPZ(t, "X y", deep, y), TableReader{}, `array "y": expected shape [1] or [1,T]`},
		"y dims":    {putNPZ(t, "X y", x, deep), TableReader{}, "found (1, 2, 2)"},
		"y is Inf":  {putNPZ(t, "X y", x, array([]int{2}, []float64{1, math.Inf(1)})), TableReader{}, `row 1 (counting from 0), column "y"`},
		"y as x0":   {putNPZ(t, "X x0", x, y), TableReader{Y: "x0"}, `two columns are called "x0"`},
		"no npy":    {put(t, "a.npy", "hello world"), TableReader{}, "magic"},
		"no zip":    {put(t, "a.npz", "hello"), TableReader{}, "zip"},
		"extension": {put(t, "a.xlsx", "hello"), TableReader{}, "expected a file called .csv, .tsv, .txt (also .gz, .zst, .bz2), .parquet, .npy or .npz"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.reader.Read(c.path)
			expectError(t, err, c.path+": ", c.say)
		})
	}
}

func TestReadTableMissing(t *testing.T) {
	for _, name := range []string{"a.csv", "a.csv.gz", "a.npy", "a.npz"} {
		if _, err := ReadTable(filepath.Join(t.TempDir(), name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v, want %v", name, err, fs.ErrNotExist)
		}
	}
}

func TestTableSet(t *testing.T) {
	table, err := ReadTable(put(t, "d.csv", "a,b,c\n1,2,3\n4,5,6\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target, features, name string
		x, y                   []float64
	}{
		{"", "a b", "c", []float64{1, 2, 4, 5}, []float64{3, 6}},
		{"b", "a c", "b", []float64{1, 3, 4, 6}, []float64{2, 5}},
		{"a", "b c", "a", []float64{2, 3, 5, 6}, []float64{1, 4}},
		{"c a", "b", "c a", []float64{2, 5}, []float64{3, 1, 6, 4}},
	} {
		s, err := table.Set(strings.Fields(c.target)...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Features, strings.Fields(c.features)) || strings.Join(s.Targets, " ") != c.name || s.N() != 2 {
			t.Errorf("target %q: features %q, target %q, %d rows", c.target, s.Features, s.Targets, s.N())
		}
		if !s.X.Shape().Eq(tensor.Shape{2, len(c.x) / 2}) || !slices.Equal(s.X.Float64s(), c.x) {
			t.Errorf("target %q: X %v, want %v", c.target, s.X.Data(), c.x)
		}
		if !s.Y.Shape().Eq(tensor.Shape{2, len(c.y) / 2}) || !slices.Equal(s.Y.Float64s(), c.y) {
			t.Errorf("target %q: Y %v, want %v", c.target, s.Y.Data(), c.y)
		}
	}
	if !slices.Equal(table.Columns, []string{"a", "b", "c"}) {
		t.Errorf("making sets changed the table's columns to %q", table.Columns)
	}
	_, err = table.Set("d")
	expectError(t, err, table.Path+": ", `no column "d"; it has "a", "b", "c"`)
	single, err := ReadTable(put(t, "d.csv", "a\n1\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = single.Set()
	expectError(t, err, single.Path+": ", "at least one feature")
}

func FuzzDecodeCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "1,2\n3\n", "\"a\nb\",c\n1,2", "\ufeff1", "", "\n\n", "nan,1e999", "a,a\n1,1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		table, err := decodeText(in)
		if err != nil {
			if table != nil || !strings.HasPrefix(err.Error(), "f.csv:") {
				t.Fatalf("got %v, %v", table, err)
			}
			return
		}
		n, k := table.Values.Shape()[0], table.Values.Shape()[1]
		if n == 0 || n != table.N() || k != len(table.Columns) || n*k != len(table.Values.Float64s()) {
			t.Fatalf("%d columns %q, values of shape %v", len(table.Columns), table.Columns, table.Values.Shape())
		}
		for i, v := range table.Values.Float64s() {
			w := table.wordsOf(i % k)
			if word := w != nil && w.Codes[i/k] > 0; kernel.Finite(v) == word || word && int(w.Codes[i/k]) > len(w.List) {
				t.Fatalf("row %d, column %d: %g, words %+v", i/k, i%k, v, w)
			}
		}
	})
}

// A reader with a format reads a file of any name, and timestamps become text or microseconds.
func TestFormat(t *testing.T) {
	type row struct {
		At time.Time `parquet:"at,timestamp(millisecond)"`
		Y  float64   `parquet:"y"`
	}
	at := time.Date(2023, 1, 2, 3, 4, 5, 6e6, time.UTC)
	text := put(t, "a.part", "y\n1\n2\n")
	columns := put(t, "b.part", string(parquetOf(t, []row{{at, 1}, {at.Add(-time.Second), 2}})))
	for _, path := range []string{text, columns} {
		if _, err := ReadTable(path); err == nil {
			t.Errorf("%s is read without its format", path)
		}
	}
	table, err := TableReader{Format: "csv"}.Read(text)
	if err != nil || !slices.Equal(table.Values.Float64s(), []float64{1, 2}) {
		t.Fatalf("%v (%v)", table, err)
	}
	for _, micros := range []bool{false, true} {
		table, err := TableReader{Format: "parquet", Times: micros}.Read(columns)
		if err != nil {
			t.Fatal(err)
		}
		if table.Words != nil == micros {
			t.Errorf("micros %v: words %v", micros, table.Words)
		}
		if v := table.Values.Float64s(); micros && (v[0] != float64(at.UnixMicro()) || v[2] != v[0]-1e6) {
			t.Errorf("times %v", v)
		}
	}
}

// TestBlanks: numbers with blanks between them are cells, as NumPy writes an array; a line of blanks is no row, and words with blanks
// are one cell.
func TestBlanks(t *testing.T) {
	for text, want := range map[string]string{
		"1.5e+00 2 3\n4 5  6\n":           `["x0" "x1" "x2"] [1.5 2 3 4 5 6]`,
		" a  b\n 1  2\n-3  nan\n":         `["a" "b"] [1 2 -3 NaN]`,
		"a,b\n1,2\n   \n3,4\n  \n":        `["a" "b"] [1 2 3 4]`,
		"a, \"b\"\n1, \"2\"\n":            `["a" "b"] [1 2]`,
		"a town\nNew York\nLos Angeles\n": `["a town"] [NaN NaN]`,
	} {
		table := tableOf(t, text)
		if got := fmt.Sprintf("%q %v", table.Columns, table.Values.Float64s()); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
