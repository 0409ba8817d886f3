package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/train"
)

const small = `name: small
data: boston
seeds: [0, 1]
network: {hidden: [8], activation: tanh}
map: {iterations: 60, learning-rate: 1e-2, validation: 0.2, validate-every: 20}
methods:
  - {method: map}
  - {method: lla, structure: [full, kfac, diag]}
  - {method: lla, weights: last-layer, structure: [full, kfac, diag]}
  - {method: gp-subset, points: 20}
  - {method: valla, optimizer: adam, label: "VaLLA {}", inducing: [4, 8], iterations: 40, learning-rate: 1e-2, validate-every: 10}
  - {method: valla, label: "VaLLA {} natural", inducing: 6, iterations: 12, validate-every: 4}
  - {method: valla, optimizer: adam, label: "start of LLA", inducing: 5, iterations: 20, init: greedy, hyper-from: lla,
     optimal-a: true, fix-prior: true, fix-noise: true, alpha: 0, keep-last: true}
`

// Every cell is computed once, changed settings are computed again, and the same seed gives
// the same numbers.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	o := Options{Data: dir, Dir: filepath.Join(dir, "runs")}
	cells, fresh := run(t, open(t, small), o)
	if len(cells) != 2*12 || fresh != 24 {
		t.Fatalf("%d cells, %d fresh; the text has 12 rows and 2 seeds", len(cells), fresh)
	}
	for name, c := range cells {
		s := c.Scores[""]
		if c.N != 3 || len(s) != 4 || s["NLL"] == 0 || len(c.Curves.Coverage) != 9 || c.Machine.Go == "" || len(c.Settings) == 0 {
			t.Errorf("%s: cell %+v", name, c)
		}
		if s["RMSE"] != cells["MAP "+fmt.Sprint(c.Seed)].Scores[""]["RMSE"] {
			t.Errorf("%s changed the network's mean", name)
		}
		if c.Fit.Runs != 1 || c.Fit.Wall <= 0 || c.Predict.Peak <= 0 {
			t.Errorf("%s: cost %+v, %+v", name, c.Fit, c.Predict)
		}
		if c.Experiment != "small" || c.Profile != spec.FullProfile || c.Facts.NoiseStd == 0 {
			t.Errorf("%s: %s, profile %s, facts %+v", name, c.Experiment, c.Profile, c.Facts)
		}
	}
	v := cells["VaLLA 8 0"]
	if v.Facts.Steps != 40 || len(v.Curves.History) != 4 || v.Facts.PriorStd == 0 || v.Inducing != 8 || v.Facts.Stopped != string(train.Finished) {
		t.Errorf("VaLLA's facts %+v, history %+v", v.Facts, v.Curves.History)
	}
	if n := cells["VaLLA 6 natural 0"]; n.Facts.Steps != 12 || len(n.Curves.History) != 3 || n.Facts.PriorStd == 0 {
		t.Errorf("facts of the natural-gradient fit %+v, history %+v", n.Facts, n.Curves.History)
	}
	if fixed, lla := cells["start of LLA 0"], cells["LLA 0"]; fixed.Facts.PriorStd != lla.Facts.PriorStd || fixed.Facts.NoiseStd != lla.Facts.NoiseStd {
		t.Errorf("σ₀ and σ are %v and %v, expected LLA's, %v and %v", fixed.Facts.PriorStd, fixed.Facts.NoiseStd, lla.Facts.PriorStd, lla.Facts.NoiseStd)
	}

	if _, fresh = run(t, open(t, small), o); fresh != 0 {
		t.Errorf("%d cells were computed twice", fresh)
	}
	if _, fresh = run(t, open(t, strings.Replace(small, "iterations: 40", "iterations: 30", 1)), o); fresh != 4 {
		t.Errorf("%d cells were computed after a change of 2 rows for 2 seeds", fresh)
	}
	again, _ := run(t, open(t, small), Options{Data: dir, Dir: filepath.Join(dir, "again")})
	for name, c := range cells {
		if got := again[name].Scores[""]; fmt.Sprint(got) != fmt.Sprint(c.Scores[""]) || again[name].Hash != c.Hash {
			t.Errorf("%s: %v and again %v", name, c.Scores[""], got)
		}
	}
}

// What a run leaves is found by package result, also for a file without profiles, and in the
// order of the rows.
func TestPlanIsKept(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	o := Options{Data: dir, Dir: filepath.Join(dir, "runs"), Commands: []string{"a command"}}
	e := open(t, small)
	if err := (Overrides{Seeds: []uint64{0}, Methods: []string{"map", "gp-subset"}}).Apply(e); err != nil {
		t.Fatal(err)
	}
	run(t, e, o)
	found, _, err := result.ReadAll(o.Dir)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d plans, error %v", len(found), err)
	}
	f := found[0]
	if f.Experiment != "small" || f.Profile != spec.FullProfile || f.Commands[0] != "a command" || len(f.Data) != 1 || f.Data[0] != "boston" {
		t.Errorf("plan %+v", f.Plan)
	}
	if len(f.Done) != 2 || f.Done[0] == nil || f.Done[0].Row != "MAP" || f.Done[1] == nil || f.Done[1].Method != "gp-subset" {
		t.Errorf("cells %+v", f.Done)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "small", "full", "work", "*")); len(left) != 2 {
		t.Errorf("the work folder has %q, expected the network and its cost", left)
	}
}

const long = `name: small
data: boston
network: {hidden: [8]}
map: {iterations: 2500, validation: 0.2}
methods:
  - {method: map}
  - {method: valla, optimizer: adam, inducing: 4, iterations: 2500, patience: 0, hyper-from: lla}
  - {method: valla, inducing: 4, iterations: 10}
`

// An interrupted experiment continues and ends with the numbers of one that was not
// interrupted. The cost of both parts is counted.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	whole, total := run(t, open(t, long), Options{Data: dir, Dir: filepath.Join(dir, "whole")})
	for _, c := range []struct {
		what, row string
		left      int // cells after the interruption
	}{{"boston MAP", "MAP 0", 3}, {"boston VaLLA 4 Adam seed 0", "VaLLA 4 Adam 0", 2}} {
		o := Options{Data: dir, Dir: filepath.Join(dir, strings.Fields(c.row)[0])}
		stopped, cancel := context.WithCancel(t.Context())
		stopping := o
		stopping.OnProgress = func(what string, p train.Progress) {
			if what == c.what && p.Done == 1700 {
				cancel()
			}
		}
		err := Run(stopped, open(t, long), stopping)
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%s: error %v", c.row, err)
		}
		work := filepath.Join(o.Dir, "small", "full", "work")
		if kept, _ := filepath.Glob(filepath.Join(work, "*.checkpoint")); len(kept) != 1 {
			t.Fatalf("%s: checkpoints %q after the interruption", c.row, kept)
		}
		first := -1
		o.OnProgress = func(what string, p train.Progress) {
			if what == c.what && first < 0 {
				first = p.Done
			}
		}
		cells, fresh := run(t, open(t, long), o)
		for name, w := range whole {
			if got := cells[name]; fmt.Sprint(got.Scores) != fmt.Sprint(w.Scores) || !reflect.DeepEqual(got.Facts, w.Facts) {
				t.Errorf("%s, interrupted in %s: %v %+v, in one %v %+v", name, c.row, got.Scores, got.Facts, w.Scores, w.Facts)
			}
		}
		if got := cells[c.row].Fit; got.Runs != 2 || fresh != c.left || total != 3 {
			t.Errorf("%s: cost %+v, %d of %d cells computed after the interruption, expected %d", c.row, got, fresh, total, c.left)
		}
		if first < 1000 {
			t.Errorf("%s began again at step %d", c.row, first)
		}
		if left, _ := filepath.Glob(filepath.Join(work, "*.[cp]*")); len(left) != 0 {
			t.Errorf("%s: finished cells left %q", c.row, left)
		}
	}
}

// A fit that begins anew after an interruption costs what it costs now; the cost so far counts where a checkpoint keeps what it was for.
func TestInterruptedWithoutCheckpoint(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	text := `{name: small, data: boston, network: {hidden: [8]}, map: {iterations: 5}, methods: [{method: lla}]}`
	o := Options{Data: dir, Dir: filepath.Join(dir, "runs")}
	cells, _ := run(t, open(t, text), o)
	id := cells["LLA 0"].ID
	o.Dir = filepath.Join(dir, "interrupted")
	f, err := result.Open(o.Dir, "small", "full")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Interrupt(id, result.Cost{Wall: 1e6, CPU: 1e6, Runs: 1}); err != nil {
		t.Fatal(err)
	}
	cells, _ = run(t, open(t, text), o)
	if got := cells["LLA 0"].Fit; got.Runs != 1 || got.CPU > 1e5 {
		t.Errorf("cost %+v", got)
	}
}

// A method that needs too much memory leaves a cell that says so, and the others are
// computed.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	text := `{name: small, data: boston, network: {hidden: [8]}, map: {iterations: 5}, methods: [{method: lla}, {method: map}, {method: valla, optimizer: adam, iterations: 2, inducing: 4, hyper-from: lla}]}`
	o := Options{Data: dir, Dir: t.TempDir(), Memory: 1}
	cells, fresh := run(t, open(t, text), o)
	for _, row := range []string{"LLA 0", "VaLLA 4 Adam 0"} {
		if c := cells[row]; !strings.Contains(c.Refused, "byte") || c.Scores != nil || strings.Contains(c.Refused, "\n") {
			t.Errorf("%s: cell %+v", row, c)
		}
	}
	if c := cells["MAP 0"]; fresh != 3 || c.Refused != "" || c.Scores[""]["NLL"] == 0 {
		t.Errorf("cell %+v, %d cells", c, fresh)
	}
	if _, fresh = run(t, open(t, text), o); fresh != 0 {
		t.Errorf("%d cells were computed again under the same limit", fresh)
	}
	o.Memory = 1 << 30
	if cells, fresh = run(t, open(t, text), o); fresh != 2 || cells["VaLLA 4 Adam 0"].HyperRefused != "" || cells["LLA 0"].Refused != "" || cells["LLA 0"].Scores[""]["NLL"] == 0 || cells["LLA 0"].Limit != 0 {
		t.Errorf("%d cells were computed under a larger limit, among them %+v", fresh, cells["LLA 0"])
	}
}

// A cell whose hyper-parameters could not be found under a limit is computed again under another.
func TestHyperRefused(t *testing.T) {
	dir := t.TempDir()
	writeRows(t, dir, 2600) // exact LLA takes three matrices of rows × rows
	text := `{name: small, data: boston, network: {hidden: [60, 60]}, map: {iterations: 5}, methods: [{method: valla, optimizer: adam, iterations: 2, inducing: 2, batch-size: 4, hyper-from: lla}]}`
	o := Options{Data: dir, Dir: t.TempDir(), Memory: 100 << 20}
	cells, _ := run(t, open(t, text), o)
	small := cells["VaLLA 2 Adam 0"]
	if small.Refused != "" || small.HyperRefused == "" || small.Limit != o.Memory {
		t.Fatalf("cell %+v", small)
	}
	o.Memory = 1 << 30
	cells, fresh := run(t, open(t, text), o)
	if large := cells["VaLLA 2 Adam 0"]; fresh != 1 || large.HyperRefused != "" || large.Facts.PriorStd == small.Facts.PriorStd {
		t.Errorf("%d cells computed under a larger limit, prior std %v and %v", fresh, small.Facts.PriorStd, large.Facts.PriorStd)
	}
}

// Two runs of the same settings have the same hashes, also if one run has the defaults written
// out. Everything that changes a result changes the hash.
func TestHash(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	hashes := func(text string) []string {
		groups, err := (&runner{Options: Options{Data: dir}, spec: open(t, text)}).plan()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, g := range groups {
			for _, c := range g.cells {
				out = append(out, c.Hash)
			}
		}
		return out
	}
	const base = "{name: a, data: boston, network: {}, map: {}, methods: [{method: valla}]}"
	want := hashes(base)
	for _, same := range [][2]string{
		{"network: {}", "network: {form: mlp, hidden: [50, 50], dtype: float64, activation: tanh}"},
		{"map: {}", "map: {validation: 0.1, optimizer: adam, learning-rate: 0.01}"},
		{"method: valla", "method: valla, alpha: 1, optimizer: natural"},
		{"method: valla", "method: valla, label: other"},
		{"method: valla", "method: valla, law: gaussian"},
		{"name: a", "name: b, about: text, seeds: 0"},
	} {
		if got := hashes(strings.Replace(base, same[0], same[1], 1)); got[0] != want[0] {
			t.Errorf("%s: another hash", same[1])
		}
	}
	seen := map[string]string{want[0]: "the first"}
	for _, other := range [][2]string{
		{"network: {}", "network: {hidden: []}"}, {"network: {}", "network: {dtype: float32}"},
		{"map: {}", "map: {validation: 0}"}, {"map: {}", "map: {seed: 0}"}, {"map: {}", "map: {keep-last: true}"},
		{"map: {}", "map: {iterations: 5000}"}, {"map: {}", "map: {weight-decay: 1e-3}"}, // otherwise rows choose
		{"method: valla", "method: valla, alpha: 0"}, {"method: valla", "method: valla, hyper-from: lla"}, {"method: valla", "method: lla"},
		{"method: valla", "method: valla, law: student-t"}, {"method: valla", "method: valla, law: auto"},
		{"method: valla", "method: valla, likelihood: student-t"}, {"method: valla", "method: map"}, {"method: valla", "method: map, law: auto"}, {"map: {}", "map: {likelihood: student-t}"},
		{"data: boston", "data: yacht"}, {"name: a", "name: a, seeds: 1"}, {"name: a", "name: a, scoring: {monte-carlo: 3}"},
	} {
		got := hashes(strings.Replace(base, other[0], other[1], 1))[0]
		if old, ok := seen[got]; ok {
			t.Errorf("%s has the hash of %s", other[1], old)
		}
		seen[got] = other[1]
	}
	for _, change := range []string{"other rows", "no rows"} {
		if file := filepath.Join(dir, "uci", "boston.npz"); change == "no rows" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		} else {
			changeTable(t, file)
		}
		got := hashes(base)[0]
		if old, ok := seen[got]; ok {
			t.Errorf("%s have the hash of %s", change, old)
		}
		seen[got] = change
	}
}

// Cells of a data set whose file has changed are computed again, with a network that is
// trained again; a run without the file leaves the plan as it is.
func TestChangedData(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	text := `{name: small, data: boston, network: {hidden: [8]}, map: {iterations: 5}, methods: [{method: map}, {method: lla}]}`
	o := Options{Data: dir, Dir: filepath.Join(dir, "runs")}
	before, _ := run(t, open(t, text), o)
	file := filepath.Join(dir, "uci", "boston.npz")
	changeTable(t, file)
	after, fresh := run(t, open(t, text), o)
	for _, row := range []string{"MAP 0", "LLA 0"} {
		if before[row].Scores[""]["NLL"] == after[row].Scores[""]["NLL"] {
			t.Errorf("%s has the score of the other file", row)
		}
	}
	if fresh != 2 {
		t.Errorf("%d cells were computed", fresh)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), open(t, text), o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without data: %v", err)
	}
	found, damaged, err := result.ReadAll(o.Dir)
	if err != nil || damaged != nil || len(found) != 1 || found[0].Done[0] == nil || found[0].Done[1] == nil {
		t.Errorf("plans %+v, damaged %v, error %v", found, damaged, err)
	}
}

// Files that were cut off are replaced by the next run, and files that a killed run left behind
// a finished cell go.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	text := `{name: small, data: boston, network: {hidden: [8]}, map: {iterations: 5}, methods: [{method: map}, {method: valla, inducing: 4, iterations: 5}]}`
	o := Options{Data: dir, Dir: filepath.Join(dir, "runs")}
	whole, _ := run(t, open(t, text), o)
	at := func(pattern string) []string {
		list, err := filepath.Glob(filepath.Join(o.Dir, "small", "full", pattern))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, pattern := range []string{"cells/*valla*", "cells/*map*", "plan.json", "work/*.valla", "work/*.json"} {
		for _, path := range append(at(pattern), at("cells/*valla*")...) {
			if err := os.Truncate(path, 10); err != nil {
				t.Fatal(err)
			}
		}
		again, fresh := run(t, open(t, text), o)
		if fresh == 0 || fmt.Sprint(again["VaLLA 4 0"].Scores) != fmt.Sprint(whole["VaLLA 4 0"].Scores) {
			t.Errorf("%s cut off: %d cells computed, %v, expected %v", pattern, fresh, again["VaLLA 4 0"].Scores, whole["VaLLA 4 0"].Scores)
		}
	}
	cell := strings.TrimSuffix(filepath.Base(at("cells/*valla*")[0]), ".json")
	for _, name := range []string{cell + ".checkpoint", cell + ".partial.json", ".valla-tmp-1"} {
		if err := os.WriteFile(filepath.Join(o.Dir, "small", "full", "work", name), []byte("left"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, fresh := run(t, open(t, text), o); fresh != 0 || len(at("work/*"))+len(at("work/.*")) != 2 {
		t.Errorf("%d cells computed; the work folder has %q %q, expected the network and its cost", fresh, at("work/*"), at("work/.*"))
	}
	for _, path := range at("cells/*valla*") { // a fit that is to go on from what is no checkpoint
		work := filepath.Join(o.Dir, "small", "full", "work", cell)
		if err := errors.Join(os.Remove(path), os.WriteFile(work+".checkpoint", []byte("left"), 0o644), result.WriteJSON(work+".partial.json", result.Cost{CPU: 1e6, Runs: 1})); err != nil {
			t.Fatal(err)
		}
	}
	if again, fresh := run(t, open(t, text), o); fresh != 1 || fmt.Sprint(again["VaLLA 4 0"].Scores) != fmt.Sprint(whole["VaLLA 4 0"].Scores) || again["VaLLA 4 0"].Fit.CPU > 1e5 {
		t.Errorf("after a damaged checkpoint: %d cells computed, cost %+v", fresh, again["VaLLA 4 0"].Fit)
	}
}

// A network that a file describes is part of the hash by its content.
func TestHashOfForm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net.json")
	e := open(t, small)
	e.Network.Form = file
	var hashes []string
	for _, text := range []string{"{}", "{ }"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		groups, err := (&runner{spec: e}).plan()
		if err != nil {
			t.Fatal(err)
		}
		if c := groups[0].cells[0]; c.Data != "boston-net" {
			t.Errorf("the data set is called %s", c.Data)
		}
		hashes = append(hashes, groups[0].hash)
	}
	if hashes[0] == hashes[1] {
		t.Error("another form has the same hash")
	}
}

// Unknown names, absent data and settings that contradict each other are one line each.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	for _, c := range []struct{ old, new, want string }{
		{"data: boston", "data: bostom", `small.yaml: data: expected one of airline, `},
		{"{method: map}", "{method: map, data: x}", `small.yaml: methods[0].data: expected one of `},
		{"{hidden: [8],", "{form: net, hidden: [8],", `small.yaml: network: bad setting: form "net" of the network, expected mlp, cnn`},
		{"{hidden: [8],", "{form: resnet21, hidden: [8],", `small.yaml: network: bad setting: `},
		{"{hidden: [8],", "{form: cnn, hidden: [8],", `boston: MAP: train: bad setting: form "cnn" takes images`},
		{"data: boston", "data: yacht", `yacht: `},
		{"validate-every: 20}", "validate-every: 20, momentum: 0.5}", `boston: MAP: train: bad setting: momentum 0.5`},
		{"{method: map}", "{method: valla, optimal-a: true}", `boston: VaLLA 100, seed 0: fit: bad setting: optimal-a`},
	} {
		err := Run(t.Context(), open(t, strings.Replace(small, c.old, c.new, 1)), Options{Data: dir, Dir: t.TempDir()})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", c.new, err, c.want)
		}
	}
	err := Run(t.Context(), open(t, strings.Replace(small, "boston", "mnist", 1)), Options{Data: dir, Dir: t.TempDir()})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `get it with "valla data get mnist"`) || !strings.Contains(err.Error(), "the setting data") {
		t.Errorf("absent data: error %v", err)
	}
}

// The folders have defaults.
func TestFolders(t *testing.T) {
	t.Setenv(data.FolderVariable, "some folder")
	o, err := Options{}.complete()
	if err != nil || o.Data != "some folder" || o.Dir != "runs" {
		t.Errorf("folders %q and %q, error %v", o.Data, o.Dir, err)
	}
	if o, err = (Options{Data: "a", Dir: "b"}).complete(); err != nil || o.Data != "a" || o.Dir != "b" {
		t.Errorf("folders %q and %q, error %v", o.Data, o.Dir, err)
	}
}

// Models that are kept are ordinary files: they give the scores of their cells.
func TestKeepModels(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, dir)
	o := Options{Data: dir, Dir: filepath.Join(dir, "runs"), KeepModels: true}
	cells, _ := run(t, open(t, small), o)
	p, err := load("boston", dir, 0.1, 0)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := result.Open(o.Dir, "small", spec.FullProfile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"MAP 0", "LLA 0", "VaLLA 8 0"} {
		m, err := valla.Load(folder.Model(cells[name].ID))
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Evaluate(t.Context(), p.test, valla.PredictOptions{})
		if err != nil || result.Number(s.NLL()) != cells[name].Scores[""]["NLL"] || m.String() == "MAP" != (name == "MAP 0") {
			t.Errorf("%s: the file of %v has NLL %v, the cell %v, error %v", name, m, s.NLL(), cells[name].Scores[""]["NLL"], err)
		}
	}
}
