package main_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/model"
)

// The whole way with each structure: the report, the scores and the predictions.
func TestFitLLA(t *testing.T) {
	dir := fitted(t)
	for name, c := range map[string]struct{ args, printed string }{
		"LLA full":      {"", "LLA full of 41 weights"},
		"LLA kfac":      {"--structure kfac --weights last-layer --per-layer", "prior std"},
		"LLA diag":      {"--structure diag --hyper grid --subset 100", "(grid)"},
		"LLA lowrank 7": {"--structure lowrank --rank 7 --weights dense1.weight,dense2.weight --hyper fixed --prior-std 0.5 --noise-std 0.3", "0.5 of all (fixed)"},
	} {
		out := must(t, dir, append([]string{"fit", "train.csv", "--model", "map.valla", "--method", "lla", "--out", "lla.valla"}, strings.Fields(c.args)...)...)
		if !strings.Contains(out, c.printed) || !strings.Contains(out, "log marginal likelihood") || !strings.Contains(out, " kB)") {
			t.Errorf("%s: fit printed %q", name, out)
		}
		var e evaluation
		decode(t, must(t, dir, "eval", "test.csv", "--model", "lla.valla", "--json"), &e)
		if len(e.Scores) != 2 || e.Scores[1].Method != name || !(e.Scores[1].NLL > -0.5 && e.Scores[1].NLL < 1) || e.Scores[0].RMSE != e.Scores[1].RMSE {
			t.Errorf("%s: evaluation %+v", name, e)
		}
		rows := readPredictions(t, must(t, dir, "predict", "test.csv", "--model", "lla.valla"))
		for i, r := range rows {
			if !(r[1] > 0) {
				t.Errorf("%s: row %d has the standard deviation %g", name, i, r[1])
			}
		}
	}
}

func TestReportOfLLA(t *testing.T) {
	dir := fitted(t)
	var r report
	decode(t, must(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--structure", "kfac", "--per-layer",
		"--out", "lla.valla", "--json", "--validation", "0.2", "--seed", "3", "--noise-std", "0.25"), &r)
	l := r.Run.LLA
	if r.Run.Method != model.MethodLLA || r.Run.Rows != 160 || r.Run.Validation != 40 || r.Run.Seed != 3 ||
		!slices.Equal(l.Priors, []string{"dense1", "dense2"}) || len(l.PriorStds) != 2 || l.Parameters != 41 || math.Abs(r.NoiseStd-0.25) > 1e-12 {
		t.Errorf("reported %+v, %+v", r, l)
	}
}

// What goes with the other method, or into the other flag, is named.
func TestFlagsOfMethods(t *testing.T) {
	dir := fitted(t)
	writeTable(t, filepath.Join(dir, "net.npz"), example(3, 1))
	for args, want := range map[string]string{
		"--method lla --inducing 5":                    "--inducing goes with --method valla, found --method lla",
		"--structure kfac":                             "--structure goes with --method lla, found --method valla",
		"--method gp":                                  "expected one of valla, lla",
		"--method lla --structure half":                "expected one of full, kfac, diag, lowrank",
		"--method lla --weights net.npz":               "--weights net.npz: expected all, last-layer or names of parameters; a file of weights goes with --net-weights",
		"--weights other.npz":                          "a file of weights goes with --net-weights",
		"--method lla --weights some/where":            "a file of weights goes with --net-weights",
		"--method lla --hyper fixed":                   "fixed hyper-parameters need a prior standard deviation",
		"--method lla --hyper grid --per-layer":        "a grid is of one free prior standard deviation",
		"--method lla --rank 3":                        "rank 3 for the structure full",
		"--method lla --subset 1000":                   "a subset of 1000 rows, expected at most 180",
		"--method lla --prior-std -1 --structure kfac": "prior standard deviation -1",
		"--prior-std 0":                                "prior standard deviation 0, expected a positive number",
		"--method lla --hyper marglik --validation 2":  "validation fraction 2",
	} {
		fails(t, dir, 2, want, append([]string{"fit", "train.csv", "--model", "map.valla", "--out", "x.valla"}, strings.Fields(args)...)...)
	}
	fails(t, dir, 2, "--net-weights last-layer: expected a file; which weights are uncertain goes with --weights",
		"fit", "train.csv", "--net-weights", "last-layer", "--activation", "tanh", "--out", "x.valla")
	fails(t, dir, 1, `parameter "dense9" is unknown or named twice; the network has ["dense1.weight"`,
		"fit", "train.csv", "--model", "map.valla", "--method", "lla", "--weights", "dense9", "--out", "x.valla")
}

// TestFitOptimizers: there are several optimizers of VaLLA, with steps of their own.
func TestFitOptimizers(t *testing.T) {
	dir := fitted(t)
	for given, want := range map[string]model.Run{
		"natural":                {Optimizer: model.Natural, Iterations: 1000, LearningRate: 1e-2},
		"adam --iterations 4000": {Optimizer: model.Adam, Iterations: 4000, LearningRate: 1e-3},
	} {
		args := append([]string{"fit", "train.csv", "--model", "map.valla", "--inducing", "8", "--patience", "0", "--out", "n.valla", "--optimizer"}, strings.Fields(given)...)
		must(t, dir, args...)
		m, err := model.Load(filepath.Join(dir, "n.valla"))
		if err != nil {
			t.Fatal(err)
		}
		if r := m.Training[len(m.Training)-1]; r.Optimizer != want.Optimizer || r.Iterations != want.Iterations || r.LearningRate != want.LearningRate {
			t.Errorf("%s: recorded %+v, want %+v", given, r, want)
		}
	}
	must(t, dir, "eval", "train.csv", "--model", "n.valla")
	fails(t, dir, 2, "--optimizer goes with --method valla", "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--optimizer", "natural", "--out", "x.valla")
	fails(t, dir, 2, "natural, adam", "fit", "train.csv", "--model", "map.valla", "--optimizer", "sgd", "--out", "x.valla")
}
