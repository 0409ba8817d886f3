package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemPython is the interpreter with the packages of the system, such as NumPy and torch. Another one may come first on the
// PATH.
const systemPython = "/usr/bin/python3"

// python returns a command of the interpreter that has packages, or skips the test. It runs in the folder python, with the
// program and one thread.
func python(t *testing.T, packages string, args ...string) *exec.Cmd {
	t.Helper()
	if out, err := exec.Command(systemPython, "-c", "import "+packages).CombinedOutput(); err != nil {
		t.Skipf("no %s with the packages %s: %v %s", systemPython, packages, err, out)
	}
	cmd := exec.Command(systemPython, args...)
	cmd.Dir = filepath.Join("..", "python")
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "GOMAXPROCS=1", "PYTHONDONTWRITEBYTECODE=1", "VALLA_PROGRAM="+command(t))
	return cmd
}

// TestPython runs the tests of the Python package and the blocks of its page.
func TestPython(t *testing.T) {
	t.Parallel()
	out, err := python(t, "numpy, torch", "-m", "unittest", "-b").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\nRan ") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestPythonTypes: the annotations of the package are complete and right.
func TestPythonTypes(t *testing.T) {
	t.Parallel()
	out, err := python(t, "numpy, mypy", "-m", "mypy", "--strict", "--cache-dir="+t.TempDir(), "valla").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
