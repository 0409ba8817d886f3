package result

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func id(row string, seed uint64) ID { return ID{"set", "m", row, 0, seed, "0123456789ab"} }

// TestStore: a cell that was written is found, an interrupted one keeps its cost.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(dir, "exp", "quick")
	if err != nil {
		t.Fatal(err)
	}
	c := &Cell{ID: id("LLA last-layer", 1), Scores: map[string]Scores{"": {"NLL": Number(math.Inf(1)), "CQM": 0.25}},
		Fit: Cost{Wall: 2, CPU: 3, Peak: 4, Runs: 1, Cores: 2}, Curves: Curves{Coverage: []float64{0.1}}}
	if f.Has(c.ID) {
		t.Error("a cell is there before it was written")
	}
	if err := f.Interrupt(c.ID, c.Fit); err != nil {
		t.Fatal(err)
	}
	spent, err := ReadCost(f.Spent(c.ID))
	if err != nil || spent != c.Fit {
		t.Errorf("spent %+v, error %v", spent, err)
	}
	if sum := spent.Add(Cost{Wall: 1, CPU: 1, Peak: 9, Runs: 1, Cores: 1, Needed: Operations{7, 8}}); sum != (Cost{3, 4, 9, 2, 2, Operations{7, 8}}) {
		t.Errorf("sum of costs %+v", sum)
	}
	if err := f.Write(c); err != nil {
		t.Fatal(err)
	}
	got, err := f.Read(c.ID)
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("read %+v, error %v, wrote %+v", got, err, c)
	}
	if spent, err := ReadCost(f.Spent(c.ID)); err != nil || spent != (Cost{}) {
		t.Errorf("a finished cell has spent %+v, error %v", spent, err)
	}
	if got, err := f.Read(id("LLA", 1)); got != nil || err != nil {
		t.Errorf("a missing cell: %+v, error %v", got, err)
	}
}

// TestPlans: a later plan replaces cells of the same place and keeps the others.
func TestPlans(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(dir, "exp", "full")
	if err != nil {
		t.Fatal(err)
	}
	changed := id("A", 0)
	changed.Hash = "ba9876543210"
	for _, cells := range [][]ID{{id("A", 0), id("B", 0)}, {changed}} {
		if err := f.Expect(Plan{Experiment: "exp", Profile: "full", Data: []string{"set"}, Cells: cells}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Write(&Cell{ID: id("B", 0)}); err != nil {
		t.Fatal(err)
	}
	all, _, err := ReadAll(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d plans, error %v", len(all), err)
	}
	if got := all[0]; !reflect.DeepEqual(got.Cells, []ID{changed, id("B", 0)}) || got.Done[0] != nil || got.Done[1] == nil {
		t.Errorf("plan %+v", got)
	}
}

// TestDamaged: a file that is no result is one line that names it.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(dir, "exp", "full")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"scores": 1}`, `{"more": 1}`, `{"scores":{"":{"NLL":"many"}}}`} {
		path := filepath.Join(string(f), "cells", id("A", 0).Name()+".json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err := f.Read(id("A", 0)); c != nil || err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: cell %v, error %v", text, c, err)
		}
	}
	other, err := json.Marshal(Cell{ID: id("B", 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.cell(id("A", 0)), other, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(id("A", 0)); err == nil || !strings.Contains(err.Error(), "expected the cell") {
		t.Errorf("another cell's file: %v", err)
	}
	if err := ReadJSON(filepath.Join(dir, "none"), new(int)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestNames(t *testing.T) {
	if got := (ID{"mnist", "valla", "VaLLA 100, without", 100, 3, "abc"}).Name(); got != "mnist-valla-100-without-m100-seed3-abc" {
		t.Errorf("name %q", got)
	}
	a, err := Hash(map[string]int{"x": 1, "y": 2}, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := Hash(map[string]int{"y": 2, "x": 1}, 0.5)
	c, _ := Hash(map[string]int{"x": 1, "y": 3}, 0.5)
	if a != b || a == c || len(a) != 12 {
		t.Errorf("hashes %q %q %q", a, b, c)
	}
	if _, err := Hash(math.NaN()); err == nil {
		t.Error("a hash of what JSON cannot hold")
	}
}

// TestMeter: work of a known size shows in what the meter tells.
func TestMeter(t *testing.T) {
	m := StartMeter()
	block := make([]byte, 64<<20)
	for i := range block { // to be resident
		block[i] = byte(i)
	}
	for end := time.Now().Add(30 * time.Millisecond); time.Now().Before(end); {
	}
	c := m.Cost()
	runtime.KeepAlive(block)
	if c.Wall < 0.03 || c.CPU <= 0 || c.CPU > c.Wall*float64(runtime.NumCPU())+1 || c.Peak < int64(len(block)) || c.Runs != 1 {
		t.Errorf("cost %+v", c)
	}
	if m := ThisMachine("v1"); m.Program != "v1" || m.CPU == "" || m.Memory == "" || m.Cores < 1 {
		t.Errorf("machine %+v", m)
	}
}
