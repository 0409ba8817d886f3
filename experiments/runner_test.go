package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/experiments/spec"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

var ctx = context.Background()

// waves writes boston.npz, a table of two inputs and a noisy sum of squares, with its split 0
// and 1, below dir/uci.
func waves(t *testing.T, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 120
	var x, y []float64
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x, y = append(x, a, b), append(y, 3*a*a-b+0.5*rng.NormFloat64())
	}
	test := func(from int64) *tensor.Dense {
		return tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{from, from + 1, from + 2}))
	}
	if err := os.MkdirAll(filepath.Join(dir, "uci"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := npy.WriteArchive(filepath.Join(dir, "uci", "boston.npz"), []string{"X", "y", "test_0", "test_1"}, []*tensor.Dense{
		tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(x)), tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y)), test(0), test(50),
	})
	if err != nil {
		t.Fatal(err)
	}
}

const small = `name: small
data: boston
seeds: [0, 1]
network: {hidden: [8], activation: tanh}
map: {iterations: 60, rate: 1e-2, validation: 0.2, validate-every: 20}
methods:
  - {method: map}
  - {method: lla, weights: [all, last-layer], structure: [full, kfac, diagonal]}
  - {method: gp-subset, points: 20}
  - {method: valla, inducing: [4, 8], iterations: 40, rate: 1e-2, validate-every: 10}
  - {method: valla-natural, inducing: 6, iterations: 12, validate-every: 4}
  - {method: valla, label: "start of LLA", inducing: 5, iterations: 20, inputs: greedy, hyper: lla, optimal-a: true, fixed: true, alpha: 0, validate: false}
`

// open reads an experiment from a text.
func open(t *testing.T, text string) *spec.Experiment {
	t.Helper()
	e, err := reader().Read("small.yaml", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run runs an experiment and returns its cells by row and seed, and how many were fresh.
func run(t *testing.T, e *spec.Experiment, o Options) (cells map[string]*result.Cell, fresh int) {
	t.Helper()
	cells = map[string]*result.Cell{}
	o.OnCell = func(c *result.Cell, isFresh bool) {
		cells[fmt.Sprint(c.Row, " ", c.Seed)] = c
		if isFresh {
			fresh++
		}
	}
	if err := Run(ctx, e, o); err != nil {
		t.Fatal(err)
	}
	return cells, fresh
}

// TestRun: every cell is computed once, changed settings are computed again, and the same
// seed gives the same numbers.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	waves(t, dir)
	o := Options{Data: dir, Dir: filepath.Join(dir, "runs")}
	cells, fresh := run(t, open(t, small), o)
	if len(cells) != 2*12 || fresh != 24 {
		t.Fatalf("%d cells, %d fresh; the text has 12 rows and 2 seeds", len(cells), fresh)
	}
	for name, c := range cells {
		s := c.Scores[""]
		if c.N != 3 || len(s) != 4 || s["NLL"] == 0 || len(c.Curves.Coverage) != 9 || c.Machine.Go == "" {
			t.Errorf("%s: cell %+v", name, c)
		}
		if s["RMSE"] != cells["MAP "+fmt.Sprint(c.Seed)].Scores[""]["RMSE"] {
			t.Errorf("%s changed the network's mean", name)
		}
		if c.Fit.Runs != 1 || c.Fit.Wall <= 0 || c.Predict.Peak <= 0 {
			t.Errorf("%s: cost %+v, %+v", name, c.Fit, c.Predict)
		}
	}
	v := cells["VaLLA 8 0"]
	if v.Facts.Steps != 40 || len(v.Curves.History) != 4 || v.Facts.PriorStd == 0 || v.Inducing != 8 {
		t.Errorf("VaLLA's facts %+v, history %+v", v.Facts, v.Curves.History)
	}
	if n := cells["VaLLA 6 natural 0"]; n.Facts.Steps != 12 || len(n.Curves.History) != 3 || n.Facts.PriorStd == 0 {
		t.Errorf("facts of the natural-gradient fit %+v, history %+v", n.Facts, n.Curves.History)
	}
	if fixed := cells["start of LLA 0"]; fixed.Facts.PriorStd != cells["LLA 0"].Facts.PriorStd {
		t.Errorf("σ₀ %v, which was to stay at LLA's %v", fixed.Facts.PriorStd, cells["LLA 0"].Facts.PriorStd)
	}

	if _, fresh = run(t, open(t, small), o); fresh != 0 {
		t.Errorf("%d cells were computed twice", fresh)
	}
	if _, fresh = run(t, open(t, strings.Replace(small, "iterations: 40", "iterations: 30", 1)), o); fresh != 4 {
		t.Errorf("%d cells were computed after a change of 2 rows for 2 seeds", fresh)
	}
	again, _ := run(t, open(t, small), Options{Data: dir, Dir: filepath.Join(dir, "again")})
	for name, c := range cells {
		if got := again[name].Scores[""]; fmt.Sprint(got) != fmt.Sprint(c.Scores[""]) || again[name].Hash != c.Hash {
			t.Errorf("%s: %v and again %v", name, c.Scores[""], got)
		}
	}
}

// refused is a method that always needs too much memory.
type refused struct{}

func (m *refused) Rows() []Method    { return []Method{m} }
func (*refused) Name() (string, int) { return "refused", 0 }
func (*refused) Fit(context.Context, *Problem, Job) (*Fitted, error) {
	return nil, fmt.Errorf("refused: %w", &graph.MemoryError{What: "all of it", Need: 9_000_000_000, Limit: 1})
}

// TestResume: an interrupted experiment goes on and ends with the numbers of one that was
// not; the cost of both parts is counted.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	waves(t, dir)
	text := strings.Replace(small, "[4, 8], iterations: 40", "4, iterations: 3000", 1)
	whole, _ := run(t, open(t, text), Options{Data: dir, Dir: filepath.Join(dir, "whole")})
	o := Options{Data: dir, Dir: filepath.Join(dir, "part")}
	stopped, cancel := context.WithCancel(ctx)
	work := filepath.Join(o.Dir, "small", "work")
	go func() { // as soon as the fit's first checkpoint is there
		for {
			if m, _ := filepath.Glob(filepath.Join(work, "boston-valla-4-*.checkpoint")); m != nil {
				cancel()
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	if err := Run(stopped, open(t, text), o); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("error %v", err)
	}
	cells, fresh := run(t, open(t, text), o)
	if got := cells["VaLLA 4 0"]; got.Fit.Runs != 2 || fmt.Sprint(got.Scores) != fmt.Sprint(whole["VaLLA 4 0"].Scores) {
		t.Errorf("in two parts %+v %v, in one %v", got.Fit, got.Scores, whole["VaLLA 4 0"].Scores)
	}
	if fresh == 0 || fresh == len(whole) {
		t.Errorf("%d of %d cells were computed after the interruption", fresh, len(whole))
	}
	if left, _ := filepath.Glob(filepath.Join(work, "*.checkpoint")); left != nil {
		t.Errorf("checkpoints of finished cells: %q", left)
	}
}

// TestRefused: a method that needs too much memory leaves a cell that says so.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	waves(t, dir)
	text := strings.Replace(small, "methods:", "methods:\n  - {method: test-refused}", 1)
	methods["test-refused"] = func() Method { return &refused{} }
	defer delete(methods, "test-refused")
	cells, _ := run(t, open(t, strings.Replace(text, "seeds: [0, 1]", "seeds: 0", 1)), Options{Data: dir, Dir: t.TempDir()})
	if c := cells["refused 0"]; !strings.Contains(c.Refused, "9000000000 bytes") || c.Scores != nil {
		t.Errorf("cell %+v", c)
	}
}

// TestEmbedded: the experiments that come with the program can be planned, and are those
// that there are to be.
func TestEmbedded(t *testing.T) {
	list, err := List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
		for _, profile := range []string{"full", "quick"} {
			e, err := Open(e.Name, profile)
			if err != nil {
				t.Fatal(err)
			}
			groups, err := (&runner{spec: e}).plan()
			if err != nil || len(groups) == 0 || e.About == "" {
				t.Errorf("%s: %d groups, error %v", e.Name, len(groups), err)
			}
		}
	}
	if got := strings.Join(names, " "); got != "toy uci year airline taxi airline-nycflights13 taxi-green mnist fmnist cifar10" {
		t.Errorf("experiments %s", got)
	}
	if _, err := Open("none", ""); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown experiment: %v", err)
	}
	path := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(path, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	if e, err := Open(path, ""); err != nil || e.Name != "small" {
		t.Errorf("a file: %+v, error %v", e, err)
	}
}

// TestUnknownNames: what the registries do not have is one line.
func TestUnknownNames(t *testing.T) {
	for old, c := range map[string][2]string{
		"data: boston":     {"data: bostom", `small.yaml: data: expected one of `},
		"{hidden: [8],":    {"{form: net, hidden: [8],", `small.yaml: network.form: expected one of cnn, mlp`},
		"{method: map}":    {"{method: map, data: x}", `small.yaml: methods[0].data: expected one of `},
		"inducing: [4, 8]": {"inducing: [0]", `small.yaml:10: methods[3].inducing[0]: expected an integer at least 1`},
	} {
		e, err := reader().Read("small.yaml", []byte(strings.Replace(small, old, c[0], 1)), "")
		if err == nil {
			err = Run(ctx, e, Options{Data: t.TempDir(), Dir: t.TempDir()})
		}
		if err == nil || !strings.HasPrefix(err.Error(), c[1]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %q", c[0], err, c[1])
		}
	}
}

func TestOverrides(t *testing.T) {
	e := open(t, small)
	err := Overrides{Seeds: []uint64{7, 5, 7}, Methods: []string{"map", "valla"}, Inducing: []int{3}, Iterations: 9, Rotations: true}.Apply(e)
	if err != nil || len(e.Methods) != 3 || fmt.Sprint(e.Seeds) != "[5 7]" || e.Scoring.Rotations == 0 {
		t.Fatalf("experiment %+v, error %v", e, err)
	}
	if m := e.Methods[1].Settings.(*vallaMethod); fmt.Sprint(m.Inducing) != "[3]" || m.Iterations != 9 {
		t.Errorf("VaLLA's settings %+v", m)
	}
	for want, o := range map[string]Overrides{
		"magic": {Methods: []string{"magic"}}, "-1 inducing": {Inducing: []int{-1}}, "resnet": {Net: "resnet"}, "-2 iter": {Iterations: -2},
	} {
		if err := o.Apply(open(t, small)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// TestScores: the scores are those of package metric's formulas, at a point by hand.
func TestScores(t *testing.T) {
	p := reliability([]float64{0.9, 0.1, 0.2, 0.8, 0.95, 0.05}, []int{0, 0, 0}, 2)
	// All three confidences fall into the upper bin: their mean is 0.8833, two are right.
	if len(p) != 1 || math.Abs(p[0].X-2.65/3) > 1e-12 || math.Abs(p[0].Y-2.0/3) > 1e-12 {
		t.Errorf("reliability %+v", p)
	}
	if h := histogram([]float64{0, 0.4, 0.9, 1}, 1, 2); h[0] != 1 || h[1] != 1 {
		t.Errorf("histogram %v", h)
	}
	exact := &result.Band{Latent: []float64{1, 3}}
	if e := result.StdError(exact, &result.Band{Latent: []float64{2, 3}}); e != 0.25 {
		t.Errorf("difference of standard deviations %v, want 1/4", e)
	}
}
