package tabular

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// put writes a file in a new folder and returns its path.
func put(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func section(content []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(content), 0, int64(len(content)))
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
		Name: "plain", Features: []string{"a"}, Target: "b", Folder: "p",
		files: packed("p.csv"), csv: layout{fields: numbers("a", "b")}, split: counts(2, 1),
	}
}

// small is a set with its split and without the number of rows of the real files.
func small(s Set) Set {
	s.rows, s.most, s.shuffled, s.split = 0, 0, false, counts(2, 1)
	return s
}

// values returns the features and targets of a set, as it was read.
func values(t testing.TB, s Set, o Options, paths ...string) (x, y []float64, r *Report) {
	t.Helper()
	splits, r, err := s.open(paths, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []*tensor.Dense{splits.Train.X, splits.Validation.X, splits.Test.X} {
		x = append(x, wide(part)...)
	}
	for _, part := range []*tensor.Dense{splits.Train.Y, splits.Validation.Y, splits.Test.Y} {
		y = append(y, wide(part)...)
	}
	return x, y, r
}

func wide(t *tensor.Dense) []float64 {
	if t.Dtype() == tensor.Float64 {
		return t.Float64s()
	}
	out := make([]float64, 0, t.Size())
	for _, v := range t.Float32s() {
		out = append(out, float64(v))
	}
	return out
}

// expectError fails unless err is one line that says all of say.
func expectError(t testing.TB, err error, say ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", say)
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("error of several lines: %q", err)
	}
	for _, s := range say {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q, want %q in it", err, s)
		}
	}
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
