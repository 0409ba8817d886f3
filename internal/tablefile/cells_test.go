package tablefile

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Splitting lines in place gives the rows, places and errors that encoding/csv does, up to blanks before cells.
func FuzzCells(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", "\r", "\r\n", "a\r", "a\r\r\n", "a,b\n\n\r\nc,d", "a,\n,b\n,\n", "a\n\n\"b\nc\",d\n\ne,f\n", "a\nb\n\n\"c\n",
		"a\nb\"c\n", "a, \"b\"\n \"c\" ,d\n", "\ufeff\"a\",b\n", " \n", strings.Repeat("x", 1<<16) + ",y\nz\n", strings.Repeat("x", 1<<17) + "\"\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fast, slow := NewCells(bytes.NewReader(text), ','), csv.NewReader(bytes.NewReader(text))
		slow.FieldsPerRecord = -1
		slow.TrimLeadingSpace = true
		for {
			got, err := fast.Read()
			want, wantErr := slow.Read()
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
				t.Fatalf("error %v, want %v", err, wantErr)
			}
			if err != nil {
				return
			}
			if line, _ := slow.FieldPos(0); fast.Line != line {
				t.Fatalf("line %d, want %d", fast.Line, line)
			}
			trimmed := func(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }
			if !slices.EqualFunc(got, want, func(a []byte, b string) bool { return trimmed(string(a)) == trimmed(b) }) {
				t.Fatalf("cells %q, want %q", got, want)
			}
		}
	})
}

// TestEmptyLines: a file of empty lines ends with one line, also where rows are in front of them.
func TestEmptyLines(t *testing.T) {
	empty := strings.Repeat("\n", maxEmpty)
	for _, text := range []string{empty + "a,b\n", "a,b\n" + empty, "\"a\"\n" + empty} {
		c := NewCells(strings.NewReader(text), ',')
		var err error
		for err == nil {
			_, err = c.Read()
		}
		if !strings.Contains(err.Error(), "empty lines") {
			t.Errorf("%.5q…: error %v", text, err)
		}
	}
	if _, err := NewCells(strings.NewReader(empty[1:]+"a,b\n"), ',').Read(); err != nil {
		t.Error(err)
	}
}

// TestBoundedRows: a row of very many cells, or with a very large cell, is an error that names the line.
func TestBoundedRows(t *testing.T) {
	cell, long := strings.Repeat("1", maxCell), strings.Repeat("1", maxCell+1)
	for text, want := range map[string]string{
		strings.Repeat(",", maxCells-1):       "",
		"\n" + strings.Repeat(",", maxCells):  "line 2 has more than 1048576 cells",
		`"a"` + strings.Repeat(",", maxCells): "line 1 has more than 1048576 cells",
		cell + ",1":                           "",
		long + ",1":                           "line 1 has a cell of more than 1048576 bytes",
		`"a",` + long:                         "line 1 has a cell of more than 1048576 bytes",
	} {
		_, err := NewCells(strings.NewReader(text), ',').Read()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.10q: error %v, want %q", text, err, want)
		}
	}
}
