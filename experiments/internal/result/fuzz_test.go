package result

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// texts are seeds of the fuzz targets, whole and damaged.
func texts(f *testing.F) {
	c := Cell{ID: id("VaLLA 100", 3), Experiment: "e", Profile: "full", Settings: json.RawMessage(`[1,{"a":"b"}]`),
		Scores: map[string]Scores{"probit": {"NLL": 0.5, "ECE": Number(math.NaN())}, "mc": {"NLL": Number(math.Inf(-1))}}, N: 4,
		Facts:  Facts{PriorStd: 2, Stopped: "early"},
		Curves: Curves{Entropy: &Entropy{Max: 1, In: []float64{1}}, Reliable: []XY{{1, 2}}, Corrupted: []Corrupt{{Name: "fog", Level: 2, Changed: Changed{NLL: 3}}}}}
	p := Plan{Experiment: "e", Profile: "full", Commands: []string{"run"}, Data: []string{"set"}, Cells: []ID{id("A", 0)}}
	for _, v := range []any{c, p} {
		text, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
		f.Add(append(text, '{'))
	}
	for _, text := range []string{"", "null", "[]", "{}{}", "{}}", `{"more":1}`, `{"scores":{"":{"NLL":"many"}}}`, `{"seed":-1}`, `{"cells":[3]}`, `{"n":1e99}`, "\xff"} {
		f.Add([]byte(text))
	}
}

// readBack reads a text as T. An error is one line that names the file. What was read is
// written and read again without a change.
func readBack[T any](t *testing.T, text []byte) {
	path := filepath.Join(t.TempDir(), "file.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	var v, again T
	if err := ReadJSON(path, &v); err != nil {
		if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q", err)
		}
		return
	}
	if err := WriteJSON(path, v); err != nil {
		t.Fatalf("%+v was read and cannot be written: %v", v, err)
	}
	if err := ReadJSON(path, &again); err != nil {
		t.Fatal(err)
	}
	a, errA := json.Marshal(v)
	b, errB := json.Marshal(again)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s became %s (%v, %v)", a, b, errA, errB)
	}
}

func FuzzReadCell(f *testing.F) {
	texts(f)
	f.Fuzz(func(t *testing.T, text []byte) { readBack[Cell](t, text) })
}

func FuzzReadPlan(f *testing.F) {
	texts(f)
	f.Fuzz(func(t *testing.T, text []byte) { readBack[Plan](t, text) })
}

// A damaged plan or cell is named, and blocks neither the others nor the next run. Names of
// folders that lead elsewhere are refused.
func TestReadAllDamaged(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(dir, "e", "full")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Expect(Plan{Experiment: "e", Profile: "full", Cells: []ID{id("A", 0)}}); err != nil {
		t.Fatal(err)
	}
	if all, damaged, err := ReadAll(dir); err != nil || damaged != nil || len(all) != 1 || all[0].Done[0] != nil {
		t.Fatalf("plans %+v, damaged %v, error %v", all, damaged, err)
	}
	for _, path := range []string{f.cell(id("A", 0)), filepath.Join(string(f), planFile)} {
		for _, text := range []string{"{} {}", "{}}", "{", "[]"} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, damaged, err := ReadAll(dir)
			if err != nil || len(damaged) == 0 {
				t.Fatalf("%s: damaged %v, error %v", text, damaged, err)
			}
			if last := damaged[len(damaged)-1].Error(); !strings.Contains(last, path) || strings.Contains(last, "\n") {
				t.Errorf("%s: %s, expected %s in it", text, last, path)
			}
		}
	}
	if err := f.Expect(Plan{Cells: []ID{id("A", 0)}}); err != nil {
		t.Errorf("a damaged plan blocks the next run: %v", err)
	}
	if all, damaged, err := ReadAll(dir); err != nil || len(damaged) != 1 || len(all) != 1 || all[0].Done[0] != nil {
		t.Errorf("plans %+v, damaged %v, error %v: expected the damaged cell", all, damaged, err)
	}
	if all, _, err := ReadAll(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("plans %+v of no folder, error %v", all, err)
	}
	for _, name := range []string{"../q", "a/b", "..", "", "A"} {
		if f, err := Open(dir, "e", name); err == nil {
			t.Errorf("the profile %q has the folder %s", name, f)
		}
	}
}

// Numbers that JSON does not know go through it, and nothing else does.
func TestNumber(t *testing.T) {
	for _, v := range []float64{0, -1.5, 1e300, 5e-324, math.Inf(1), math.Inf(-1)} {
		text, err := json.Marshal(Number(v))
		if err != nil {
			t.Fatal(err)
		}
		var got Number
		if err := json.Unmarshal(text, &got); err != nil || float64(got) != v {
			t.Errorf("%v became %s and %v (%v)", v, text, got, err)
		}
	}
	var got Number
	if err := json.Unmarshal([]byte(`"NaN"`), &got); err != nil || !math.IsNaN(float64(got)) {
		t.Errorf("NaN became %v (%v)", got, err)
	}
	for _, text := range []string{`"x"`, `""`, `null`, `[1]`, `{}`, `true`} {
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is the number %v", text, got)
		}
	}
}

func TestBandCheck(t *testing.T) {
	two := []float64{1, 2}
	whole := func() *Band { return &Band{Grid: two, Mean: two, Std: two, Latent: two, X: two, Y: two} }
	if err := whole().Check(); err != nil {
		t.Error(err)
	}
	for i, spoil := range []func(*Band){
		func(b *Band) { b.Grid = nil }, func(b *Band) { b.Mean = nil }, func(b *Band) { b.Std = two[:1] }, func(b *Band) { b.Latent = nil },
		func(b *Band) { b.Y = nil }, func(b *Band) { b.HeldX = two }, func(b *Band) { *b = Band{} },
	} {
		b := whole()
		spoil(b)
		if err := b.Check(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("damage %d: error %v", i, err)
		}
	}
}

// Cells in one place of a table differ at most in their hash.
func TestSame(t *testing.T) {
	a := id("A", 1)
	b := a
	b.Hash = "other"
	if !a.Same(b) || a.Name() == b.Name() {
		t.Errorf("%+v and %+v", a, b)
	}
	for i := range reflect.TypeOf(a).NumField() {
		c := a
		f := reflect.ValueOf(&c).Elem().Field(i)
		name := reflect.TypeOf(a).Field(i).Name
		switch f.Kind() {
		case reflect.String:
			f.SetString("changed")
		case reflect.Int:
			f.SetInt(9)
		case reflect.Uint64:
			f.SetUint(9)
		}
		if c == a {
			t.Fatalf("%s was not changed", name)
		}
		if a.Same(c) != (name == "Hash") {
			t.Errorf("a cell with another %s is in the same place: %v", name, a.Same(c))
		}
	}
}
