package command_test

import (
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/npy"
)

// TestPredictSamples: the same functions as columns, lists and an array; targets with --noise.
func TestPredictSamples(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	args := []string{"predict", "test.csv", "--model", "m.valla", "--samples", "3", "--seed", "4"}
	cells, err := csv.NewReader(strings.NewReader(must(t, dir, args...))).ReadAll()
	if err != nil || len(cells) != 101 || strings.Join(cells[0][6:], " ") != "sample_1 sample_2 sample_3" {
		t.Fatalf("%d lines, columns %q, error %v", len(cells), cells[0], err)
	}
	var doc struct{ Samples [][]float64 }
	if err := json.Unmarshal([]byte(must(t, dir, with(args, "--json")...)), &doc); err != nil || len(doc.Samples) != 3 || len(doc.Samples[2]) != 100 {
		t.Fatalf("as JSON: %v, error %v", doc, err)
	}
	must(t, dir, with(args, "--out", "p.npz")...)
	arrays, err := npy.ReadArchive(filepath.Join(dir, "p.npz"))
	if err != nil {
		t.Fatal(err)
	}
	samples, _ := arrays.Get("samples")
	if s := samples.Shape(); !slices.Equal(s, []int{3, 100, 1}) {
		t.Fatalf("array of shape %v", s)
	}
	for i, line := range cells[1:] {
		for s := range 3 {
			a := samples.Float64s()[100*s+i]
			var text float64
			if err := json.Unmarshal([]byte(line[6+s]), &text); err != nil || text != a || doc.Samples[s][i] != a {
				t.Fatalf("row %d, sample %d: %s, %g and %g", i, s, line[6+s], doc.Samples[s][i], a)
			}
		}
	}
	must(t, dir, with(args, "--noise", "--out", "n.npy")...)
	noisy, err := npy.Read(filepath.Join(dir, "n.npy"))
	if err != nil || !slices.Equal(noisy.Shape(), []int{100, 9}) || noisy.Float64s()[6] == samples.Float64s()[0] {
		t.Errorf("with noise: shape %v, error %v", noisy.Shape(), err)
	}
	fails(t, dir, 2, "a network without a posterior has no functions to draw: expected a posterior of one of the methods valla, lla", "predict", "test.csv", "--model", "map.valla", "--samples", "2")
	fails(t, dir, 2, "--samples needs all rows together", "predict", "test.csv", "--model", "m.valla", "--samples", "2", "--parts", "folder")
	fails(t, dir, 2, "--noise goes with --samples", "predict", "test.csv", "--model", "m.valla", "--noise")
}

// TestPredictSamplesOfClasses: the probabilities of each function.
func TestPredictSamplesOfClasses(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), species(example(200, 1)))
	must(t, dir, with(quickTrain, "train", "train.csv", "--classes", "--out", "map.valla")...)
	must(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--structure", "kfac", "--out", "m.valla")
	out := must(t, dir, "predict", "train.csv", "--model", "m.valla", "--samples", "2", "--link", "bridge")
	if head, _, _ := strings.Cut(out, "\n"); head != "class,p_1,p_2,p_4,sample_1_p_1,sample_1_p_2,sample_1_p_4,sample_2_p_1,sample_2_p_2,sample_2_p_4" {
		t.Errorf("columns %s", head)
	}
	var doc struct{ Samples [][][]float64 }
	if err := json.Unmarshal([]byte(must(t, dir, "predict", "train.csv", "--model", "m.valla", "--samples", "2", "--json")), &doc); err != nil || len(doc.Samples) != 2 || len(doc.Samples[1]) != 200 || len(doc.Samples[1][7]) != 3 {
		t.Errorf("as JSON: error %v", err)
	}
}

// TestInterval is the level by another name.
func TestInterval(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	for _, command := range []string{"predict", "eval"} {
		a, b := must(t, dir, command, "test.csv", "--model", "m.valla", "--interval", "0.8"), must(t, dir, command, "test.csv", "--model", "m.valla", "--level", "0.8")
		if a != b || a == must(t, dir, command, "test.csv", "--model", "m.valla") {
			t.Errorf("%s: --interval is not --level", command)
		}
	}
}
