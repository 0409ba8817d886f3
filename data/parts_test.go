package data

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rowsOf lists the rows of streams as text, words as they are.
func rowsOf(t testing.TB, open func() (*Stream, error)) (rows []string) {
	t.Helper()
	s, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		b, err := s.Next(3)
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.N() {
			row := ""
			for j := range b.Columns {
				if v := b.Values.Float64s()[i*len(b.Columns)+j]; v == v {
					row += fmt.Sprint(v, "|")
				} else {
					row += b.Texts(j)[i] + "|"
				}
			}
			rows = append(rows, row)
		}
	}
}

// inParts lists the rows of all parts of files.
func inParts(t testing.TB, r TableReader, size int64, paths ...string) (rows []string, parts int) {
	t.Helper()
	all, err := Divide(paths, size)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		rows = append(rows, rowsOf(t, func() (*Stream, error) { return r.OpenPart(p) })...)
	}
	return rows, len(all)
}

// However a text is cut, each of its rows is in one part, and the parts are in order.
func TestAnyCutsOfText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	rapid.Check(t, func(r *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "end")
		text := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(r, "mark")
		if rapid.Bool().Draw(r, "header") {
			text += "a,long name of a column" + end
		}
		n := rapid.IntRange(1, 15).Draw(r, "rows")
		for i := range n {
			cell := rapid.SampledFrom([]string{"1", "-2.5e3", `"quoted, cell"`, "a word of some length", "", `"say ""no"""`}).Draw(r, "cell")
			text += fmt.Sprintf("%d.5,%s", i, cell)
			if i < n-1 || rapid.Bool().Draw(r, "last end") {
				text += end + strings.Repeat(end, rapid.IntRange(0, 1).Draw(r, "gap"))
			}
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.Fatal(err)
		}
		reader := TableReader{Header: "yes"}
		if !strings.Contains(text, "name") {
			reader.Header = "no"
		}
		want := rowsOf(t, func() (*Stream, error) { return reader.Open(path) })
		got, _ := inParts(t, reader, int64(rapid.IntRange(1, 100).Draw(r, "size")), path)
		if !slices.Equal(got, want) {
			r.Fatalf("rows %q, want %q", got, want)
		}
	})
}

// A part has the columns of the file, also if the rows of the part look like other columns. An error counts the lines of the part.
func TestPartHasTheFilesColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("a;b\n1;x\n2;y\nthree;z\n4;u\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := TableReader{}.OpenPart(Part{Path: path, Unit: byteUnit, From: 9, To: 13})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Next(10)
	if err != nil || !slices.Equal(s.Columns, []string{"a", "b"}) || b.N() != 1 || b.Texts(0)[0] != "three" {
		t.Fatalf("columns %q, %d rows, error %v", s.Columns, b.N(), err)
	}
	const want = `t.csv (lines after byte 9):1: column "a": expected a number, found "three"`
	if _, err := b.Numbers([]int{0}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, expected %q", err, want)
	}
}

func TestPartsOfParquet(t *testing.T) {
	type row struct {
		A float64 `parquet:"a"`
		B string  `parquet:"b"`
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "t.parquet")
	var rows []row
	for i := range 40 {
		rows = append(rows, row{float64(i), fmt.Sprint("word", i%3)})
	}
	if err := os.WriteFile(path, parquetOf(t, rows), 0o644); err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, func() (*Stream, error) { return TableReader{}.Open(path) })
	for size, most := range map[int64]int{1: 14, 1 << 30: 1} {
		got, parts := inParts(t, TableReader{}, size, path)
		if !slices.Equal(got, want) || len(got) != 40 || parts != most {
			t.Errorf("parts of %d bytes: %d parts, want %d; rows %q", size, parts, most, got)
		}
	}
	s, err := TableReader{}.OpenPart(Part{Path: path, Unit: groupUnit, From: 1, To: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, err := s.Next(1); err != nil || b.place(0, 0) != place(path, false, 3, "a") {
		t.Errorf("a row is called %s, error %v", b.place(0, 0), err)
	}
}

// TestPartsOfFolders: a part of a folder has its images and their classes.
func TestPartsOfFolders(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"a/1.png", "a/2.png", "b/3.png"} {
		writeImage(t, filepath.Join(dir, name), 2, 2, color.RGBA{uint8(50 * i), 0, 0, 255})
	}
	all, err := Divide([]string{dir}, 1)
	if err != nil || len(all) != 1 || all[0].To != 3 {
		t.Fatalf("parts %v, error %v", all, err)
	}
	s, err := TableReader{Image: []int{3, 2, 2}}.OpenPart(Part{Path: dir, Unit: imageUnit, From: 1, To: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Next(10)
	if err != nil || b.N() != 2 || b.X.Uint8s()[0] != 50 || b.X.Uint8s()[12] != 100 || !slices.Equal(b.Values.Float64s(), []float64{0, 1}) {
		t.Errorf("images %v of the classes %v, error %v", b.X, b.Values, err)
	}
}

func TestPartsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t.csv")
	text := "a,b\n" + strings.Repeat("1,\"two\nlines\"\n", 20)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		part Part
		want string
	}{
		{Part{Path: path, Unit: byteUnit, From: 0, To: 20}, "line break"},
		{Part{Path: path, Unit: byteUnit, From: 50, To: 5000}, "it has changed since it was divided"},
		{Part{Path: path, Unit: byteUnit, From: 5, To: 5}, "it has changed since it was divided"},
		{Part{Path: path, Unit: "lines", From: 0, To: 5}, "expected bytes"},
		{Part{Path: dir, Unit: imageUnit, From: 0, To: 5}, "[C H W]"},
	} {
		s, err := TableReader{}.OpenPart(c.part)
		if err == nil {
			_, err = s.Next(100)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want one line with %q", c.part, err, c.want)
		}
	}
	for _, p := range []string{filepath.Join(dir, "none.csv"), dir} {
		if _, err := Divide([]string{p}, 10); err == nil {
			t.Errorf("%s: no error", p)
		}
	}
	if _, err := Divide([]string{path}, 0); err == nil {
		t.Error("parts of 0 bytes")
	}
}
