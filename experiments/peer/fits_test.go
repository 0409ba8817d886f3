package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla/experiments"
	"github.com/go-valla/valla/experiments/internal/result"
	"gorgonia.org/tensor"
)

// playedFits are rows of a table that take no time, fail or never end.
var playedFits = []fit{
	{name: "quick-a", wanted: 2, data: "rows", row: "played", own: played},
	{name: "quick-b", wanted: 3, data: "rows", row: "played", own: played},
	{name: "absent", wanted: 1, own: func(context.Context, string, *result.Cell) error { return fmt.Errorf("x.csv: %w", fs.ErrNotExist) }},
	{name: "broken", wanted: 1, own: func(context.Context, string, *result.Cell) error { return errors.New("broken") }},
	{name: "endless", wanted: 1, own: func(ctx context.Context, _ string, _ *result.Cell) error { <-ctx.Done(); return ctx.Err() }},
}

func played(_ context.Context, _ string, c *result.Cell) error {
	c.Fit = result.Cost{Wall: 1 + float64(c.Seed), CPU: float64(os.Getpid()), Peak: 5 << 20, Runs: 1, Cores: 1}
	c.Facts.Found = map[string]result.Number{"log evidence": result.Number(10 * c.Seed)}
	return nil
}

// sleeper returns work whose steps end with their context at the latest.
func sleeper(length time.Duration) func(tensor.Dtype) (*work, error) {
	return func(tensor.Dtype) (*work, error) {
		return &work{step: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(length):
			}
			return ctx.Err()
		}, values: func() values { return nil }}, nil
	}
}

// program returns the command with played rows, as a process.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, out, errs *bytes.Buffer) {
	t.Setenv("PEER_MAIN", "1")
	cmd, out, errs = exec.Command(os.Args[0], args...), new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, out, errs
}

// Each row is measured in a process of its own, and not again by a second run. A row whose data
// are absent is skipped, and one that fails does not keep others from being measured.
func TestFits(t *testing.T) {
	dir := t.TempDir()
	fit := func(names string) fitsReport {
		cmd, out, errs := program(t, "--fits", names, "--seeds", "2", "--dir", dir, "--data", dir, "--json")
		if err := cmd.Run(); (err != nil) != strings.Contains(names, "broken") {
			t.Fatalf("%v: %s", err, errs)
		}
		var r fitsReport
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		return r
	}
	first := fit("absent,broken,quick")
	if len(first.Rows) != 4 {
		t.Fatalf("rows %+v", first.Rows)
	}
	h := first.Rows[0].Here
	if h == nil || h.Seeds != 2 || h.Fit.Wall != 1.5 || h.Fit.Peak != 5<<20 || len(h.Quality) != 1 || h.Quality[0].Mean != 5 || math.Abs(h.Quality[0].Err-5) > 1e-12 {
		t.Errorf("figures %+v", h)
	}
	if a, b := h.Fit.CPU, first.Rows[1].Here.Fit.CPU; a == b || a == float64(os.Getpid()) {
		t.Errorf("processes %v and %v", a, b)
	}
	if l := first.Rows[2]; l.Here != nil || !strings.Contains(l.Note, "skipped") {
		t.Errorf("without data: %+v", l)
	}
	if l := first.Rows[3]; l.Here != nil || l.Note != "not measured" {
		t.Errorf("broken: %+v", l)
	}
	if again := fit("quick-a"); again.Rows[0].Here.Fit != h.Fit {
		t.Errorf("measured again: %+v, before %+v", again.Rows[0].Here.Fit, h.Fit)
	}
}

// Ctrl-C ends the program with the exit code 130 after a table of what was measured.
func TestInterruptedProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process can be interrupted here")
	}
	dir := t.TempDir()
	for _, c := range []struct {
		args       []string
		wait, want string
	}{
		{[]string{"--fits", "quick-a,endless", "--dir", dir, "--data", dir}, "endless, seed 0\n", "quick-a"},
		{[]string{"--steps", "3"}, "endless, float32\n", "quick"},
	} {
		cmd, out, _ := program(t, c.args...)
		cmd.Stderr = nil
		errs, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var text []byte
		for b := make([]byte, 1); !bytes.HasSuffix(text, []byte(c.wait)); text = append(text, b...) {
			if _, err := errs.Read(b); err != nil {
				t.Fatalf("%v after %s", err, text)
			}
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), "load") {
			t.Errorf("%v, output %s", err, out)
		}
	}
}

func TestChosenFits(t *testing.T) {
	names := func(list []fit) (all []string) {
		for _, f := range list {
			all = append(all, f.name)
		}
		return all
	}
	for given, want := range map[string][]string{
		"":                  names(fits),
		"resnet20":          {"resnet20", "resnet20-kfac"},
		"k-means,mnist":     {"mnist-300", "mnist-full", "k-means"},
		"mnist-300,mnist":   {"mnist-300", "mnist-full"},
		"resnet20-kfac,uci": {"uci-boston", "uci-concrete", "uci-energy", "uci-kin8nm", "uci-power", "uci-yacht", "resnet20-kfac"},
	} {
		got, err := chosenFits(given)
		if err != nil || !slices.Equal(names(got), want) {
			t.Errorf("%q: %v (%v), expected %v", given, names(got), err, want)
		}
	}
	if _, err := chosenFits("uci,mni"); err == nil || !strings.Contains(err.Error(), `no row "mni"`) || strings.Count(err.Error(), "k-means") != 1 {
		t.Errorf("error %v", err)
	}
	if code, _, errs := execute("--one", "no such"); code != 1 || !strings.Contains(errs, "no row") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := execute("--fits", "uci", "--seeds", "0"); code != 2 || !strings.Contains(errs, "--seeds 0") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// Every row of the table that is an experiment's names one row of it.
func TestFitRows(t *testing.T) {
	for _, f := range fits {
		if f.own != nil {
			continue
		}
		e, err := experiments.Open(f.experiment, f.profile)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := f.only(e.Methods)
		if err != nil || len(rows) != 1 || rows[0].Method != f.method || !slices.Contains(e.Data, f.data) || !rows[0].For(f.data) {
			t.Errorf("%s: rows %+v, error %v", f.name, rows, err)
		}
		f.row = "no such row"
		if _, err := f.only(e.Methods); err == nil || !strings.Contains(err.Error(), f.row) {
			t.Errorf("%s: error %v", f.name, err)
		}
	}
}

// A row without its data or weights says so, and nothing is trained in place of weights.
func TestFitsAbsent(t *testing.T) {
	for _, name := range []string{"uci-boston", "resnet20", "k-means"} {
		if code, _, errs := execute("--one", name, "--data", t.TempDir()+"/data", "--dir", t.TempDir()); code != exitAbsent {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
	}
}

// A published cell stands beside a row of the same data, seed and number of steps.
func TestLike(t *testing.T) {
	cell := func(steps int, seed uint64) *result.Cell {
		text := fmt.Sprintf(`[2,"d","sum",0,{},"weights",0,{},"valla",{"iterations":%d},"",0]`, steps)
		return &result.Cell{ID: result.ID{Data: "d", Row: "r", Seed: seed}, Settings: json.RawMessage(text)}
	}
	bare := &result.Cell{ID: result.ID{Data: "d", Row: "r"}}
	short := &result.Cell{ID: bare.ID, Settings: json.RawMessage(`[2,"d","",0,{},"readme",0,{},"valla",{"inducing":100},"",0]`)}
	changed := fit{set: [][2]string{{"iterations", "300"}}}
	for i, c := range []struct {
		f    fit
		p    *result.Cell
		want bool
	}{
		{fit{}, cell(300, 0), true}, {fit{}, cell(301, 0), false}, {fit{}, cell(300, 1), false},
		{fit{}, bare, true}, {changed, bare, false}, {fit{}, short, true}, {changed, short, false}, {changed, cell(300, 0), true},
	} {
		if got := c.f.like(c.p, cell(300, 0)); got != c.want {
			t.Errorf("case %d: %v", i, got)
		}
	}
}

// The table has a line for each row, with aims and published figures.
func TestFitsText(t *testing.T) {
	some := &figures{Seeds: 2, Fit: result.Cost{Wall: 3, CPU: 4, Peak: 7 << 20, Runs: 2}, Predict: result.Cost{Wall: 0.5}, Quality: []quality{{"NLL", 0.35484, 0.0003}, {"ECE", 0.01, 0}}}
	r := fitsReport{Rows: []fitLine{{Name: "a", Settings: "M = 5", Wanted: 2, WantedPre: 9, Here: some, Published: some}, {Name: "b", Note: "skipped", Wanted: 1}}}
	text := strings.Join(strings.Fields(r.text(true)), " ")
	for _, want := range []string{"| a | M = 5 | 2 | 3.00 | ≤ 2.00 | 4.00 | 7 | 0.500 (≤ 9.00) | NLL 0.3548 ± 0.0003, ECE 0.01 | 3.00 (CPU 4.00) | NLL", "| b | skipped |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, r.text(true))
		}
	}
	if !strings.Contains(r.text(false), "load") {
		t.Error("no load")
	}
}

func TestMeanDistance(t *testing.T) {
	if got := meanDistance([]float32{0, 0, 3, 4, 1, 1}, []float32{0, 0, 3, 3}, 3, 2); math.Abs(got-1) > 1e-6 {
		t.Errorf("%v, expected (0 + 1 + 2)/3", got)
	}
}
