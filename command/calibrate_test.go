package command_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/npy"
)

// TestCalibrateNumbers: temperature and conformal intervals on the command line.
func TestCalibrateNumbers(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	writeTable(t, at("held.csv"), example(120, 3))
	writeTable(t, at("more.csv"), example(99, 4))
	out := must(t, dir, "calibrate", "held.csv", "--model", "m.valla", "--out", "t.valla")
	for _, want := range []string{"120 to calibrate", "VaLLA 8, temperature", "NLL of these rows before", "NLL of these rows after", "t.valla"} {
		if !strings.Contains(out, want) {
			t.Errorf("calibrate printed %q, want %q", out, want)
		}
	}
	var doc struct {
		Event struct {
			Action, Method string
			Rows           int
			Facts          []struct{ Value float64 }
		}
	}
	text := must(t, dir, "calibrate", "more.csv", "--model", "t.valla", "--method", "conformal", "--out", "c.valla", "--json")
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if e := doc.Event; e.Action != "calibrate" || e.Method != "conformal" || e.Rows != 99 || len(e.Facts) != 2 {
		t.Errorf("calibrate as JSON: %s", text)
	}
	for i, row := range readPredictions(t, must(t, dir, "predict", "test.csv", "--model", "c.valla", "--level", "0.9")) {
		if half := doc.Event.Facts[0].Value * row[1]; math.Abs(row[0]-half-row[2]) > 1e-9 || math.Abs(row[0]+half-row[3]) > 1e-9 {
			t.Fatalf("row %d: %v, want bounds %g away from the mean", i, row, half)
		}
	}
	var e evaluation
	decode(t, must(t, dir, "eval", "test.csv", "--model", "c.valla", "--level", "0.9", "--json"), &e)
	if len(e.Scores) != 3 || e.Scores[2].Method != "VaLLA 8, temperature, conformal" || e.Scores[2].Level != 0.9 || math.Abs(e.Scores[2].Coverage-0.9) > 0.15 {
		t.Errorf("evaluation %+v", e)
	}
	if out := must(t, dir, "eval", "test.csv", "--model", "c.valla"); !strings.Contains(out, "95 % intervals hold ") {
		t.Errorf("eval printed %s", out)
	}
	writeTable(t, at("one.csv"), example(1, 5))
	r := run(t, dir, "calibrate", "one.csv", "--model", "m.valla", "--method", "conformal", "--out", "one.valla")
	if r.code == 0 || !strings.Contains(r.stderr, "the level 0.95 needs a conformal calibration with 19 rows at least, this one has 1: expected a level of at most 0.5") {
		t.Errorf("conformal calibration by one row: %+v", r)
	}
	must(t, dir, "calibrate", "one.csv", "--model", "m.valla", "--method", "conformal", "--level", "0.5", "--out", "one.valla")
	r = run(t, dir, "calibrate", "train.csv", "--model", "m.valla", "--out", "own.valla")
	if r.code != 0 || !strings.Contains(r.stderr, "For the calibration these are worth nothing") {
		t.Errorf("calibration by the rows of the training: %+v", r)
	}
}

// TestCalibrateClasses: a column with a set of classes, on the network alone.
func TestCalibrateClasses(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), species(example(200, 1)))
	writeTable(t, filepath.Join(dir, "held.csv"), species(example(120, 2)))
	writeTable(t, filepath.Join(dir, "test.csv"), species(example(100, 3)))
	must(t, dir, with(quickTrain, "train", "train.csv", "--classes", "--out", "map.valla")...)
	must(t, dir, "calibrate", "held.csv", "--model", "map.valla", "--method", "conformal", "--out", "c.valla")
	lines := strings.Split(strings.TrimSpace(must(t, dir, "predict", "test.csv", "--model", "c.valla", "--level", "0.9")), "\n")
	sets := []string{"", "1", "2", "4", "1|2", "2|4", "1|4", "1|2|4"}
	if lines[0] != "class,p_1,p_2,p_4,set" || len(lines) != 101 {
		t.Errorf("%d lines, header %q", len(lines), lines[0])
	}
	for _, line := range lines[1:] {
		if set := line[strings.LastIndexByte(line, ',')+1:]; !slices.Contains(sets, set) {
			t.Errorf("set %q", set)
		}
	}
	must(t, dir, "predict", "test.csv", "--model", "c.valla", "--level", "0.9", "--out", "p.npz")
	archive, err := npy.ReadArchive(filepath.Join(dir, "p.npz"))
	if err != nil {
		t.Fatal(err)
	}
	array, _ := archive.Get("set")
	in := array.Float64s()
	for i, line := range lines[1:] {
		var names []string
		for k, name := range []string{"1", "2", "4"} {
			if in[3*i+k] == 1 {
				names = append(names, name)
			}
		}
		if want := strings.Join(names, "|"); !strings.HasSuffix(line, ","+want) {
			t.Errorf("row %d: the array set says %q, the table %q", i, want, line)
		}
	}
	var doc struct {
		Level float64
		Set   []string
	}
	if err := json.Unmarshal([]byte(must(t, dir, "predict", "test.csv", "--model", "c.valla", "--json")), &doc); err != nil || doc.Level != 0.95 || len(doc.Set) != 100 {
		t.Errorf("predictions as JSON: %+v, error %v", doc, err)
	}
	var e evaluation
	decode(t, must(t, dir, "eval", "test.csv", "--model", "c.valla", "--json"), &e)
	if len(e.Scores) != 2 || e.Scores[0].SetSize != 0 || e.Scores[1].Coverage < 0.85 || e.Scores[1].SetSize < 0.9 || e.Scores[1].SetSize > 3 {
		t.Errorf("evaluation %+v", e)
	}
	if out := must(t, dir, "eval", "test.csv", "--model", "c.valla"); !strings.Contains(out, "95 % sets hold the class of ") {
		t.Errorf("eval printed %s", out)
	}
	must(t, dir, "calibrate", "held.csv", "--model", "map.valla", "--method", "conformal", "--sets", "aps", "--seed", "3", "--out", "aps.valla")
	decode(t, must(t, dir, "eval", "test.csv", "--model", "aps.valla", "--json"), &e)
	if len(e.Scores) != 2 || e.Scores[1].Coverage < 0.85 || e.Scores[1].SetSize < 0.9 || e.Scores[1].SetSize > 3 {
		t.Errorf("evaluation with adaptive sets %+v", e)
	}
	if r := run(t, dir, "calibrate", "held.csv", "--model", "map.valla", "--method", "vector", "--out", "v.valla"); r.code != 0 || !strings.Contains(r.stdout, "MAP, vector") || !strings.Contains(r.stdout, "smallest scale") {
		t.Errorf("vector scaling: %+v", r)
	}
	fails(t, dir, 2, `the link is "mc", but the conformal calibration was made with "probit"`, "predict", "test.csv", "--model", "c.valla", "--link", "mc")
}

// TestCalibrateErrors: one line says what is wrong.
func TestCalibrateErrors(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(80, 1))
	writeTable(t, filepath.Join(dir, "held.csv"), example(9, 2))
	writeTable(t, filepath.Join(dir, "blind.csv"), example(5, 1), "a", "b")
	must(t, dir, with(quickTrain, "train", "train.csv", "--out", "map.valla")...)
	fails(t, dir, 2, "the level 0.95 needs a conformal calibration with 19 rows at least, this one has 9: expected a level of at most 0.9", "calibrate", "held.csv", "--model", "map.valla", "--method", "conformal", "--out", "x.valla")
	must(t, dir, "calibrate", "held.csv", "--model", "map.valla", "--method", "conformal", "--level", "0.9", "--out", "c.valla")
	fails(t, dir, 2, "the level 0.95 needs a conformal calibration with 19 rows at least, this one has 9: expected a level of at most 0.9", "predict", "train.csv", "--model", "c.valla", "--out", "p.csv")
	must(t, dir, "predict", "train.csv", "--model", "c.valla", "--level", "0.9")
	fails(t, dir, 1, `blind.csv: no column "y", the target`, "calibrate", "blind.csv", "--model", "map.valla", "--out", "x.valla")
	fails(t, dir, 2, `"platt"`, "calibrate", "held.csv", "--model", "map.valla", "--method", "platt", "--out", "x.valla")
	for flag, method := range map[string]string{"--groups=a": "conformal", "--sets=aps": "conformal", "--like=blind.csv": "conformal", "--law=student-t": "law", "--risk=0.1": "abstain"} {
		name, _, _ := strings.Cut(flag, "=")
		fails(t, dir, 2, name+" goes with --method "+method+", found --method temperature", "calibrate", "held.csv", "--model", "map.valla", flag, "--out", "x.valla")
	}
	fails(t, dir, 1, "none.valla", "calibrate", "held.csv", "--model", "none.valla", "--out", "x.valla")
	fails(t, dir, 2, `"out" not set`, "calibrate", "held.csv", "--model", "map.valla")
	if matches, err := filepath.Glob(filepath.Join(dir, "[xp].*")); err != nil || len(matches) > 0 {
		t.Errorf("files %q, error %v", matches, err)
	}
}

// TestAbstainCommand: a rule that a risk has chosen, and one that is given, mark rows; wrong rules are wrong usage.
func TestAbstainCommand(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	r := run(t, dir, "calibrate", "test.csv", "--model", "m.valla", "--method", "abstain", "--risk", "0.4", "--tolerance", "2", "--out", "a.valla")
	if r.code != 0 || !strings.Contains(r.stdout, "rows that need no look") || !strings.Contains(r.stdout, ", abstain") || !strings.Contains(r.stderr, " need no look.\n") {
		t.Errorf("printed %q and %q", r.stdout, r.stderr)
	}
	for _, args := range [][]string{{"--model", "a.valla"}, {"--model", "m.valla", "--abstain", "unfamiliar<=0.5"}} {
		var doc struct{ Unfamiliar, Abstain []float64 }
		if err := json.Unmarshal([]byte(must(t, dir, append([]string{"predict", "test.csv", "--json"}, args...)...)), &doc); err != nil {
			t.Fatal(err)
		}
		marked := 0
		for i, v := range doc.Abstain {
			if v == 1 {
				marked++
			}
			if args[1] == "m.valla" && (v == 1) != (doc.Unfamiliar[i] > 0.5) {
				t.Errorf("row %d with %g is marked %g", i, doc.Unfamiliar[i], v)
			}
		}
		if len(doc.Abstain) == 0 || len(doc.Unfamiliar) != len(doc.Abstain) || args[1] == "m.valla" && marked == 0 {
			t.Errorf("%q: %d of %d marked", args, marked, len(doc.Abstain))
		}
	}
	fails(t, dir, 2, "expected one such as unfamiliar<=0.99", "predict", "test.csv", "--model", "m.valla", "--abstain", "speed<=1")
	fails(t, dir, 2, "probability for classes", "predict", "test.csv", "--model", "m.valla", "--abstain", "probability>=0.5")
	fails(t, dir, 2, "the rule unfamiliar needs a posterior", "predict", "test.csv", "--model", "map.valla", "--abstain", "unfamiliar<=0.5")
	fails(t, dir, 2, "can be shown to have at most 5 % wrong", "calibrate", "test.csv", "--model", "m.valla", "--method", "abstain", "--out", "a.valla")
	fails(t, dir, 2, "can be shown to have at most 0.1 % wrong", "calibrate", "test.csv", "--model", "m.valla", "--method", "abstain", "--risk", "0.001", "--out", "a.valla")
}

// TestGroupsCommand: groups by a column of numbers, and columns that do not divide the rows.
func TestGroupsCommand(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	writeTable(t, filepath.Join(dir, "held.csv"), example(300, 5))
	args := []string{"calibrate", "held.csv", "--model", "m.valla", "--method", "conformal", "--out", "g.valla", "--groups"}
	must(t, dir, append(args, "a")...)
	must(t, dir, "predict", "test.csv", "--model", "g.valla", "--level", "0.9")
	fails(t, dir, 2, "is no column of the model", append(args, "nothing")...)
	must(t, dir, "calibrate", "held.csv", "--model", "m.valla", "--method", "conformal", "--out", "w.valla", "--level", "0.8", "--like", "test.csv")
	must(t, dir, "predict", "test.csv", "--model", "w.valla", "--level", "0.8")
	fails(t, dir, 2, "the level 0.95 needs rows of the calibration with a weight of 380", "predict", "test.csv", "--model", "w.valla")
	fails(t, dir, 1, "none.csv", "calibrate", "held.csv", "--model", "m.valla", "--method", "conformal", "--out", "w.valla", "--like", "none.csv")
}
