package internal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outside is the folder of a module of its own.
const outside = "../testdata/outside"

// TestOutside: a module of its own registers a method, a layer and a form of network. Its program fits, saves,
// loads and predicts with them, and the command that imports its package has them in its list, its help and its
// flags, reads the program's model file, and runs experiments with the method. Nothing is downloaded.
func TestOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	work := t.TempDir()
	t.Setenv("GOPROXY", "off")
	program, command := filepath.Join(work, "program"), filepath.Join(work, "valla")
	runIn(t, "..", "go", "build", "-overlay", overlay(t, work), "-o", command, "./cmd/valla")
	t.Setenv("GOWORK", workspace(t, work))
	runIn(t, outside, "go", "build", "-o", program, ".")
	out := runIn(t, work, program, work)
	for _, want := range []string{"Thrifty of funnel of 8, trust 2", "the same prediction: true", "compared: true"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the output of the program:\n%s", want, out)
		}
	}
	if err := os.WriteFile(filepath.Join(work, "t.csv"), []byte("x\n0.5\n-1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"method list":                       "LLA of the last layer, with a prior that is given.",
		"method show thrifty":               "│ --trust │ NUMBER │ 2 │ above 0",
		"fit --method thrifty --help":       "--trust",
		"compare --help":                    "thrifty",
		"predict t.csv --model model.valla": "mean,std",
		"fit t.csv --model model.valla --method nobody --out x.valla": "sngp, thrifty",
	} {
		if out, _ := outputOf(work, command, strings.Fields(line)...); !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("valla %s: %q is not in\n%s", line, want, out)
		}
	}
}

// workspace writes a file that makes both modules main modules, so that their packages come from the cache of
// builds, and returns its path.
func workspace(t *testing.T, work string) string {
	t.Helper()
	file := filepath.Join(work, "go.work")
	text := fmt.Sprintf("go 1.26.0\n\nuse (\n\t%q\n\t%q\n)\n", absolute(t, ".."), absolute(t, outside))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// overlay adds the package of the other module to the folder of the command, and an import of the package: so
// the command is built with the requirements of this module.
func overlay(t *testing.T, work string) string {
	t.Helper()
	file, list, command := filepath.Join(work, "import.go"), filepath.Join(work, "overlay.json"), absolute(t, "../cmd/valla")
	replace := map[string]string{filepath.Join(command, "outside.go"): file}
	sources, err := filepath.Glob(filepath.Join(absolute(t, outside), "parts", "*.go"))
	for _, source := range sources {
		replace[filepath.Join(command, "parts", filepath.Base(source))] = source
	}
	if err == nil {
		err = os.WriteFile(file, []byte("package main\n\nimport _ \""+module+"/cmd/valla/parts\"\n"), 0o644)
	}
	text, _ := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(list, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// runIn returns the output of a program that must succeed.
func runIn(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	out, err := outputOf(folder, name, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return out
}

// outputOf returns the output of a program, and whether it has failed.
func outputOf(folder, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}
