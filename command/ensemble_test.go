package command_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEnsemble: several networks of one training, and models of several trainings, are fitted, exported and scored as one
// model, and what an ensemble cannot do is refused in one line.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "d.csv"), example(200, 1))
	must(t, dir, with(quickTrain, "train", "d.csv", "--out", "two.valla", "--networks", "2")...)
	must(t, dir, with(quickTrain, "train", "d.csv", "--out", "one.valla")...)
	must(t, dir, "fit", "d.csv", "--model", "two.valla", "--iterations", "20", "--inducing", "5", "--out", "a.valla")
	r := run(t, dir, "fit", "d.csv", "--model", "two.valla,one.valla", "--method", "lla", "--out", "b.valla")
	if r.code != 0 || !strings.Contains(r.stdout, "3 × LLA") {
		t.Errorf("fit: %+v", r)
	}
	must(t, dir, "fit", "d.csv", "--model", "two.valla", "--method", "lla", "--weights", "*/dense1.weight", "--out", "c.valla")
	for _, model := range []string{"a.valla", "b.valla", "two.valla"} {
		if r := run(t, dir, "eval", "d.csv", "--model", model); r.code != 0 {
			t.Errorf("eval: %+v", r)
		}
		if one, parts := must(t, dir, "predict", "d.csv", "--model", model), must(t, dir, "predict", "d.csv", "--model", model, "--parts", model+".parts"); one == "" || parts == "" {
			t.Errorf("predict printed %q, in parts %q", one, parts)
		}
		if r := run(t, dir, "report", "d.csv", "--model", model, "--out", "page.html"); r.code != 0 {
			t.Errorf("report: %+v", r)
		}
		must(t, dir, "export", model, "--data", "d.csv", "--out", "net.onnx")
	}
	for want, args := range map[string][]string{
		"rows cannot be added to an ensemble": {"update", "d.csv", "--model", "b.valla", "--out", "c.valla"},
		"an ensemble of networks is no":       {"fit", "d.csv", "--model", "b.valla", "--passes", "sums", "--out", "c.valla"},
		"none.valla":                          {"fit", "d.csv", "--model", "one.valla,none.valla", "--out", "c.valla"},
	} {
		if r := run(t, dir, args...); r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: %+v, want %q", args, r, want)
		}
	}
}
