package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// walker is a bowl that remembers: a trail that each step overwrites, which enters the loss
// and the gradient, and numbers.
type walker struct {
	*bowl[float64]
	trail  *tensor.Dense
	counts walkerCounts
}

type walkerCounts struct {
	Steps, Validations int
	Mean               float64 // of the losses so far
}

func newWalker() *walker {
	return &walker{bowl: newBowl[float64](), trail: dense[float64]([]int{2, 3}, 0, 0, 0, 0, 0, 0)}
}

func (o *walker) State() ObjectiveState {
	return ObjectiveState{Arrays: []Array{{"walker/trail", o.trail}}, Numbers: &o.counts}
}

func (o *walker) Evaluate(ctx context.Context, iteration int) (float64, error) {
	loss, err := o.bowl.Evaluate(ctx, iteration)
	if err != nil {
		return 0, err
	}
	w, grad, trail := o.params[0].Value.Float64s(), o.params[0].Grad.Float64s(), o.trail.Float64s()
	for i := range trail {
		grad[i] += 0.3*trail[i] + 0.01*o.counts.Mean
		trail[i] = 0.9*trail[i] + 0.1*w[i]
	}
	o.counts.Steps++
	o.counts.Mean += (loss - o.counts.Mean) / float64(o.counts.Steps)
	return loss, nil
}

// validate also changes the state, as it may.
func (o *walker) validate(ctx context.Context) (float64, error) {
	o.counts.Validations++
	o.trail.Float64s()[0] += 0.01
	return o.sum(ctx)
}

// all is everything that the walker has, bit for bit.
func (o *walker) all() string {
	return bits(append(o.params, Param{Value: o.trail}, newParam[float64]("", []int{3},
		float64(o.counts.Steps), float64(o.counts.Validations), o.counts.Mean)))
}

func (o *walker) config(path string) Config {
	return Config{Iterations: 40, Optimizer: &Adam{LR: 0.3}, Validate: o.validate, ValidateEvery: 6, Checkpoint: path, Resume: path != ""}
}

// stopAt runs the walker until mini-batch stop is reached.
func (o *walker) stopAt(t *testing.T, cfg Config, stop int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.before = func(i int) error {
		if i == stop {
			cancel()
		}
		return ctx.Err()
	}
	if _, err := Run(ctx, o, cfg); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.before = nil
}

// TestStateResumes: a run with a state, interrupted, ends as an uninterrupted one does,
// with the best state or the last.
func TestStateResumes(t *testing.T) {
	for _, last := range []bool{false, true} {
		config := func(o *walker, path string) Config {
			cfg := o.config(path)
			cfg.KeepLast = last
			return cfg
		}
		whole := newWalker()
		want, err := Run(t.Context(), whole, config(whole, ""))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "c")
		for _, stop := range []int{0, 5, 12, 33} {
			cut := newWalker()
			cut.stopAt(t, config(cut, path), stop)
		}
		for range 2 { // the second time nothing is left to do
			cut := newWalker()
			got, err := Run(t.Context(), cut, config(cut, path))
			if err != nil {
				t.Fatal(err)
			}
			sameResult(t, got, want)
			if cut.all() != whole.all() {
				t.Errorf("last %t: resumed %s, want %s", last, cut.all(), whole.all())
			}
		}
	}
}

// TestBestStateHasTheNumbers: array and numbers at the end belong to the best
// validation, unless the last state is to be kept.
func TestBestStateHasTheNumbers(t *testing.T) {
	for _, last := range []bool{false, true} {
		o := newWalker()
		at := map[int]string{}
		values := sequence(5, 3, 4)
		cfg := Config{Iterations: 12, ValidateEvery: 4, KeepLast: last, Validate: func(ctx context.Context) (float64, error) {
			o.counts.Validations++
			at[o.counts.Steps] = o.all()
			return values(ctx)
		}}
		result, err := Run(t.Context(), o, cfg)
		if err != nil || result.BestIteration != 8 || result.BestValue != 3 || result.KeptLast != last {
			t.Fatalf("%+v, %v", result, err)
		}
		want := at[8]
		if last {
			want = at[12]
		}
		if o.all() != want {
			t.Errorf("last %t: %s, want %s", last, o.all(), want)
		}
	}
}

// TestStateAlone: an objective without parameters, which only remembers, is run as well.
func TestStateAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	whole, cut := newWalker(), newWalker()
	for _, o := range []*walker{whole, cut} {
		o.params = o.params[:1]
	}
	config := func(o *walker, path string) Config {
		cfg := o.config(path)
		cfg.Optimizer, cfg.Validate, cfg.ValidateEvery = nil, nil, 0
		return cfg
	}
	if _, err := Run(t.Context(), idle{whole}, config(whole, "")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cfg := config(cut, path)
	cfg.OnStep = func(s Step) {
		if s.Iteration == 9 {
			cancel()
		}
	}
	if _, err := Run(ctx, idle{cut}, cfg); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	again := newWalker()
	again.params = again.params[:1]
	if _, err := Run(t.Context(), idle{again}, config(again, path)); err != nil {
		t.Fatal(err)
	}
	if again.all() != whole.all() || whole.counts.Steps != 40 {
		t.Errorf("%s, want %s", again.all(), whole.all())
	}
	if _, err := Run(t.Context(), idle{newWalker()}, Config{Iterations: 1, Optimizer: &SGD{LR: -1}}); err != nil {
		t.Errorf("an optimizer without parameters is asked: %v", err)
	}
}

// idle is a walker whose parameters are not trained.
type idle struct{ *walker }

func (idle) Params() []Param { return nil }

// TestStateIsPartOfTheIdentity: a checkpoint of another state, or from another start, is
// refused and changes nothing.
func TestStateIsPartOfTheIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	o := newWalker()
	o.stopAt(t, o.config(path), 7)
	for want, change := range map[string]func(o *walker){
		"it has state walker/trail float64 (2, 3), expected state walker/trail float64 (6)": func(o *walker) { o.trail = dense[float64]([]int{6}, 0, 0, 0, 0, 0, 0) },
		"expected start of walker/trail with checksum":                                      func(o *walker) { o.trail.Float64s()[2] = 1 },
		"expected start of w with checksum":                                                 func(o *walker) { o.params[0].Value.Float64s()[5] = 1 },
	} {
		o := newWalker()
		change(o)
		before := o.all()
		_, err := Run(t.Context(), o, o.config(path))
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want a mismatch with %q", err, want)
		}
		if o.all() != before {
			t.Errorf("%s: the refused checkpoint has changed the state", want)
		}
	}
	whole := newWalker()
	_, err := Run(t.Context(), whole.bowl, whole.config(path))
	if !errors.Is(err, ErrMismatch) {
		t.Errorf("without the state: %v", err)
	}
}

// TestDamagedNumbersAreRefused: numbers that do not fit the struct, or are missing.
func TestDamagedNumbersAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	o := newWalker()
	o.stopAt(t, o.config(path), 7)
	whole := readFile(t, path)
	for what, change := range map[string]func(c string) string{
		"unknown name": func(c string) string { return strings.Replace(c, `"Mean"`, `"Median"`, 1) },
		"no number":    func(c string) string { return strings.Replace(c, `"Steps": 7`, `"Steps": "7"`, 1) },
		"in the best":  func(c string) string { return strings.Replace(c, `"Steps": 6`, `"Steps": {}`, 1) },
		"no numbers":   func(c string) string { return strings.Replace(c, `"Numbers"`, `"BestNumbers"`, 1) },
	} {
		writeFile(t, path, rezip(t, whole, func(name, content string) (string, string) {
			if name == headerMember {
				content = change(content)
			}
			return name, content
		}))
		o := newWalker()
		before := o.all()
		if _, err := Run(t.Context(), o, o.config(path)); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("%s: error %v, want ErrCheckpoint", what, err)
		}
		if o.all() != before {
			t.Errorf("%s: the damaged checkpoint has changed the state", what)
		}
	}
}

// TestOlderFormatIsRefused: one line that says what to do.
func TestOlderFormatIsRefused(t *testing.T) {
	path := writeCheckpoint(t)
	writeFile(t, path, rezip(t, readFile(t, path), func(name, content string) (string, string) {
		return name, strings.Replace(content, checkpointFormat, olderFormat, 1)
	}))
	o := newTestObjective()
	resumeRefused(t, o, checkpointConfig(o, path), ErrMismatch, "start the run anew")
}

// TestBadStates: states that Run cannot work on.
func TestBadStates(t *testing.T) {
	good := dense[float64]([]int{2}, 1, 2)
	ints := tensor.New(tensor.WithShape(2), tensor.WithBacking([]int{1, 2}))
	for want, arrays := range map[string][]Array{
		`name "" is empty or taken`:   {{"", good}},
		`name "w" is empty or taken`:  {{"w", good}},
		`name "a" is empty or taken`:  {{"a", good}, {"a", good}},
		`"a" lacks its value`:         {{"a", nil}},
		"a int (2), expected float32": {{"a", ints}},
	} {
		_, err := Run(t.Context(), fixed{newBowl[float64](), ObjectiveState{Arrays: arrays}}, Config{Iterations: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, err := Run(t.Context(), fixed{newBowl[float64](), ObjectiveState{Numbers: &struct{ X float64 }{math.NaN()}}},
		Config{Iterations: 1, Checkpoint: filepath.Join(t.TempDir(), "c")})
	if !errors.Is(err, errNotSaved) {
		t.Errorf("numbers that are none: %v", err)
	}
}

// fixed is a bowl with a given state.
type fixed struct {
	*bowl[float64]
	state ObjectiveState
}

func (f fixed) State() ObjectiveState { return f.state }

// TestStateThatIsNotFinite: the error names the array.
func TestStateThatIsNotFinite(t *testing.T) {
	o := newWalker()
	cfg := o.config(filepath.Join(t.TempDir(), "c"))
	cfg.CheckpointEvery, cfg.Resume = 1, false
	cfg.OnStep = func(s Step) {
		if s.Iteration == 3 {
			o.trail.Float64s()[4] = math.Inf(1)
		}
	}
	_, err := Run(t.Context(), o, cfg)
	var bad *NonFiniteError
	if !errors.As(err, &bad) || bad.What != "state" || bad.Param != "walker/trail" || bad.Index != 4 || bad.Iteration != 3 {
		t.Errorf("%v", err)
	}
}

// TestSchedulesThatDifferBetweenTheirProbes: two schedules with the same values at the
// iterations that messages name are told apart.
func TestSchedulesThatDifferBetweenTheirProbes(t *testing.T) {
	config := func(every int) Config { return Config{Iterations: 20, Schedule: StepDecay(every, 0.5)} }
	same := func(a, b []string) bool { return slices.Equal(a, b) }
	nine, eight := config(9).scheduleIdentity(), config(8).scheduleIdentity()
	if !same(nine[:4], eight[:4]) || same(nine, eight) {
		t.Errorf("%q and %q, expected a difference in the last line only", nine, eight)
	}
	if !same(nine, config(9).scheduleIdentity()) {
		t.Error("the same schedule differs from itself")
	}
	if long := (Config{Iterations: math.MaxInt, Schedule: Constant}).scheduleIdentity(); len(long) != 5 {
		t.Errorf("%q of a run without end", long)
	}
}
