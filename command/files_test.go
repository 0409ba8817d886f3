package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-valla/valla"
)

// TestInputsAreKept: no command replaces its inputs, under whatever name, nor a device.
func TestInputsAreKept(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	writeTable(t, filepath.Join(dir, "held.csv"), example(20, 3))
	writeTable(t, filepath.Join(dir, "d.npz"), example(60, 3))
	for link, to := range map[string]string{"link.csv": "train.csv", "null.valla": os.DevNull} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	before := contents(t, dir)
	for _, args := range []string{
		"train train.csv --out train.csv",
		"train train.csv --out ./link.csv",
		"train train.csv --out x.valla --checkpoint train.csv",
		"train train.csv --out x.valla --checkpoint ./x.valla",
		"fit train.csv --model map.valla --out train.csv",
		"fit train.csv --model map.valla --out x.valla --checkpoint map.valla",
		"fit train.csv --model map.valla --out map.valla",
		"fit train.csv --model m.valla --passes sums --out m.valla",
		"fit train.csv --model map.valla --out x.valla --checkpoint x.valla",
		"fit train.csv --model map.valla --out held.csv --validation-data held.csv",
		"fit train.csv --net-weights d.npz --activation tanh --out d.npz",
		"fit train.csv --net-weights . --activation tanh --out map.valla",
		"predict test.csv --model m.valla --out test.csv",
		"predict link.csv --model m.valla --out train.csv",
	} {
		fails(t, dir, 2, "it would replace", strings.Fields(args)...)
	}
	fails(t, dir, 2, "--out m.valla: it would replace a file of the folder ., which is read", "train", ".", "--out", "m.valla")
	for want, args := range map[string]string{
		"it is a folder":                "train train.csv --out .",
		"expected the name of a file":   "train train.csv --out=",
		"expected a regular file":       "train train.csv --out null.valla",
		"it is a device or a pipe":      "train train.csv --out x.valla --checkpoint null.valla",
		"--out no/p.csv: no such file":  "predict test.csv --model m.valla --out no/p.csv",
		"--checkpoint .: it is a folde": "fit train.csv --model map.valla --out x.valla --checkpoint .",
	} {
		fails(t, dir, 1, want, strings.Fields(args)...)
	}
	if after := contents(t, dir); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
}

// contents lists the files of a folder with their contents.
func contents(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Name() + " " + e.Type().String() + " ")
		if e.Type().IsRegular() {
			b.Write(readFile(t, filepath.Join(dir, e.Name())))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFolderThatCannotBeWritten is refused before the work.
func TestFolderThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(60, 1))
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	if f, err := os.CreateTemp(closed, "x"); err == nil {
		f.Close()
		t.Skip("this user may write to every folder")
	}
	for _, args := range []string{"train train.csv --out closed/x.valla", "train train.csv --out x.valla --checkpoint closed/c"} {
		fails(t, dir, 1, "permission denied", strings.Fields(args)...)
	}
}

// TestInterruptedBeside: Ctrl-C does not replace a model that is there, nor one beside it that the fit has read.
func TestInterruptedBeside(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to other processes")
	}
	dir := fitted(t)
	good := readFile(t, filepath.Join(dir, "m.valla"))
	r := interrupted(t, dir, "c.zip", "fit", "train.csv", "--model", "map.valla", "--inducing", "6", "--batch-size", "20",
		"--iterations", "40000", "--validation", "0", "--patience", "0", "--out", "m.valla", "--checkpoint", "c.zip")
	if r.code != 130 || !strings.HasSuffix(r.stderr, "m.part.valla holds the best state so far, and m.valla is as it was\n") {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
	if !bytes.Equal(good, readFile(t, filepath.Join(dir, "m.valla"))) {
		t.Error("the model was replaced")
	}
	if m, err := valla.Load(filepath.Join(dir, "m.part.valla")); err != nil || m.Posterior == nil {
		t.Errorf("the model beside it: %v", err)
	}
	read := readFile(t, filepath.Join(dir, "m.part.valla"))
	r = interrupted(t, dir, "d.zip", "fit", "train.csv", "--model", "m.part.valla", "--inducing", "6", "--batch-size", "20",
		"--iterations", "40000", "--validation", "0", "--patience", "0", "--out", "m.valla", "--checkpoint", "d.zip")
	if r.code != 130 || !strings.HasSuffix(r.stderr, "m.part.part.valla holds the best state so far, and m.valla is as it was\n") {
		t.Errorf("exit code %d, stderr %q", r.code, r.stderr)
	}
	if !bytes.Equal(read, readFile(t, filepath.Join(dir, "m.part.valla"))) {
		t.Error("the model that the fit has read was replaced")
	}
}

// TestLeftovers: the next run removes what a killed one has left, and nothing else.
func TestLeftovers(t *testing.T) {
	dir := fitted(t)
	for _, name := range []string{".valla-tmp-123", ".other.tmp-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, dir, "predict", "test.csv", "--model", "m.valla", "--out", "p.csv")
	list, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(list) != 1 || filepath.Base(list[0]) != ".other.tmp-1" {
		t.Errorf("left over: %q (%v)", list, err)
	}
}
