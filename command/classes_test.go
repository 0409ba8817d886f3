package command_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/layers"
)

// species replaces the targets of the rows by the classes 1, 2 and 4, by their values.
func species(rows [][3]float64) [][3]float64 {
	for i, r := range rows {
		switch {
		case r[2] < 6:
			rows[i][2] = 1
		case r[2] < 8:
			rows[i][2] = 2
		default:
			rows[i][2] = 4
		}
	}
	return rows
}

// TestClasses goes the whole way with a column of classes.
func TestClasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), species(example(200, 1)))
	writeTable(t, filepath.Join(dir, "test.csv"), species(example(100, 2)))
	if out := must(t, dir, with(quickTrain, "train", "train.csv", "--classes", "--out", "map.valla")...); !strings.Contains(out, "2-10-3 tanh") || !strings.Contains(out, `3 of "y"`) {
		t.Errorf("train printed %q", out)
	}
	must(t, dir, with(quickFit, "fit", "train.csv", "--model", "map.valla", "--out", "valla.valla")...)
	must(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--structure", "kfac", "--out", "lla.valla")
	for file, name := range map[string]string{"valla.valla": "VaLLA 8", "lla.valla": "LLA KFAC"} {
		for _, link := range []string{"probit", "mc"} {
			var e evaluation
			decode(t, must(t, dir, "eval", "test.csv", "--model", file, "--json", "--link", link), &e)
			if len(e.Scores) != 2 || e.Scores[1].Method != name || e.Link != link || e.Scores[1].ACC < 0.75 || e.Scores[1].NLL > 0.6 ||
				e.Scores[1].NLL == e.Scores[0].NLL || e.Scores[1].ECE <= 0 || e.Scores[1].Brier <= 0 || e.Scores[1].Brier > 0.5 {
				t.Errorf("%s, %s: evaluation %+v", file, link, e)
			}
		}
		out := must(t, dir, "eval", "test.csv", "--model", file)
		for _, want := range []string{"ACC", "NLL", "ECE", "Brier", "MAP", name, "probit probabilities"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		checkClassPredictions(t, dir, file)
	}
	writeTable(t, filepath.Join(dir, "odd.csv"), [][3]float64{{1, 2, 3}})
	fails(t, dir, 1, `odd.csv: evaluate: row 0 (counting from 0), target "y": 3 is none of the 3 classes`, "eval", "odd.csv", "--model", "map.valla")
	fails(t, dir, 2, "expected one of probit, mc", "predict", "test.csv", "--model", "map.valla", "--link", "logit")
	fails(t, dir, 2, "noise-std 1 with classes, which have no noise", "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--noise-std", "1", "--out", "x.valla")
}

// checkClassPredictions compares the formats with each other.
func checkClassPredictions(t *testing.T, dir, file string) {
	t.Helper()
	cells, err := csv.NewReader(strings.NewReader(must(t, dir, "predict", "test.csv", "--model", file))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(cells[0], []string{"class", "p_1", "p_2", "p_4"}) || len(cells) != 101 {
		t.Fatalf("columns %q of %d rows", cells[0], len(cells)-1)
	}
	var doc predictions
	decode(t, must(t, dir, "predict", "test.csv", "--model", file, "--json"), &doc)
	must(t, dir, "predict", "test.csv", "--model", file, "--out", "p.npy")
	array, err := npy.Read(filepath.Join(dir, "p.npy"))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range cells[1:] {
		for j, cell := range row {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatal(err)
			}
			want := doc.Class[i]
			if j > 0 {
				want = doc.Probs[i][j-1]
			}
			if v != want || v != array.Float64s()[4*i+j] {
				t.Fatalf("row %d: %g on stdout, %g in JSON, %g in .npy", i, v, want, array.Float64s()[4*i+j])
			}
		}
		if best := slices.Max(doc.Probs[i]); doc.Probs[i][slices.Index(doc.Classes, doc.Class[i])] != best {
			t.Errorf("row %d: class %g of %v", i, doc.Class[i], doc.Probs[i])
		}
	}
}

// classesOf returns the classes of a model.
func classesOf(m *valla.Model) []float64 { return m.Task.Outputs.(*task.Classification).Classes }

// A classifier from elsewhere has an output for each class.
func TestClassesFromWeights(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), species(example(200, 1)))
	must(t, dir, with(quickTrain, "train", "train.csv", "--classes", "--out", "map.valla")...)
	m, err := valla.Load(filepath.Join(dir, "map.valla"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "net"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Net.Params() {
		if err := npy.Write(filepath.Join(dir, "net", p.Name+".npy"), p.Value); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"fit", "train.csv", "--net-weights", "net", "--activation", "tanh", "--method", "lla", "--structure", "diag", "--standardize"}
	must(t, dir, with(args, "--classes", "--out", "w.valla")...)
	w, err := valla.Load(filepath.Join(dir, "w.valla"))
	if err != nil || layers.Fingerprint(w.Net) != layers.Fingerprint(m.Net) || !slices.Equal(classesOf(w), classesOf(m)) {
		t.Errorf("model %+v, error %v", w, err)
	}
	fails(t, dir, 1, "the network maps 2 inputs to 3 outputs, expected 2 inputs", with(args, "--out", "x.valla")...)
}
