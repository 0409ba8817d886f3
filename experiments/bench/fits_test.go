package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// playedFits are rows of a table that take no time, would take very long, fail or never end.
var playedFits = []fit{
	{name: "quick-a", data: "rows", row: "played", own: played},
	{name: "quick-b", data: "rows", row: "played", own: played},
	{name: "weeks", cpu: 1e9, own: played},
	{name: "broken", own: func(context.Context, string, *result.Cell) error { return errors.New("broken") }},
	{name: "endless", own: func(ctx context.Context, _ string, _ *result.Cell) error { <-ctx.Done(); return ctx.Err() }},
}

func played(_ context.Context, _ string, c *result.Cell) error {
	c.Fit = result.Cost{Wall: 1 + float64(c.Seed), CPU: float64(os.Getpid()), Peak: 5 << 20, Runs: 1, Cores: 1, Needed: result.Operations{Double: 4e9, Single: 2e9}}
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
	cmd, out, errs = exec.Command(os.Args[0], append([]string{"bench"}, args...)...), new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, out, errs
}

// Each row is measured in a process of its own, and not again by a second run. A row for which there is no time is left out, and
// a row that fails does not keep others from being measured. The floor is that of the operations at the speed of a core.
func TestFits(t *testing.T) {
	dir := t.TempDir()
	fit := func(only string) report {
		cmd, out, errs := program(t, "--only", only, "--seeds", "2", "--dir", dir, "--json")
		if err := cmd.Run(); (err != nil) != strings.Contains(only, "broken") {
			t.Fatalf("%v: %s", err, errs)
		}
		var r report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		return r
	}
	first := fit("weeks|broken|^quick-")
	if len(first.Fits) != 4 {
		t.Fatalf("fits %+v", first.Fits)
	}
	h := first.Fits[0].Here
	if h == nil || h.Seeds != 2 || h.Fit.Wall != 1.5 || h.Fit.Peak != 5<<20 || len(h.Quality) != 1 || h.Quality[0].Mean != 5 || math.Abs(h.Quality[0].Err-5) > 1e-12 {
		t.Errorf("figures %+v", h)
	}
	if want := 4e9/first.Peak.Double + 2e9/first.Peak.Single; math.Abs(first.Fits[0].Floor-want) > 1e-9*want {
		t.Errorf("floor %v, expected %v", first.Fits[0].Floor, want)
	}
	if a, b := h.Fit.CPU, first.Fits[1].Here.Fit.CPU; a == b || a == float64(os.Getpid()) {
		t.Errorf("processes %v and %v", a, b)
	}
	if l := first.Fits[2]; l.Here != nil || !strings.Contains(l.Note, "left out: it takes about ") || !strings.Contains(l.Note, "--time 10m0s") {
		t.Errorf("without time: %+v", l)
	}
	if l := first.Fits[3]; l.Here != nil || l.Note != "not measured" {
		t.Errorf("broken: %+v", l)
	}
	if again := fit("quick-a"); again.Fits[0].Here.Fit != h.Fit {
		t.Errorf("measured again: %+v, before %+v", again.Fits[0].Here.Fit, h.Fit)
	}
}

// A fit that does not end within the time is stopped, which is no error.
func TestOutOfTime(t *testing.T) {
	cmd, out, errs := program(t, "--only", "endless$|quick-", "--time", "3s")
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "stopped after --time 3s") {
		t.Errorf("error %v, output %s%s", err, out, errs)
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
		{[]string{"--only", "quick-a|endless$", "--dir", dir}, "endless, seed 0\n", "quick-a"},
		{[]string{"--only", "step", "--steps", "3"}, "endless step, float32\n", "quick step"},
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

// A row that is not in the table is refused, and so is a number of seeds without a fit.
func TestWrongFits(t *testing.T) {
	if code, _, errs := execute("--one", "no such"); code != 2 || !strings.Contains(errs, "no row") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := execute("--only", "uci", "--seeds", "0"); code != 2 || !strings.Contains(errs, "--seeds 0") {
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

// A row without its data has made rows, which say so, and the operations of the fit and of its predictions.
func TestFitsMade(t *testing.T) {
	for _, args := range [][]string{nil, {"--data", t.TempDir() + "/data"}} {
		dir := t.TempDir()
		if code, _, errs := execute(append(args, "--one", "uci-yacht", "--dir", dir)...); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		r := report{Peak: peak{1e9, 1e9}}
		c, yacht := Command{}, fits[slices.IndexFunc(fits, func(f fit) bool { return f.name == "uci-yacht" })]
		if err := c.addLines(&r, []fit{yacht}, nil, dir); err != nil || len(r.Fits) != 1 {
			t.Fatalf("lines %+v, error %v", r.Fits, err)
		}
		l := r.Fits[0]
		if !l.Made || l.Here == nil || l.Here.Quality != nil || l.Published != nil || l.Settings != "M = 100, 200 steps, made rows, "+result.Plural(runtime.GOMAXPROCS(0), "thread") {
			t.Errorf("%q: line %+v", args, l)
		}
		// 200 steps of 100 rows take 40 million operations each, and 31 predictions 53,000 and C·M² each.
		if l.Floor < 200*0.035 || l.Floor > 200*0.045 || l.Predict < 31*50e-6 || l.Predict > 31*80e-6 {
			t.Errorf("%q: floors %v and %v", args, l.Floor, l.Predict)
		}
	}
}

// A measurement of made rows is not one of a data set, and the line of a row has no seeds of the other kind of rows.
func TestFitsSource(t *testing.T) {
	there, dir := false, t.TempDir()
	f := fit{name: "k-means", data: "rows", row: "played", own: func(_ context.Context, folder string, c *result.Cell) error {
		c.Fit.Runs = 1
		switch {
		case folder == "":
			c.Facts.Note = result.MadeNote
		case !there:
			return fs.ErrNotExist
		}
		return nil
	}}
	for _, c := range []struct {
		data        string
		there, made bool
		run, seeds  int // seeds to run, and in the line then
	}{{"", false, true, 2, 2}, {"data", false, true, 2, 2}, {"data", true, false, 1, 1}, {"", true, true, 1, 2}, {"data", true, false, 2, 2}} {
		there = c.there
		for seed := range c.run {
			if err := f.alone(t.Context(), &Command{data: c.data, dir: dir, seed: seed, progress: io.Discard}); err != nil {
				t.Fatal(err)
			}
		}
		var r report
		if err := (&Command{}).addLines(&r, []fit{f}, nil, dir); err != nil {
			t.Fatal(err)
		}
		if l := r.Fits[0]; l.Made != c.made || l.Here == nil || l.Here.Seeds != c.seeds {
			t.Errorf("%+v: made %v, figures %+v", c, l.Made, l.Here)
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

// The table has a line for each row, with floors and published figures, and no column that no row has.
func TestFitsText(t *testing.T) {
	some := &figures{Seeds: 2, Fit: result.Cost{Wall: 3, CPU: 4, Peak: 7 << 20, Runs: 2}, Predict: result.Cost{Wall: 0.5, CPU: 1}, Quality: []quality{{"NLL", 0.35484, 0.0003}, {"ECE", 0.01, 0}}}
	r := report{Fits: []fitLine{{Name: "a", Settings: "M = 5", Here: some, Floor: 2, Predict: 0.25, Published: some}, {Name: "b", Note: "skipped"}}}
	text := strings.Join(strings.Fields(r.fitsText(true)), " ")
	for _, want := range []string{"| a | M = 5 | 2 | 3.00 | 4.00 | 2.00 | × 2.00 | 7 | 1.00 | 0.250 | × 4.00 | NLL 0.3548 ± 0.0003, ECE 0.01 | 3.00 (CPU 4.00) | NLL", "| b | skipped |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, r.fitsText(true))
		}
	}
	r.Fits[0].Published = nil
	if strings.Contains(r.fitsText(false), "published") || !strings.Contains(r.text(false), "load") || !strings.Contains(r.text(true), "A core makes") {
		t.Errorf("a column that no row has, or no head:\n%s", r.text(false))
	}
}

func TestMeanDistance(t *testing.T) {
	if got := meanDistance([]float32{0, 0, 3, 4, 1, 1}, []float32{0, 0, 3, 3}, 3, 2); math.Abs(got-1) > 1e-6 {
		t.Errorf("%v, expected (0 + 1 + 2)/3", got)
	}
}
