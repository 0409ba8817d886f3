package command_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/command"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/npy"
)

// asCommand is the variable of the environment that makes the binary of the tests run as the command.
const asCommand = "VALLA_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		command.Main()
	}
	os.Exit(m.Run())
}

// program returns the command with arguments, as a process that has not begun.
func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// result is what one run of the command gave.
type result struct {
	stdout, stderr string
	code           int
}

// run runs the command in a folder.
func run(t *testing.T, dir string, args ...string) result {
	t.Helper()
	cmd := program(args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), progressLines.ReplaceAllString(stderr.String(), ""), cmd.ProcessState.ExitCode()}
}

// progressLines matches the lines about progress, which a run prints on a busy machine, and the
// estimate before a fit.
var progressLines = regexp.MustCompile(`(?m)^([^:\n]+: \d+ of \d+ (steps|rows), .* s( left)?|valla: estimate: .* takes about .*)\n`)

// must runs a command that has to succeed without a word on stderr.
func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	r := run(t, dir, args...)
	if r.code != 0 || besideVerdict(r.stderr) != "" {
		t.Fatalf("valla %s: exit code %d, stderr %q", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// onFits start the lines on stderr that say how good a fit is, which depends on the data.
var onFits = []string{"warning: These error bars", "note: The posterior adds", "note: The network is worse", "note: With a corrected mean", "note: The network is right more often", "note: The noise's", "note: The target", "note: The prior standard deviation", "note: The noise standard deviation", "note: The weights came from elsewhere"}

// besideVerdict is what stands on stderr beside them.
func besideVerdict(stderr string) string {
	var rest strings.Builder
	for line := range strings.Lines(stderr) {
		if !slices.ContainsFunc(onFits, func(start string) bool { return strings.HasPrefix(line, "valla: "+start) }) {
			rest.WriteString(line)
		}
	}
	return rest.String()
}

// fails runs a command that has to fail with one line on stderr that holds want.
func fails(t *testing.T, dir string, code int, want string, args ...string) {
	t.Helper()
	r := run(t, dir, args...)
	line, rest, _ := strings.Cut(r.stderr, "\n")
	switch {
	case r.code != code:
		t.Errorf("exit code %d, want %d; stderr %q", r.code, code, r.stderr)
	case !strings.HasPrefix(line, "valla: ") || rest != "":
		t.Errorf("stderr %q, want one line that starts with \"valla: \"", r.stderr)
	case !strings.Contains(line, want):
		t.Errorf("stderr %q, want %q in it", line, want)
	case code == 2 && !strings.Contains(line, "--help"):
		t.Errorf("stderr %q, want a hint to --help", line)
	case r.stdout != "":
		t.Errorf("stdout %q, want none", r.stdout)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if d.More() {
		t.Errorf("more than one document: %s", text)
	}
}

// example returns n rows of a, b and y = 5 + 2 sin(a) + b/50 + noise of standard
// deviation 0.2, b in hundreds.
func example(n int, seed uint64) [][3]float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	rows := make([][3]float64, n)
	for i := range rows {
		a, b := 6*rng.Float64()-3, 100+50*rng.NormFloat64()
		rows[i] = [3]float64{a, b, 5 + 2*math.Sin(a) + b/50 + 0.2*rng.NormFloat64()}
	}
	return rows
}

// writeTable writes rows of (a, b, y) to a file of the format that its name says.
// Columns of a CSV file are those asked for, all of an array's if none is.
func writeTable(t *testing.T, path string, rows [][3]float64, columns ...string) {
	t.Helper()
	if len(columns) == 0 {
		columns = []string{"a", "b", "y"}
	}
	var values []float64
	for _, r := range rows {
		for _, c := range columns {
			values = append(values, r[map[string]int{"a": 0, "b": 1, "y": 2}[c]])
		}
	}
	n, k := len(rows), len(columns)
	var err error
	switch filepath.Ext(path) {
	case ".csv":
		text := strings.Join(columns, ",") + "\n"
		for i, v := range values {
			text += strconv.FormatFloat(v, 'g', -1, 64) + map[bool]string{true: "\n", false: ","}[i%k == k-1]
		}
		err = os.WriteFile(path, []byte(text), 0o644)
	case ".npy":
		err = npy.Write(path, matrix(values, n, k))
	case ".npz":
		var x, y []float64
		for _, r := range rows {
			x, y = append(x, r[0], r[1]), append(y, r[2])
		}
		err = npy.WriteArchive(path, []string{"X", "y"}, []*tensor.Dense{matrix(x, n, 2), matrix(y, n, 1)})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func matrix(v []float64, n, k int) *tensor.Dense {
	return tensor.New(tensor.WithShape(n, k), tensor.WithBacking(v))
}

// readPredictions returns the rows of mean, std, lower and upper in CSV.
func readPredictions(t *testing.T, text string) [][]float64 {
	t.Helper()
	cells, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(cells[0], " "); got != "mean std lower upper epistemic aleatoric" {
		t.Fatalf("columns %q", got)
	}
	var rows [][]float64
	for _, line := range cells[1:] {
		var row []float64
		for _, c := range line {
			v, err := strconv.ParseFloat(c, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows
}

// Settings that make tests quick.
var (
	quickTrain = []string{"--hidden", "10", "--iterations", "400", "--batch-size", "50"}
	quickFit   = []string{"--inducing", "8", "--iterations", "200", "--batch-size", "50", "--patience", "0", "--law", "gaussian"}
)

func with(args []string, more ...string) []string {
	return append(append([]string(nil), args...), more...)
}

// fitted makes map.valla and m.valla from train.csv in a folder.
func fitted(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "train.csv"), example(200, 1))
	writeTable(t, filepath.Join(dir, "test.csv"), example(100, 2))
	must(t, dir, with(quickTrain, "train", "train.csv", "--target", "y", "--out", "map.valla")...)
	must(t, dir, with(quickFit, "fit", "train.csv", "--model", "map.valla", "--out", "m.valla")...)
	return dir
}

// sure divides the standard deviation of the noise of m by a hundred.
func sure(t *testing.T, m *valla.Model) {
	t.Helper()
	r, ok := m.Task.Outputs.(*task.Regression)
	if !ok {
		t.Fatal("no regression")
	}
	r.NoiseVariance /= 1e4
}

// unevenTable writes n rows of a, b and y = 0.3 b + noise, of standard deviation 0.01 where
// a < 0 and 3a² elsewhere.
func unevenTable(t *testing.T, path string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 0))
	rows := make([][3]float64, n)
	for i := range rows {
		a, b, std := 4*rng.Float64()-2, 4*rng.Float64()-2, 0.01
		if a >= 0 {
			std = 3 * a * a
		}
		rows[i] = [3]float64{a, b, 0.3*b + std*rng.NormFloat64()}
	}
	writeTable(t, path, rows)
}
