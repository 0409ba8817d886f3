package command_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/npy"
	"gorgonia.org/tensor"
)

// writeTargets writes a CSV file of a, b and the targets y and z = 10 a + noise.
func writeTargets(t *testing.T, path string, rows [][3]float64) {
	t.Helper()
	var text strings.Builder
	text.WriteString("z,a,b,y\n")
	for i, r := range rows {
		fmt.Fprintf(&text, "%g,%g,%g,%g\n", 10*r[0]+math.Sin(float64(7*i)), r[0], r[1], r[2])
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTargets goes the whole way with two targets, with each method.
func TestTargets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTargets(t, filepath.Join(dir, "train.csv"), example(200, 1))
	writeTargets(t, filepath.Join(dir, "test.csv"), example(100, 2))
	out := must(t, dir, with(quickTrain, "train", "train.csv", "--target", "y,z", "--out", "map.valla")...)
	for _, want := range []string{"2-10-2 tanh", ` of "y"`, ` of "z"`} {
		if !strings.Contains(out, want) {
			t.Errorf("train printed no %q in\n%s", want, out)
		}
	}
	for label, args := range map[string][]string{
		"VaLLA 8": quickFit, "LLA KFAC": {"--method", "lla", "--structure", "kfac", "--law", "gaussian"}, "GP-Subset": {"--method", "gp-subset", "--points", "50", "--law", "gaussian"},
	} {
		var r report
		decode(t, must(t, dir, with(args, "fit", "train.csv", "--model", "map.valla", "--out", "m.valla", "--json")...), &r)
		if !slices.Equal(r.Targets, []string{"y", "z"}) || !slices.Equal(r.Features, []string{"a", "b"}) || len(r.NoiseStd) != 2 || r.Event.Label != label {
			t.Errorf("%s: reported %+v", label, r)
		}
		checkTargetScores(t, dir, label)
		checkTargetPredictions(t, dir, r.NoiseStd)
	}
	fails(t, dir, 2, "[model target]", "fit", "train.csv", "--model", "map.valla", "--target", "y", "--out", "x.valla")
	fails(t, dir, 1, `no column "c"`, "train", "train.csv", "--target", "y,c", "--out", "x.valla")
	fails(t, dir, 1, `the target "y" is named twice`, "train", "train.csv", "--target", "y,y", "--out", "x.valla")
	fails(t, dir, 1, "2 targets of classes, expected one", "train", "train.csv", "--target", "y,z", "--classes", "--out", "x.valla")
}

func checkTargetScores(t *testing.T, dir, label string) {
	t.Helper()
	var e struct {
		Rows    int
		Targets []string
		Scores  []map[string]any
		Details []map[string]any `json:"statistics"`
		Off     string
	}
	decode(t, must(t, dir, "eval", "test.csv", "--model", "m.valla", "--json"), &e)
	if e.Rows != 100 || !slices.Equal(e.Targets, []string{"y", "z"}) || len(e.Scores) != 2 || e.Scores[0]["method"] != "MAP" || e.Scores[1]["method"] != label {
		t.Fatalf("evaluation %+v", e)
	}
	for _, s := range e.Scores {
		// The noise of y has standard deviation 0.2, the noise of z is a sine of amplitude 1.
		y, z := s["rmse_y"].(float64), s["rmse_z"].(float64)
		if c := s["coverage"].(float64); len(s) != 10 || !(c > 0.8 && c <= 1) || s["level"] != 0.95 || !(y > 0.15 && y < 0.8) || !(z > 0.4 && z < 3) || !(s["nll"].(float64) < 6) || !(s["crps_z"].(float64) > s["crps_y"].(float64)) {
			t.Errorf("scores %v", s)
		}
	}
	if e.Scores[0]["nll"] == e.Scores[1]["nll"] || e.Scores[0]["rmse_z"] != e.Scores[1]["rmse_z"] {
		t.Errorf("the posterior must keep the mean and change the variance: %v", e.Scores)
	}
	text := must(t, dir, "eval", "test.csv", "--model", "m.valla")
	for _, want := range []string{`scores of "y", "z"`, "RMSE y", "CQM z", label} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// checkTargetPredictions compares the columns of stdout, .npz and JSON.
func checkTargetPredictions(t *testing.T, dir string, noise []float64) {
	t.Helper()
	cells, err := csv.NewReader(strings.NewReader(must(t, dir, "predict", "test.csv", "--model", "m.valla"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Fields("mean_y std_y lower_y upper_y epistemic_y aleatoric_y mean_z std_z lower_z upper_z epistemic_z aleatoric_z"); !slices.Equal(cells[0], want) || len(cells) != 101 {
		t.Fatalf("columns %q of %d rows", cells[0], len(cells)-1)
	}
	must(t, dir, "predict", "test.csv", "--model", "m.valla", "--out", "p.npz")
	archive, err := npy.ReadArchive(filepath.Join(dir, "p.npz"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	decode(t, must(t, dir, "predict", "test.csv", "--model", "m.valla", "--json"), &doc)
	for j, name := range cells[0] {
		column, _ := archive.Get(name)
		listed, _ := doc[name].([]any)
		if column == nil || len(listed) != 100 {
			t.Fatalf("no column %s", name)
		}
		for i, v := range column.Float64s() {
			if fmt.Sprint(v) != fmt.Sprint(listed[i]) || cells[i+1][j] != fmt.Sprint(v) {
				t.Fatalf("%s of row %d: stdout %s, .npz %g, JSON %v", name, i, cells[i+1][j], v, listed[i])
			}
			if target := strings.Index("yz", name[len(name)-1:]); strings.HasPrefix(name, "std") && !(v > noise[target]) {
				t.Errorf("row %d: %s %g is not above the noise %g", i, name, v, noise[target])
			}
		}
	}
}

// Two targets of an .npz archive are called y0 and y1.
func TestTargetsOfArchive(t *testing.T) {
	dir := t.TempDir()
	var x, y []float64
	for _, r := range example(100, 1) {
		x, y = append(x, r[0], r[1]), append(y, r[2], -r[2])
	}
	if err := npy.WriteArchive(filepath.Join(dir, "train.npz"), []string{"X", "y"}, []*tensor.Dense{matrix(x, 100, 2), matrix(y, 100, 2)}); err != nil {
		t.Fatal(err)
	}
	must(t, dir, with(quickTrain, "train", "train.npz", "--target", "y0,y1", "--out", "map.valla")...)
	if out := must(t, dir, "predict", "train.npz", "--model", "map.valla"); !strings.HasPrefix(out, "mean_y0,std_y0,lower_y0,upper_y0,epistemic_y0,aleatoric_y0,mean_y1,") {
		t.Errorf("predicted %.80q", out)
	}
	if err := npy.WriteArchive(filepath.Join(dir, "x.npz"), []string{"X"}, []*tensor.Dense{matrix(x, 100, 2)}); err != nil {
		t.Fatal(err)
	}
	if must(t, dir, "predict", "x.npz", "--model", "map.valla") != must(t, dir, "predict", "train.npz", "--model", "map.valla") {
		t.Error("the predictions depend on whether the targets are there")
	}
}
