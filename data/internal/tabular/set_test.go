package tabular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/internal/fetch"
)

// Every set of the list is whole, is found by its name and reads files of its form.
func TestSets(t *testing.T) {
	all := Sets()
	if !slices.IsSortedFunc(all, func(a, b Set) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not in the order of names")
	}
	for _, s := range all {
		if s.Title == "" || s.Folder == "" || len(s.Features) < 8 || s.Target == "" || len(s.files) == 0 || s.split == nil {
			t.Errorf("%s: %+v", s.Name, s)
		}
		if len(s.text.columns) != len(s.Features)+1 {
			t.Errorf("%s: %d columns for %d features", s.Name, len(s.text.columns), len(s.Features))
		}
		d := s.Dataset
		if d.Source == "" || d.Licence == "" || len(d.Files) != 1 || len(d.Mirrors) == 0 && d.Manual == "" {
			t.Errorf("%s: %+v", s.Name, d)
		}
		if f := d.Files[0]; (f.Size == 0 || f.SHA256 == "") && f.Check == nil {
			t.Errorf("%s: nothing checks %s", s.Name, f.Name)
		}
		if d.Or == nil || d.Or(t.TempDir()) == nil {
			t.Errorf("%s: an empty folder holds it", s.Name)
		}
	}
}

// A file in any form of the set replaces the file that is downloaded, if reading
// finds no fault.
func TestOtherForms(t *testing.T) {
	s := plain()
	s.Files = []fetch.File{{Name: "p.csv.zip", Size: 7, SHA256: "other"}}
	s.checked()
	for _, c := range []struct {
		content string
		missing int
	}{{"a,b\n1,2\n", 1}, {"a\n1\n2\n3\n4\n", 1}, {"a,b\n1,2\n3,4\n5,6\n7,8\n", 0}} {
		path := put(t, "p.csv", []byte(c.content))
		missing, err := s.Missing(filepath.Dir(path))
		if err != nil || len(missing) != c.missing {
			t.Errorf("%q: %d files missing (%v), want %d", c.content, len(missing), err, c.missing)
		}
	}
}

// The first pattern that fits any file counts; the files come in order.
func TestFind(t *testing.T) {
	s := taxi()
	in := filepath.Join(t.TempDir(), "taxi")
	_, _, _, err := s.Open(in)
	expectError(t, err, "no file "+filepath.Join(in, "yellow_tripdata_"), "taxi.csv.zip: ")
	if err := os.MkdirAll(filepath.Join(in, "yellow_tripdata_2022-01.parquet"), 0o755); err != nil { // a folder
		t.Fatal(err)
	}
	_, _, _, err = s.Open(in)
	expectError(t, err, "no file "+filepath.Join(in, "yellow_tripdata_"), "taxi.csv.zip: ")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	for _, name := range []string{"taxi.csv", "yellow_tripdata_2023-02.parquet", "yellow_tripdata_2022-12.parquet", "yellow_tripdata_2023-01.parquet.part"} {
		if err := os.WriteFile(filepath.Join(in, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.find(in)
	want := []string{filepath.Join(in, "yellow_tripdata_2022-12.parquet"), filepath.Join(in, "yellow_tripdata_2023-02.parquet")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("files %q (%v), want %q", got, err, want)
	}
}

// many is a CSV file of n rows i, -i.
func many(n int) []byte {
	b := []byte("a,b\n")
	for i := range n {
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, ",-"...)
		b = append(strconv.AppendInt(b, int64(i), 10), '\n')
	}
	return b
}

// Shuffling keeps rows whole, gives the same order every time, and is off by default.
func TestShuffle(t *testing.T) {
	path := put(t, "p.csv", many(300))
	s := plain()
	ordered, _, _ := values(t, s, path)
	if !slices.IsSorted(ordered) {
		t.Error("rows out of order")
	}
	s.shuffled = true
	a, y, _ := values(t, s, path)
	again, _, _ := values(t, s, path)
	if !slices.Equal(a, again) || slices.IsSorted(a) {
		t.Error("not the same order, or not a random one")
	}
	for i := range a {
		if y[i] != -a[i] {
			t.Fatalf("row %d: %g, %g", i, a[i], y[i])
		}
	}
	if slices.Sort(a); !slices.Equal(a, ordered) {
		t.Error("other rows than before")
	}
}

// The parts lie one after the other in memory of just the table's size.
func TestOnePiece(t *testing.T) {
	s := plain()
	s.rows, s.split = 100, shares(0.8, 0.1)
	train, validation, test, err := s.open([]string{put(t, "p.csv", many(100))})
	if err != nil {
		t.Fatal(err)
	}
	parts := []*tensor.Dense{train.X, validation.X, test.X}
	at, sizes := uintptr(0), []int{80, 10, 10}
	for i, part := range parts {
		v := part.Float64s()
		if len(v) != sizes[i] || cap(v) != len(v) {
			t.Errorf("part %d has %d values and room for %d", i, len(v), cap(v))
		}
		start := uintptr(unsafe.Pointer(unsafe.SliceData(v)))
		if at != 0 && start != at {
			t.Errorf("part %d does not follow the one before", i)
		}
		at = start + uintptr(len(v))*unsafe.Sizeof(v[0])
	}
}

// 80 and 10 percent are rounded down as int(n*0.8) does in the paper's code.
func TestShares(t *testing.T) {
	a, b := shares(0.8, 0.1)(67109)
	if a != 53687 || b != 6710 { // Python: int(67109*0.8), int(67109*0.1)
		t.Errorf("%d and %d rows", a, b)
	}
}
