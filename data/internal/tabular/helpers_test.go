package tabular

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/internal/fetch"
	"github.com/go-valla/valla/internal/fixture"
)

var expectError = fixture.OneLine

// put writes a file in a new folder and returns its path.
func put(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// zipped returns an archive of files that all hold content.
func zipped(t testing.TB, content []byte, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// plain is a set of the CSV columns a (feature) and b (target). Two rows are for training, one
// is for validation, and the rest are for testing.
func plain() Set {
	return Set{
		Dataset: fetch.Dataset{Name: "plain"}, Features: []string{"a"}, Target: "b", Folder: "p",
		files: packed("p.csv"), text: layout{columns: []string{"a", "b"}}, split: counts(2, 1),
	}
}

// small is a set with its split and without the number of rows of the real files.
func small(s Set) Set {
	s.rows, s.most, s.shuffled, s.split = 0, 0, false, counts(2, 1)
	return s
}

// values returns the features and targets of a set, as it was read, and how many rows were read.
func values(t testing.TB, s Set, paths ...string) (x, y []float64, read int) {
	t.Helper()
	r, err := s.read(paths)
	if err != nil {
		t.Fatal(err)
	}
	train, validation, test, err := s.open(paths)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []*data.Set{train, validation, test} {
		x, y = append(x, part.X.Float64s()...), append(y, part.Y.Float64s()...)
	}
	if len(y) != r.kept {
		t.Errorf("%d rows in the parts, but %d rows were kept", len(y), r.kept)
	}
	return x, y, r.read
}

// refused returns the error of a set that must not be read, and fails if the parts come with it.
func refused(t testing.TB, s Set, paths ...string) error {
	t.Helper()
	train, validation, test, err := s.open(paths)
	if train != nil || validation != nil || test != nil {
		t.Error("half a result comes with the error")
	}
	return err
}

func expectEqual(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s %v, want %v", what, got, want)
	}
}

// yearLine returns a line of Year's form with the value v somewhere in it.
func yearLine(year int, v string) string {
	return fmt.Sprintf("%d,%s%s\n", year, v, strings.Repeat(",1.5", 89))
}
