package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// comparison is what valla compare --json prints, as far as the tests look at it.
type comparison struct {
	Rows, Train, Folds  int
	Seen                bool
	Recommended, Advice string
	Results             []struct {
		Name, Label, Settings string
		NLL                   float64
		Scores                map[string]float64
		Coverage, Width       *float64
	}
	Intervals *struct {
		Name  string
		Width float64
	}
	LeftOut []struct{ Name, Reason string } `json:"left_out"`
}

// TestCompareNumbers: the table of a few methods, as text and as JSON.
func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	writeTable(t, filepath.Join(dir, "held.csv"), example(120, 3))
	args := []string{"compare", "train.csv", "--model", "m.valla", "--validation", "held.csv", "--methods", "temperature,conformal,lla-kfac,gapa,mean-variance,quantiles", "--budget", "2m"}
	out := must(t, dir, args...)
	for _, want := range []string{"on 120 rows held out (in 2 folds)", "posteriors fitted to 200 rows", "MAP, temperature", "mean-variance network", "\nquantile network, no likelihood: 95 % hold ", "MAP, conformal", "LLA KFAC", "GAPA", "CRPS", "95 % hold", "µs/row", "\nTake "} {
		if !strings.Contains(out, want) {
			t.Errorf("compare printed\n%swant %q", out, want)
		}
	}
	var c comparison
	if err := json.Unmarshal([]byte(must(t, dir, append(args, "--json")...)), &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Results) != 6 || c.Intervals == nil || c.Intervals.Name != "quantiles" || !(c.Intervals.Width > 0) || c.Rows != 120 || c.Folds != 2 || c.Seen || !strings.Contains(out, c.Advice) || c.Results[5].NLL < c.Results[0].NLL || c.Results[0].Coverage == nil {
		t.Errorf("as JSON: %+v\nas text: %s", c, out)
	}
	fails(t, dir, 2, `contender "mcmc", expected one of map, temperature`, "compare", "train.csv", "--model", "m.valla", "--methods", "mcmc")
	fails(t, dir, 2, `invalid argument "soon" for "--budget"`, "compare", "train.csv", "--model", "m.valla", "--budget", "soon")
}

// TestCompareClasses: scores of classes, and what took too long with its reason.
func TestCompareClasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), species(example(300, 1)))
	must(t, dir, with(quickTrain, "train", "train.csv", "--classes", "--validation", "0.3", "--out", "map.valla")...)
	out := must(t, dir, "compare", "train.csv", "--model", "map.valla", "--methods", "temperature,conformal,valla", "--budget", "5s", "--folds", "5")
	for _, want := range []string{"on 90 rows held out", "ACC", "ECE", "Brier", "classes", "left out: VaLLA 100: ", "of the budget\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("compare printed\n%swant %q", out, want)
		}
	}
}

// TestCompareInterrupted: Ctrl-C prints what has finished, with the exit code 130. It comes when the
// program has read its standard input.
func TestCompareInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to other processes")
	}
	dir := fitted(t)
	writeTable(t, filepath.Join(dir, "large.csv"), example(2500, 1))
	table, err := os.ReadFile(filepath.Join(dir, "large.csv"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := program("compare", "-", "--model", "m.valla")
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = in.Write(table)
	}
	if err == nil {
		err = errors.Join(in.Close(), cmd.Process.Signal(os.Interrupt))
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // whose exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(stderr.String(), "interrupted; the comparison has the finished methods") || !strings.Contains(stdout.String(), ": interrupted\n") {
		t.Errorf("exit code %d, stdout %s, stderr %s", code, &stdout, &stderr)
	}
}
