package internal_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outside is the folder of a module of its own.
const outside = "../testdata/outside"

// TestOutside: a module of its own registers a method, a layer, a form of network and an operator of ONNX models.
// Its tests hold the method to the promises of methods and predict with the file of a model. Its program is the
// command with all four. Nothing is downloaded.
func TestOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("builds three programs")
	}
	work := t.TempDir()
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", workspace(t, work))
	program := filepath.Join(work, "program")
	execute(t, outside, "go", "test", "-vet=off", "-ldflags=-w", "./...")
	execute(t, outside, "go", "build", "-ldflags=-w", "-o", program, ".")
	write(t, filepath.Join(work, "form.json"), `{"kind": "funnel", "inputs": 1, "widest": 8}`)
	write(t, filepath.Join(work, "t.csv"), rowsOfOutside())
	write(t, filepath.Join(work, "my.yaml"), outsideExperiment)
	for _, c := range []struct {
		line string // what follows the name of the program
		want string // a part of the output, where a single space stands for any white space
	}{
		{"method list", "One covariance for all inputs."},
		{"method show offset", "│ --prior-std │ NUMBER │ 1 │ above 0"},
		{"network operators", "com.example::Swish"},
		{"network show form.json", "com.example::Swish"},
		{"fit --method offset --help", "--prior-std NUMBER offset: standard deviation of the offset before the fit"},
		{"compare --help", "offset"},
		{"train t.csv --target y --form form.json --iterations 200 --out map.valla", "funnel of 8"},
		{"fit t.csv --model map.valla --method offset --prior-std 0.5 --out m.valla", "Offset"},
		{"predict t.csv --model m.valla", "mean,std"},
		{"eval t.csv --model m.valla", "Offset"},
		{"report t.csv --model m.valla --out page.html", "page.html"},
		{"compare t.csv --model map.valla --methods offset", "Offset"},
		{"experiment run my.yaml", "Offset of two"},
		{"experiment report", "report.md"},
	} {
		out := execute(t, work, program, strings.Fields(c.line)...)
		if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), c.want) {
			t.Errorf("valla %s: %q is not in\n%s", c.line, c.want, out)
		}
	}
	for file, want := range map[string]string{"page.html": "Offset", "runs/report.md": "Offset of two"} {
		if text, err := os.ReadFile(filepath.Join(work, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q, error %v", file, want, err)
		}
	}
}

// outsideExperiment is an experiment with the method of the other module.
const outsideExperiment = `name: my
about: "a method of another module"
data: toy1d
seeds: 0
network: {form: mlp, hidden: 10, activation: tanh, dtype: float64}
map: {iterations: 200, validation: 0, keep-last: true}
methods:
  - {method: map}
  - {method: offset, label: Offset of two, prior-std: 2}
`

// rowsOfOutside returns a table of x and y = sin(x) with noise.
func rowsOfOutside() string {
	rng, text := rand.New(rand.NewPCG(1, 3)), "x,y\n"
	for range 200 {
		x := 6*rng.Float64() - 3
		text += fmt.Sprintf("%.4f,%.4f\n", x, math.Sin(x)+0.1*rng.NormFloat64())
	}
	return text
}

// workspace writes a file that makes both modules main modules, so that the packages of both come from the cache
// of builds, and returns its path. In a workspace the go command also looks for packages in modules that nothing
// here imports: the file puts an empty module in their place, so that they are not downloaded.
func workspace(t *testing.T, work string) string {
	t.Helper()
	write(t, filepath.Join(work, "empty", "go.mod"), "module empty\n")
	text := fmt.Sprintf("go 1.26.0\n\nuse (\n\t%q\n\t%q\n)\n\n", absolute(t, ".."), absolute(t, outside))
	for _, path := range []string{"google.golang.org/genproto", "github.com/grpc-ecosystem/grpc-gateway"} {
		text += "replace " + path + " => ./empty\n"
	}
	file := filepath.Join(work, "go.work")
	write(t, file, text)
	return file
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}
