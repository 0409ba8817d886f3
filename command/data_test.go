package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTables: the tables are listed with the images. The error about a table without an
// address says which files to put into which folder. A file with other content does not count.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	list := must(t, dir, "data", "list", "--data", "data")
	for _, want := range []string{
		"year                 ", "1 of 1 files missing in " + filepath.Join("data", "year"),
		"size not known", filepath.Join("data", "taxi_proxy"),
	} {
		if !strings.Contains(list, want) {
			t.Errorf("list lacks %q:\n%s", want, list)
		}
	}
	fails(t, dir, 1, "put nycflights13_8feat.csv.gz there", "data", "get", "airline-nycflights13", "--data", "data")
	folder := filepath.Join(dir, "data", "year")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "YearPredictionMSD.txt"), []byte("2001,1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if list := must(t, dir, "data", "list", "--data", "data"); !strings.Contains(list, "1 of 1 files missing in "+filepath.Join("data", "year")) {
		t.Errorf("a wrong file counts:\n%s", list)
	}
}
