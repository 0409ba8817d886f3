package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla/internal/settings"
	"github.com/spf13/pflag"
	"gorgonia.org/tensor"
)

// TestMain is also the driver that driver_test.go runs in place of Python, and the program itself
// with rows that take no time or for ever.
func TestMain(m *testing.M) {
	rest, settle, peakTime = time.Millisecond, time.Millisecond, time.Millisecond
	if os.Getenv("PEER_FAKE") != "" {
		fakeDriver()
		return
	}
	if os.Getenv("PEER_MAIN") != "" {
		fits = playedFits
		benchmarks = append(benchmarks[:0:0], benchmark{name: "quick step", group: dense, dtypes: single, new: sleeper(0)},
			benchmark{name: "endless step", group: dense, dtypes: single, new: sleeper(time.Hour)})
		os.Exit(run(os.Args[2:], os.Stdout, os.Stderr)) // without the name of the command
	}
	os.Exit(m.Run())
}

// run executes a command line, with exit codes like those of valla.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, f := Command{}, pflag.NewFlagSet("bench", pflag.ContinueOnError)
	c.Flags(f)
	err := f.Parse(args)
	if err == nil {
		err = c.Run(ctx, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return 130
	case errors.Is(err, settings.ErrSetting):
		return 2
	}
	return 1
}

// execute runs a command line in this process.
func execute(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

// Without a checkout, without Python or without PyTorch there is our column, and the reason.
func TestOnlyOurs(t *testing.T) {
	checkout := fakeCheckout(t)
	row := []string{"--only", "MAP step, 784", "--steps", "3"}
	for _, c := range []struct {
		why  string
		fake string
		args []string
	}{
		{"no-such-python", "", []string{"--reference", checkout, "--python", "no-such-python"}},
		{"No module named 'torch'", "no torch", []string{"--reference", checkout, "--python", os.Args[0]}},
		{"No module named 'tqdm'", "no tqdm", []string{"--reference", checkout, "--python", os.Args[0]}},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Setenv("PEER_FAKE", c.fake)
			code, out, errs := execute(append(row, c.args...)...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			if !strings.Contains(out, c.why) || !regexp.MustCompile(`float64 .* \d+\.\d`).MatchString(out) {
				t.Errorf("the table has no time or no reason:\n%s", out)
			}
		})
	}
}

// Ctrl-C ends a measurement.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Command{only: "MAP step, 784", steps: 3, within: time.Hour, progress: io.Discard}
	if err := c.table(ctx, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, expected %v", err, context.Canceled)
	}
}

// Ctrl-C while the other side works is no crash of the other side.
func TestInterruptPeer(t *testing.T) {
	for _, at := range []string{"hello", "open"} {
		t.Setenv("PEER_FAKE", "hang "+at)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		c := Command{only: "MAP step, 784", steps: 3, within: time.Hour, reference: fakeCheckout(t), python: os.Args[0], progress: io.Discard}
		if err := c.table(ctx, io.Discard); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, expected %v", at, err, context.Canceled)
		}
	}
}

// canceller cancels a context at the second line that is written to it.
type canceller struct {
	cancel func()
	lines  int
}

func (c *canceller) Write(p []byte) (int, error) {
	if c.lines++; c.lines == 2 {
		c.cancel()
	}
	return len(p), nil
}

// What was measured before Ctrl-C is printed.
func TestInterruptPrints(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := Command{only: "MAP step, 784|MAP step, 8", steps: 3, within: time.Hour, progress: &canceller{cancel: cancel, lines: -1}} // in the second row
	var out strings.Builder
	if err := c.table(ctx, &out); !errors.Is(err, context.Canceled) || !strings.Contains(out.String(), "MAP step") {
		t.Errorf("error %v, output %q", err, &out)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "--steps 2, expected 3 or more", []string{"--steps", "2"}},
		{2, "--time 0s: expected positive", []string{"--time", "0s"}},
		{2, "--only \"nothing\": no row", []string{"--only", "nothing"}},
		{2, "--only: error parsing regexp", []string{"--only", "("}},
		{1, "is no checkout of the published code", []string{"--reference", t.TempDir()}},
	} {
		code, out, errs := execute(c.args...)
		if code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d, output %q, %q; expected %d and %q", c.args, code, out, errs, c.code, c.want)
		}
	}
}

// CPU time is the time of one thread, and does not pass while nothing is computed.
func TestCPUTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the CPU time")
	}
	w, err := sleeper(50 * time.Millisecond)(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	w.clock = processClock
	if taken, err := (own{w, 1}).run(t.Context(), 1); err != nil || taken[0] > 40*time.Millisecond {
		t.Errorf("%v of CPU time in a sleep of 50 ms, error %v", taken, err)
	}
	code, out, errs := execute("--only", "MAP step, 784", "--steps", "3", "--cpu")
	if code != 0 || !strings.Contains(out, "CPU time on one thread") || !regexp.MustCompile(`float64 .* \d+\.\d`).MatchString(out) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

func TestJSON(t *testing.T) {
	code, out, errs := execute("--only", "MAP step, 784", "--steps", "3", "--json")
	if code != 0 {
		t.Fatal(errs)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 || !(r.Peak.Double > 0 && r.Peak.Single > 0) || r.Rows[0].Needed.Double <= 0 || r.Rows[1].Needed.Single <= 0 || r.Rows[0].Ours == nil || r.Rows[0].Ours.Steps != 3 || r.Rows[0].Ours.Median <= 0 || r.Rows[0].Theirs != nil {
		t.Errorf("rows %+v", r.Rows)
	}
}

var littleSweeps = []sweep{
	{"M", []int{2, 4, 8}, func(n int) sizing { return sizing{n, 2, 2, 5, 3} }},
	{"C", []int{2, 3}, func(n int) sizing { return sizing{2, 2, n, 5, 3} }},
}

// What was measured of the sweeps before Ctrl-C is printed.
func TestScalingInterrupted(t *testing.T) {
	defer func(s []sweep) { sweeps = s }(sweeps)
	sweeps = littleSweeps
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := Command{steps: 3, dir: t.TempDir(), progress: &canceller{cancel: cancel, lines: -1}} // at M = 8
	var out strings.Builder
	if err := c.scale(ctx, &out); !errors.Is(err, context.Canceled) || !strings.Contains(out.String(), "exponent") || strings.Contains(out.String(), "│ C ") {
		t.Errorf("error %v, output %q", err, &out)
	}
}

// The sweep is cut down to sizes that take no time.
func TestScaling(t *testing.T) {
	defer func(s []sweep) { sweeps = s }(sweeps)
	sweeps = littleSweeps
	dir := filepath.Join(t.TempDir(), "new")
	code, out, errs := execute("--scaling", "--steps", "3", "--dir", dir)
	if code != 0 {
		t.Fatal(errs)
	}
	for _, want := range []string{"exponent", "ms, 1 thread", "MB"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	f, err := os.Open(filepath.Join(dir, "scaling.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "scaling.svg"))
	if err != nil || !bytes.Contains(svg, []byte("1 thread")) || !bytes.Contains(svg, []byte("exponent ")) {
		t.Errorf("the SVG has no legend (%v)", err)
	}
}

// The latencies of services that take no time have percentiles in order, and a picture.
func TestLatency(t *testing.T) {
	defer func(s []service) { services = s }(services)
	one := little
	one.Outputs = 1
	services = []service{{"small", little, 3}, {"small KFAC", one, 0}}
	dir := filepath.Join(t.TempDir(), "new")
	args := []string{"--latency", "--each", "20ms", "--dir", dir}
	if runtime.GOOS == "linux" {
		args = append(args, "--cpu")
	}
	code, out, errs := execute(args...)
	if code != 0 || !strings.Contains(out, "p99.9") || !strings.Contains(out, "small KFAC") {
		t.Fatalf("%s%s", out, errs)
	}
	for _, ext := range []string{".png", ".svg"} {
		if b, err := os.ReadFile(filepath.Join(dir, "latency"+ext)); err != nil || len(b) < 1000 {
			t.Errorf("picture of %d bytes, error %v", len(b), err)
		}
	}
	var r latencyReport
	if code, out, errs = execute("--latency", "--each", "20ms", "--dir", dir, "--json"); code != 0 {
		t.Fatal(errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Rows) != 4 {
		t.Fatalf("rows %v, error %v", r.Rows, err)
	}
	for _, l := range r.Rows {
		if !(l.OneOf[2] > 0 && l.OneOf[10] >= l.OneOf[2]) || l.Calls < 10 {
			t.Errorf("%+v", l)
		}
	}
	if code, _, errs = execute("--latency", "--each", "0s"); code != 2 || !strings.Contains(errs, "--each 0s") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// The two sides agree and are timed, where the environment names a checkout and there is
// a Python with PyTorch.
func TestReference(t *testing.T) {
	reference, python := os.Getenv("VALLA_REFERENCE"), os.Getenv("VALLA_PYTHON")
	if reference == "" {
		t.Skip("VALLA_REFERENCE names no checkout of the authors' code")
	}
	if python == "" {
		python = "python3"
	}
	code, out, errs := execute("--reference", reference, "--python", python, "--json", "--steps", "3", "--only", "regression.*M = 100|MAP step, 784")
	if code != 0 {
		t.Fatal(errs)
	}
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Note != "" {
		t.Skip(r.Note)
	}
	for _, x := range r.Rows {
		if x.Theirs == nil || x.Difference == nil {
			t.Errorf("%s, %s: nothing from the other side: %s", x.Name, x.Dtype, x.Note)
		}
	}
}
