package command_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/train"
)

// interrupted starts a fit, sends Ctrl-C as soon as the checkpoint exists, and returns the
// result.
func interrupted(t *testing.T, dir, checkpoint string, args ...string) result {
	t.Helper()
	cmd := program(args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	for {
		if _, err := os.Stat(filepath.Join(dir, checkpoint)); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		select {
		case <-ended:
			t.Fatalf("the fit ended before its first checkpoint: %s", &stderr)
		case <-time.After(2 * time.Millisecond):
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-ended
	return result{stdout.String(), progressLines.ReplaceAllString(stderr.String(), ""), cmd.ProcessState.ExitCode()}
}

// TestInterruptAndResume stops a fit, looks at the files that the fit left, and goes on.
// The result must be the result of a fit that was not stopped.
func TestInterruptAndResume(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to other processes")
	}
	for _, optimizer := range []string{"natural", "adam"} {
		t.Run(optimizer, func(t *testing.T) { testInterruptAndResume(t, optimizer) })
	}
}

func testInterruptAndResume(t *testing.T, optimizer string) {
	dir := fitted(t)
	args := []string{"fit", "train.csv", "--model", "map.valla", "--optimizer", optimizer, "--inducing", "6", "--batch-size", "20",
		"--iterations", "4000", "--validation", "0", "--patience", "0"}
	must(t, dir, with(args, "--out", "whole.valla")...)

	r := interrupted(t, dir, "c.zip", with(args, "--out", "part.valla", "--checkpoint", "c.zip")...)
	if said := besideVerdict(r.stderr); r.code != 130 || !strings.HasPrefix(said, "valla: interrupted after ") || !strings.HasSuffix(said, "part.valla holds the best state so far\n") {
		t.Fatalf("exit code %d, stderr %q", r.code, r.stderr)
	}
	m, err := valla.Load(filepath.Join(dir, "part.valla"))
	if err != nil {
		t.Fatal(err)
	}
	run := m.History[len(m.History)-1].Result
	if m.Posterior == nil || run.Stopped != train.Interrupted || run.Iterations < 50 || run.Iterations >= 4000 {
		t.Errorf("interrupted run %+v", run)
	}
	must(t, dir, "eval", "test.csv", "--model", "part.valla")

	must(t, dir, with(args, "--out", "resumed.valla", "--checkpoint", "c.zip", "--resume")...)
	whole := must(t, dir, "predict", "test.csv", "--model", "whole.valla")
	if got := must(t, dir, "predict", "test.csv", "--model", "resumed.valla"); got != whole {
		t.Error("the resumed fit predicts other numbers than the one that was not stopped")
	}
	if got := must(t, dir, "predict", "test.csv", "--model", "part.valla"); got == whole {
		t.Error("the interrupted fit predicts the numbers of the whole one: the test shows nothing")
	}
	fails(t, dir, 1, "c.zip", with(args, "--out", "x.valla", "--checkpoint", "c.zip", "--resume", "--learning-rate", "0.5")...)
}

// TestTrainResumes: a training goes on from its checkpoint, with its own settings only.
func TestTrainResumes(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(100, 1))
	args := with(quickTrain, "train", "train.csv", "--checkpoint", "c.zip")
	must(t, dir, with(args, "--out", "whole.valla")...)
	must(t, dir, with(args, "--out", "again.valla", "--resume")...) // no step is left
	if must(t, dir, "predict", "train.csv", "--model", "again.valla") != must(t, dir, "predict", "train.csv", "--model", "whole.valla") {
		t.Error("the resumed training predicts other numbers")
	}
	fails(t, dir, 1, "c.zip", with(args, "--out", "x.valla", "--resume", "--learning-rate", "0.5")...)
	fails(t, dir, 2, "--resume needs --checkpoint", "train", "train.csv", "--resume", "--out", "x.valla")
}
