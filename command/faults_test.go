package command_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestErrorsAsJSON: with --json an error is one JSON object on stderr, whatever its kind.
func TestErrorsAsJSON(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"eval none.csv --model none.valla --json":      {1, "none.valla"},
		"train none.csv --json --out x.valla":          {1, "none.csv"},
		"train none.csv --json=true --out x.valla":     {1, "none.csv"},
		"train none.csv --json --iterations 0 --out x": {2, "at least 1"},
		"train none.csv --json --colour":               {2, "unknown flag"},
		"frobnicate --json":                            {2, "frobnicate"},
	} {
		r := run(t, dir, strings.Fields(args)...)
		var doc struct {
			Error string
			Code  int
		}
		decode(t, r.stderr, &doc)
		if r.code != want.code || doc.Code != want.code || !strings.Contains(doc.Error, want.text) || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("valla %s: exit code %d, stdout %q, stderr %q", args, r.code, r.stdout, r.stderr)
		}
	}
	fails(t, dir, 1, "none.csv", "train", "none.csv", "--json=false", "--out", "x.valla")
}

// TestNotesAsJSON: what a run would say on stderr is in its document.
func TestNotesAsJSON(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	r := run(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--out", "l.valla", "--checkpoint", "c", "--json")
	if r.code != 0 || r.stderr != "" || !strings.Contains(r.stdout, "No checkpoint was written") || !json.Valid([]byte(r.stdout)) {
		t.Errorf("exit code %d, stdout %s, stderr %q", r.code, r.stdout, r.stderr)
	}
}

// TestLongCell: an error quotes the start and the end of what is wrong, not megabytes.
func TestLongCell(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "long.csv"), []byte("a,b,c\n1,2,5\n3,"+strings.Repeat("x", 1_000_000)+",6\n"+strings.Repeat("4,5,6\n", 20)), 0o644); err != nil {
		t.Fatal(err)
	}
	r := run(t, dir, "train", "long.csv", "--target", "c", "--numeric", "b", "--missing", "error", "--out", "x.valla")
	if r.code != 1 || len(r.stderr) > 1100 || !strings.HasPrefix(r.stderr, `valla: long.csv:3: column "b"`) {
		t.Errorf("exit code %d, %d bytes: %.300s", r.code, len(r.stderr), r.stderr)
	}
}

// TestCrash: a crash of the runtime, here by SIGQUIT, has another exit code than wrong usage.
func TestCrash(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to other processes")
	}
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(100, 1))
	cmd := program("train", "train.csv", "--out", "m.valla", "--checkpoint", "c", "--iterations", "10000000", "--patience", "0")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := os.Stat(filepath.Join(dir, "c")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() || s.Signal() != syscall.SIGABRT {
		t.Errorf("%v, expected an abort; stderr %.200s", cmd.ProcessState, &stderr)
	}
}
