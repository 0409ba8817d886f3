package command_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/settings"
)

// TestFitLLA goes the whole way with each structure: the report, the scores, the predictions.
func TestFitLLA(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	for name, c := range map[string]struct{ args, printed string }{
		"LLA":                        {"", "parameters               41\n"},
		"LLA last-layer KFAC":        {"--structure kfac --weights last-layer --priors per-layer", " of dense2\n"},
		"LLA Diag":                   {"--structure diag --hyper grid --subset 100", "posterior                LLA Diag\n"},
		"LLA of 2 arrays low-rank 7": {"--structure lowrank --rank 7 --weights dense1.weight,dense2.weight --hyper fixed --prior-std 0.5 --noise-std 0.3", "prior std                0.5\n"},
	} {
		out := must(t, dir, append([]string{"fit", "train.csv", "--model", "map.valla", "--method", "lla", "--law", "gaussian", "--out", "lla.valla"}, strings.Fields(c.args)...)...)
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
	t.Parallel()
	dir := fitted(t)
	var r report
	decode(t, must(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--structure", "kfac", "--priors", "per-layer",
		"--out", "lla.valla", "--json", "--validation", "0.2", "--seed", "3", "--noise-std", "0.25"), &r)
	m, err := valla.Load(filepath.Join(dir, "lla.valla"))
	if err != nil {
		t.Fatal(err)
	}
	noise := 0.25 * m.Task.Outputs.(*task.Regression).Std[0]
	e := r.Event
	if e.Method != "lla" || e.Rows != 160 || e.ValidationRows != 40 || e.Seed != 3 || e.Result != nil ||
		!slices.Equal(e.Groups, []string{"dense1", "dense2"}) || len(e.PriorStds) != 2 || e.Facts[0] != (gp.Fact{Name: "parameters", Value: 41}) ||
		math.Abs(r.NoiseStd[0]-noise) > 1e-12 {
		t.Errorf("reported %+v", r)
	}
}

// takers names the methods that have a setting.
func takers(setting string) string {
	var names []string
	for _, m := range method.All() {
		if settings.Lookup(m.New(), setting) != nil {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, " or ")
}

// The error about a flag of another method names that method, and the error about a value of
// another flag names that flag.
func TestFlagsOfMethods(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	writeTable(t, filepath.Join(dir, "net.npz"), example(3, 1))
	for args, want := range map[string]string{
		"--method lla --inducing 5":                          "--inducing goes with --method " + takers("inducing") + ", found --method lla",
		"--structure kfac":                                   "--structure goes with --method lla, found --method valla",
		"--structure=kfac --method=gp-subset":                "--structure goes with --method lla, found --method gp-subset",
		"--method lla --structure kfac --method valla":       "--structure goes with --method lla, found --method valla",
		"--method gp-subset --noise-std 1":                   "--noise-std goes with --method " + takers("noise-std") + ", found --method gp-subset",
		"--method gp":                                        `method "gp", expected one of ` + strings.Join(method.Names(), ", "),
		"--structure kfac --method gp":                       `method "gp", expected one of ` + strings.Join(method.Names(), ", "),
		"--method lla --structure half":                      "expected one of full, kfac, diag, lowrank",
		"--method lla --weights net.npz":                     "--weights net.npz: expected all, last-layer or names of parameters; a file of weights goes with --net-weights",
		"--weights other.npz":                                "--weights other.npz: expected all, last-layer or names of parameters; a file of weights goes with --net-weights",
		"--method lla --weights some/where":                  `parameter "some/where" is unknown or named twice; the network has ["dense1.weight"`,
		"--method lla --weights dense9":                      `parameter "dense9" is unknown or named twice; the network has ["dense1.weight"`,
		"--method lla --hyper fixed":                         "hyper fixed needs a prior-std",
		"--method lla --hyper grid --priors per-layer":       "hyper grid, which finds one prior-std",
		"--method lla --rank 3":                              "rank 3 with the structure full",
		"--method lla --subset 1000":                         "subset 1000, expected at most the 180 training rows",
		"--method lla --prior-std -1 --structure kfac":       "expected a number above 0, found \"-1\"",
		"--prior-std 0":                                      "expected a number above 0, found \"0\"",
		"--method lla --hyper marglik --validation 2":        "expected a number at least 0, below 1, found \"2\"",
		"--validation 0.1 --validation-data test.csv":        "[validation validation-data]",
		"--memory much":                                      "an amount of memory such as 512MiB or 4GiB",
		"--method gp-subset --points 3 --weights last-layer": "--weights goes with --method " + takers("weights") + ", found --method gp-subset",
	} {
		fails(t, dir, 2, want, append([]string{"fit", "train.csv", "--model", "map.valla", "--out", "x.valla"}, strings.Fields(args)...)...)
	}
	fails(t, dir, 2, "--net-weights last-layer: expected a file; which weights are uncertain goes with --weights",
		"fit", "train.csv", "--net-weights", "last-layer", "--activation", "tanh", "--out", "x.valla")
}

// TestFitOptimizers: there are several optimizers of VaLLA, with steps of their own.
func TestFitOptimizers(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	for given, want := range map[string]struct {
		iterations int
		rate       float64
	}{
		"natural":                {200, 1e-2 * math.Sqrt(1000/200.)},
		"adam --iterations 4000": {4000, 1e-3},
	} {
		args := append([]string{"fit", "train.csv", "--model", "map.valla", "--inducing", "8", "--patience", "0", "--out", "n.valla", "--json", "--optimizer"}, strings.Fields(given)...)
		var r report
		decode(t, must(t, dir, args...), &r)
		if r.Event.Result.Iterations != want.iterations || r.setting("learning-rate") != want.rate || r.Event.Settings["optimizer"] != strings.Fields(given)[0] {
			t.Errorf("%s: recorded %+v, want %+v", given, r.Event, want)
		}
	}
	must(t, dir, "eval", "train.csv", "--model", "n.valla")
	fails(t, dir, 2, "--optimizer goes with --method valla", "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--optimizer", "natural", "--out", "x.valla")
	fails(t, dir, 2, "natural, adam", "fit", "train.csv", "--model", "map.valla", "--optimizer", "sgd", "--out", "x.valla")
}

// TestValidationData: rows of a file take the place of a fraction, and a fit in one pass
// says that it keeps no checkpoint.
func TestValidationData(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	var r report
	decode(t, must(t, dir, with(quickFit, "fit", "train.csv", "--model", "map.valla", "--validation-data", "test.csv", "--memory", "1GiB", "--out", "v.valla", "--json")...), &r)
	if r.Event.Rows != 200 || r.Event.ValidationRows != 100 {
		t.Errorf("%d rows to train, %d to validate, want 200 and 100", r.Event.Rows, r.Event.ValidationRows)
	}
	fails(t, dir, 1, "none.csv: no such file", "fit", "train.csv", "--model", "map.valla", "--validation-data", "none.csv", "--out", "x.valla")
	got := run(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--checkpoint", "c.zip", "--out", "l.valla")
	if got.code != 0 || besideVerdict(got.stderr) != "valla: note: No checkpoint was written: the fit is one pass over the data.\n" {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
}
