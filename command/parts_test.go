package command_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// same fails unless two files have the same bytes.
func same(t *testing.T, dir, a, b string) {
	t.Helper()
	x, err := os.ReadFile(filepath.Join(dir, a))
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(filepath.Join(dir, b))
	if err != nil {
		t.Fatal(err)
	}
	if len(x) == 0 || !bytes.Equal(x, y) {
		t.Errorf("%s of %d bytes differs from %s of %d", a, len(x), b, len(y))
	}
}

// TestPredictParts: in parts, in one process or in an array of jobs, the predictions equal the
// loop's predictions, byte for byte.
func TestPredictParts(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	writeTable(t, filepath.Join(dir, "new.csv"), example(1500, 4), "a", "b")
	must(t, dir, "predict", "new.csv", "--model", "m.valla", "--out", "p.csv")
	r := must(t, dir, "predict", "new.csv", "--model", "m.valla", "--parts", "shards", "--part-size", "8KiB", "--out", "q.csv")
	if !strings.Contains(r, "wrote 1500 predictions of") {
		t.Errorf("stdout %q", r)
	}
	same(t, dir, "p.csv", "q.csv")
	quantiles := []string{"predict", "new.csv", "--model", "m.valla", "--quantiles", "0.05,0.5,0.999", "--above", "5,7.5"}
	must(t, dir, with(quantiles, "--out", "pq.csv")...)
	must(t, dir, with(quantiles, "--parts", "quantiles", "--part-size", "8KiB", "--out", "qq.csv")...)
	same(t, dir, "pq.csv", "qq.csv")
	fails(t, dir, 1, "its options are", "predict", "new.csv", "--model", "m.valla", "--parts", "quantiles", "--part-size", "8KiB")
	array := func(k string) []string {
		return []string{"predict", "new.csv", "--model", "m.valla", "--parts", "array", "--part-size", "8KiB", "--part", k}
	}
	must(t, dir, array("2/3")...)
	must(t, dir, array("0/3")...)
	fails(t, dir, 1, "are not finished: 1, 4", "merge", "array", "--out", "r.csv")
	must(t, dir, array("1/3")...)
	fails(t, dir, 2, "expected a file called .csv", "merge", "array", "--out", "r.npz")
	must(t, dir, "merge", "array", "--out", "r.csv")
	same(t, dir, "p.csv", "r.csv")

	for want, args := range map[string][]string{
		"expected K/N":                {"predict", "new.csv", "--model", "m.valla", "--parts", "other", "--part", "3/3"},
		"--part goes with --parts":    {"predict", "new.csv", "--model", "m.valla", "--part", "0/3"},
		"joins the parts":             {"predict", "new.csv", "--model", "m.valla", "--parts", "other", "--part", "0/3", "--out", "x.csv"},
		"expected a file called .csv": {"predict", "new.csv", "--model", "m.valla", "--parts", "other", "--out", "x.npz"},
		"standard input":              {"predict", "-", "--model", "m.valla", "--parts", "other"},
	} {
		fails(t, dir, 2, want, args...)
	}
	fails(t, dir, 1, "another pass", "predict", "new.csv", "--model", "map.valla", "--parts", "array", "--part-size", "8KiB")
	fails(t, dir, 1, "has changed", touched(t, dir, "new.csv", "merge", "array", "--out", "r.csv")...)
}

// touched returns arguments after it has changed a file.
func touched(t *testing.T, dir, name string, args ...string) []string {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("1,2\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return args
}

// TestFitPasses: the posterior of a sample is made anew from all rows of several files; the model
// does not depend on how many processes there were.
func TestFitPasses(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	for i := range 2 {
		writeTable(t, filepath.Join(dir, fmt.Sprintf("all%d.csv", i)), example(1000, uint64(5+i)))
	}
	must(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--structure", "kfac", "--out", "kfac.valla")
	for _, m := range []string{"m", "kfac"} {
		all := func(more ...string) []string {
			return append([]string{"fit", "all0.csv", "all1.csv", "--model", m + ".valla", "--part-size", "8KiB"}, more...)
		}
		must(t, dir, all("--passes", m+"1", "--out", "one.valla", "--validation-data", "test.csv")...)
		for _, k := range []string{"1/2", "0/2"} {
			must(t, dir, all("--passes", m+"2", "--part", k)...)
		}
		must(t, dir, "merge", m+"2", "--out", "two.valla", "--validation-data", "test.csv")
		same(t, dir, "one.valla", "two.valla")
		r := must(t, dir, "eval", "test.csv", "--model", "one.valla")
		if !strings.Contains(r, "100 rows") {
			t.Errorf("stdout %q", r)
		}
	}
	fails(t, dir, 2, "--inducing with --passes", "fit", "all0.csv", "--model", "m.valla", "--passes", "x", "--inducing", "3", "--out", "y.valla")
	fails(t, dir, 2, "needs --out", "fit", "all0.csv", "--model", "m.valla", "--passes", "x")
	fails(t, dir, 1, "no posterior", "fit", "all0.csv", "--model", "map.valla", "--passes", "x", "--out", "y.valla")
}
