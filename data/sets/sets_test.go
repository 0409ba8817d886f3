package sets

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data/internal/fetch"
	"github.com/go-valla/valla/internal/fixture"
)

// conformance has a row for each set. It holds what the entry must say and, for files beside
// the module, how many examples and how many features or classes the set has. A row with 0
// examples is not compared with files, because there are none.
var conformance = []struct {
	name, folder           string
	files                  int // 0: built in
	examples, test, values int // all examples, those for testing, features or classes
}{
	{"airline", "airline", 1, 0, 0, 8},
	{"airline-nycflights13", "airline_proxy", 1, 273853, 27386, 8},
	{"boston", "uci", 23, 506, 51, 13},
	{"cifar10", "cifar10", 1, 60000, 10000, 10},
	{"concrete", "uci", 23, 1030, 103, 8},
	{"energy", "uci", 23, 768, 77, 8},
	{"fmnist", "fashion-mnist", 4, 70000, 10000, 10},
	{"kin8nm", "uci", 23, 8192, 819, 8},
	{"mnist", "mnist", 4, 70000, 10000, 10},
	{"power", "uci", 23, 9568, 957, 4},
	{"sine", "", 0, 300, 300, 1},
	{"taxi", "taxi", 1, 0, 0, 8},
	{"taxi-green", "taxi_proxy", 1, 67109, 6712, 8},
	{"toy1d", "", 0, 400, 400, 1},
	{"yacht", "uci", 23, 308, 31, 6},
	{"year", "year", 1, 0, 0, 90},
}

// TestConformance checks every entry of the table against its row.
func TestConformance(t *testing.T) {
	all := All()
	if len(all) != len(conformance) {
		t.Errorf("%d sets, but %d rows in the test", len(all), len(conformance))
	}
	for i, c := range conformance {
		t.Run(c.name, func(t *testing.T) {
			s := all[min(i, len(all)-1)]
			if s.Name != c.name || s.Folder != c.folder || len(s.Files) != c.files {
				t.Fatalf("set %s with %d files in folder %q, want %s with %d in %q", s.Name, len(s.Files), s.Folder, c.name, c.files, c.folder)
			}
			expectWhole(t, s)
			expectMissing(t, s)
		})
	}
}

// expectWhole fails unless the entry says everything that a set needs.
func expectWhole(t *testing.T, s Set) {
	t.Helper()
	if s.Title == "" || s.Source == "" || s.Licence == "" || s.Splits < 1 || (s.table == nil) == (s.images == nil) {
		t.Errorf("the entry is not whole: %+v", s)
	}
	if same, err := Lookup(s.Name); err != nil || same.Title != s.Title {
		t.Errorf("found %q (%v)", same.Title, err)
	}
	if s.BuiltIn() != (s.Folder == "") || !s.BuiltIn() && len(s.Mirrors) == 0 && s.Manual == "" {
		t.Errorf("folder %q, mirrors %q, advice %q", s.Folder, s.Mirrors, s.Manual)
	}
	for _, m := range s.Mirrors {
		if !strings.HasPrefix(m, "http") || !strings.HasSuffix(m, "/") {
			t.Errorf("mirror %q", m)
		}
	}
	for _, f := range s.Files {
		if !fs.ValidPath(f.Name) || f.Size == 0 && f.Check == nil || f.Size > 0 && len(f.SHA256) != 64 {
			t.Errorf("nothing checks %+v", f)
		}
	}
	if s.Other != "" {
		if o, err := Lookup(s.Other); err != nil || !s.HasImages() || !o.HasImages() {
			t.Errorf("out of distribution: %q (%v)", s.Other, err)
		}
	}
}

// expectMissing fails unless reading from an empty folder says how to get the set. A set
// that is built in can be read without files.
func expectMissing(t *testing.T, s Set) {
	t.Helper()
	folder := t.TempDir()
	err := read(s, folder)
	if s.BuiltIn() {
		if err != nil {
			t.Error(err)
		}
		return
	}
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Name != s.Name || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want a MissingError", err)
	}
	fixture.OneLine(t, err, s.Name+": ", s.Dir(folder), `; get it with "valla data get `+s.Name+`", or name the folder that has it by the setting data`)
	files, err := s.Missing(s.Dir(folder))
	if err != nil || len(files) != len(s.Files) {
		t.Errorf("%d files missing (%v), want %d", len(files), err, len(s.Files))
	}
}

// read reads the set. It returns an error if the set can be read as the other kind too.
func read(s Set, folder string) error {
	_, table := s.Table(folder, 0)
	_, images := s.Images(folder)
	if s.HasImages() {
		table, images = images, table
	}
	if images == nil || !strings.Contains(images.Error(), s.Name+": expected a") {
		return errors.New("it is read as a table and as images")
	}
	return table
}

// The files beside the module are read as the table of sets says.
func TestFixtureConformance(t *testing.T) {
	for _, c := range conformance {
		t.Run(c.name, func(t *testing.T) {
			s, err := Lookup(c.name)
			if err != nil {
				t.Fatal(err)
			}
			folder := ""
			if !s.BuiltIn() {
				folder = fixture.Shared(t, "data")
			}
			if c.examples == 0 {
				t.Skip("skipped, because the files are not beside the module")
			}
			examples, test, values := counts(t, s, folder)
			if examples != c.examples || test != c.test || values != c.values {
				t.Errorf("%d examples, %d for testing, %d values, want %d, %d, %d", examples, test, values, c.examples, c.test, c.values)
			}
			if missing, err := s.Missing(s.Dir(folder)); err != nil || len(missing) != 0 {
				t.Errorf("%d files missing (%v)", len(missing), err)
			}
		})
	}
}

// counts reads a set and returns its numbers of examples, of test examples, and of
// features or classes.
func counts(t *testing.T, s Set, folder string) (examples, test, values int) {
	t.Helper()
	if s.HasImages() {
		p, err := s.Images(folder)
		if err != nil {
			t.Fatal(err)
		}
		return p.Train.N + p.Validation.N + p.Test.N, p.Test.N, p.Test.Classes
	}
	p, err := s.Table(folder, 0)
	if err != nil {
		t.Fatal(err)
	}
	test, values = p.Test.N(), len(p.Test.Features)
	if s.BuiltIn() { // all examples are for testing
		return test, test, values
	}
	examples = p.Train.N() + test
	if p.Validation != nil {
		examples += p.Validation.N()
	}
	return examples, test, values
}

func TestLookup(t *testing.T) {
	_, err := Lookup("uci")
	fixture.OneLine(t, err, `unknown data set "uci", expected one of airline, airline-nycflights13, boston, cifar10, `, ", yacht, year")
	if !errors.Is(err, ErrUnknown) {
		t.Errorf("error %v, want %v", err, ErrUnknown)
	}
}

func TestSelect(t *testing.T) {
	for name, want := range map[string][]string{
		"mnist": {"mnist"},
		"uci":   {"boston", "concrete", "energy", "kin8nm", "power", "yacht"},
	} {
		var names []string
		found, err := Select(name)
		for _, s := range found {
			names = append(names, s.Name)
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: %q (%v), want %q", name, names, err, want)
		}
	}
	for _, name := range []string{"", "iris"} {
		_, err := Select(name)
		fixture.OneLine(t, err, "unknown data set ", ", toy1d, uci, yacht, ")
	}
}

// A file that is there but has the wrong content does not count as missing.
func TestWrongFile(t *testing.T) {
	s, err := Lookup("boston")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(s.Dir(folder), "boston.npz")
	put(t, path, "no archive")
	_, err = s.Table(folder, 0)
	fixture.OneLine(t, err, "boston: "+path+": ", "no zip archive")
	var missing *MissingError
	if errors.As(err, &missing) {
		t.Errorf("error %v, want no MissingError", err)
	}
}

func TestDir(t *testing.T) {
	s := Set{Folder: "a/b"}
	if got, want := s.Dir("f"), filepath.Join("f", "a", "b"); got != want {
		t.Errorf("folder %s, want %s", got, want)
	}
	built := Set{Dataset: fetch.Dataset{Name: "x"}, table: func(string, int) (*Parts, error) { return &Parts{Test: toy1DPoints()}, nil }}
	if err := built.Get(t.Context(), filepath.Join(t.TempDir(), "none"), nil); err != nil || !built.BuiltIn() {
		t.Errorf("error %v of a set without files", err)
	}
}

// put writes a file and makes its folder.
func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
