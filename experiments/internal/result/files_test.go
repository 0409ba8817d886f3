package result

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// A file that cannot be written leaves the file before as it was.
func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	if err := WriteJSON(path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(path, math.Inf(1)); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	var got map[string]int
	if err := ReadJSON(path, &got); err != nil || got["a"] != 1 {
		t.Errorf("%v, error %v", got, err)
	}
	if err := WriteJSON(filepath.Join(path, "x"), 1); err == nil || !strings.HasPrefix(err.Error(), "result: ") {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); left != nil {
		t.Errorf("files %q are left", left)
	}
}

// A folder that is a file, and cells in a folder that is not there.
func TestFolderErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, "e", "p"); err == nil || !strings.HasPrefix(err.Error(), "result: ") {
		t.Errorf("error %v", err)
	}
	none := Folder(filepath.Join(dir, "none"))
	if err := none.Write(&Cell{ID: id("A", 0)}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if err := none.Expect(Plan{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if c, err := none.Read(id("A", 0)); c != nil || err != nil || none.Has(id("A", 0)) {
		t.Errorf("cell %v, error %v", c, err)
	}
	if all, _, err := ReadAll("["); err == nil {
		t.Errorf("plans %v of an impossible name", all)
	}
}

// Costs of an interrupted fit that are damaged are an error and not nothing.
func TestDamagedCost(t *testing.T) {
	f, err := Open(t.TempDir(), "e", "p")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Spent(id("A", 0)), []byte(`{"wall_s": "long"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadCost(f.Spent(id("A", 0))); err == nil || !strings.Contains(err.Error(), f.Spent(id("A", 0))) {
		t.Errorf("cost %+v, error %v", c, err)
	}
}

// Data sets and cells of earlier plans stay, in their order, behind the data sets and cells of the
// new plan. What the new plan says of the experiment counts.
func TestExpectKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs[1]*") // no pattern
	f, err := Open(dir, "e", "p")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Plan{
		{About: "old", Commands: []string{"old"}, Data: []string{"x", "y"}, Cells: []ID{id("A", 0), id("A", 1), id("B", 0)}},
		{About: "new", Commands: []string{"new"}, Data: []string{"y", "z"}, Cells: []ID{id("B", 0), id("C", 0)}},
	} {
		if err := f.Expect(p); err != nil {
			t.Fatal(err)
		}
	}
	all, _, err := ReadAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{About: "new", Commands: []string{"new"}, Data: []string{"y", "z", "x"}, Cells: []ID{id("B", 0), id("C", 0), id("A", 0), id("A", 1)}}
	if !reflect.DeepEqual(all[0].Plan, want) || len(all[0].Done) != 4 {
		t.Errorf("plan %+v", all[0].Plan)
	}
}

// Plans are found in the order of their names, and folders without one are passed over.
func TestReadAllOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		for _, profile := range []string{"quick", "full"} {
			f, err := Open(dir, name, profile)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Expect(Plan{Experiment: name, Profile: profile}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Open(dir, "c", "empty"); err != nil {
		t.Fatal(err)
	}
	all, _, err := ReadAll(dir)
	var got []string
	for _, f := range all {
		got = append(got, f.Experiment+" "+f.Profile)
	}
	if err != nil || !slices.Equal(got, []string{"a full", "a quick", "b full", "b quick"}) {
		t.Errorf("plans %q, error %v", got, err)
	}
}

// Names of files have neither spaces nor slashes, whatever the row is called.
func TestFileNames(t *testing.T) {
	for row, want := range map[string]string{
		"VaLLA 100 natural": "set-valla-100-natural-seed3-0123456789ab", "../../q": "set-q-seed3-0123456789ab",
		"A/B (σ₀ = 1)": "set-a-b-1-seed3-0123456789ab", "": "set--seed3-0123456789ab",
	} {
		if got := id(row, 3).Name(); got != want {
			t.Errorf("%q is called %s, expected %s", row, got, want)
		}
	}
	f := Folder("folder")
	if got := f.Work("x.valla"); got != filepath.Join("folder", "work", "x.valla") {
		t.Errorf("path %s", got)
	}
}

func TestStdError(t *testing.T) {
	exact := &Band{Latent: []float64{1, 3}}
	for want, b := range map[float64]*Band{0.25: {Latent: []float64{2, 3}}, 0: {Latent: []float64{1, 3}}, 1: {Latent: []float64{0, 0}}} {
		if got := StdError(exact, b); got != want {
			t.Errorf("difference of standard deviations %v, expected %v", got, want)
		}
	}
}

// A machine is described to the second, in universal time.
func TestThisMachine(t *testing.T) {
	m := ThisMachine("v2")
	if m.Finished.Location() != time.UTC || m.Finished.Nanosecond() != 0 {
		t.Errorf("finished %v", m.Finished)
	}
	if !strings.Contains(m.Platform, "/") || !strings.HasPrefix(m.Go, "go") || m.Program != "v2" {
		t.Errorf("machine %+v", m)
	}
}
