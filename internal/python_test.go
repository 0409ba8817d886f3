package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// TestWheel: a wheel is installed without a network, in an empty environment beside the system's packages. In an empty folder
// its command works, and a torch network gets error bars.
func TestWheel(t *testing.T) {
	t.Parallel()
	dir, empty := t.TempDir(), t.TempDir()
	if out, err := exec.Command("git", "rev-parse", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("this is no checkout: %v %s", err, out)
	}
	venv := python(t, "numpy, torch, venv, ensurepip", "-m", "venv", "--system-site-packages", filepath.Join(dir, "venv"))
	make := []string{"run", "./internal/release", "wheel", "--platform", runtime.GOOS + "/" + runtime.GOARCH, "--out", dir}
	if os.Getenv("VALLA_LONG") == "" { // otherwise the static program is built
		make = append(make, "--program", command(t))
	}
	execute(t, "..", "go", make...)
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("wheels %q, error %v", wheels, err)
	}
	if out, err := venv.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bin := filepath.Join(dir, "venv", "bin")
	execute(t, empty, filepath.Join(bin, "pip"), "install", "--no-index", "--no-deps", "--quiet", wheels[0])
	if out := execute(t, empty, filepath.Join(bin, "valla"), "version"); !strings.Contains(string(out), "platform") {
		t.Errorf("version printed %q", out)
	}
	execute(t, empty, filepath.Join(bin, "valla"), "demo")
	if _, err := os.Stat(filepath.Join(empty, "runs", "demo", "demo.png")); err != nil {
		t.Error(err)
	}
	out := execute(t, empty, filepath.Join(bin, "python3"), "-c", `
import torch, valla
X = torch.randn(100, 2); y = X[:, 0] + torch.randn(100) / 10
net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
model = valla.fit(net.eval(), X, y, iterations=20)
print(model.predict(X)["std"].shape, valla.__file__)`)
	if !strings.Contains(string(out), "(100,)") || !strings.Contains(string(out), dir) {
		t.Errorf("printed %q", out)
	}
}
