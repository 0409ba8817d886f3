package train

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runTo runs obj with cfg and cancels it once mini-batch number stop is reached;
// -1 means never.
func runTo(t *testing.T, obj testObjective, cfg Config, stop int) *Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	*obj.before = func(i int) error {
		if i == stop {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	result, err := Run(ctx, obj, cfg)
	if stop >= 0 && (!errors.Is(err, context.Canceled) || result.Iterations != stop) {
		t.Fatalf("interrupted at %d: %+v, %v", stop, result, err)
	}
	if stop < 0 && err != nil {
		t.Fatal(err)
	}
	return result
}

// sameResult compares all but the times.
func sameResult(t *testing.T, got, want *Result) {
	t.Helper()
	if got.Iterations != want.Iterations || got.Stopped != want.Stopped || got.BestIteration != want.BestIteration ||
		got.BestValue != want.BestValue || !slices.Equal(timeless(got.History), timeless(want.History)) {
		t.Errorf("resumed: %+v, want %+v", got, want)
	}
}

// TestResumeIsBitForBit interrupts a run of 50 twice, at steps on and off the
// grids of validations and checkpoints.
func TestResumeIsBitForBit(t *testing.T) {
	for name, change := range map[string]func(*Config, testObjective){
		"plain":     func(*Config, testObjective) {},
		"cosine":    func(c *Config, _ testObjective) { c.Schedule = Cosine(0.1) },
		"validated": func(c *Config, o testObjective) { c.Validate, c.ValidateEvery = o.validate, 7 },
		"early":     func(c *Config, o testObjective) { c.Validate, c.ValidateEvery, c.Patience = o.validate, 2, 3 },
	} {
		t.Run(name, func(t *testing.T) {
			forEach(t, func(t *testing.T, newOptimizer func() Optimizer, obj func() testObjective) {
				config := func(o testObjective, path string) Config {
					cfg := Config{Iterations: 50, Optimizer: newOptimizer(), Checkpoint: path, Resume: path != ""}
					change(&cfg, o)
					return cfg
				}
				whole := obj()
				want := runTo(t, whole, config(whole, ""), -1)
				if (want.Stopped == Early) != (name == "early") {
					t.Fatalf("the run to compare with: %+v", want)
				}
				path := filepath.Join(t.TempDir(), "run.checkpoint")
				for _, stop := range []int{0, 5, 14} {
					if stop < want.Iterations {
						cut := obj()
						runTo(t, cut, config(cut, path), stop)
					}
				}
				cut := obj()
				got := runTo(t, cut, config(cut, path), -1)
				sameResult(t, got, want)
				if bits(cut.Params()) != bits(whole.Params()) {
					t.Errorf("parameters %v, want %v", bits(cut.Params()), bits(whole.Params()))
				}
				again := obj()
				sameResult(t, runTo(t, again, config(again, path), -1), want) // nothing left to do
				if bits(again.Params()) != bits(whole.Params()) {
					t.Error("resuming a run that has ended gives other parameters")
				}
			})
		})
	}
}

// TestResumeFromACheckpointOnTheWay resumes as if the process had died: from the
// file that CheckpointEvery left.
func TestResumeFromACheckpointOnTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.checkpoint")
	config := func(o testObjective) Config {
		return Config{Iterations: 30, Optimizer: &Adam{LR: 0.05}, Validate: o.validate, ValidateEvery: 4,
			Checkpoint: path, CheckpointEvery: 8, Resume: true}
	}
	whole := newTestObjective()
	cfg := config(whole)
	cfg.Checkpoint, cfg.CheckpointEvery, cfg.Resume = "", 0, false
	want := runTo(t, whole, cfg, -1)

	var onDisk []byte // after 24 steps, just before the validation that is due then
	first := newTestObjective()
	cfg = config(first)
	cfg.OnStep = func(s Step) {
		if s.Iteration == 24 {
			onDisk, _ = os.ReadFile(path)
		}
	}
	runTo(t, first, cfg, -1)
	if err := os.WriteFile(path, onDisk, 0o644); err != nil {
		t.Fatal(err)
	}
	cut := newTestObjective()
	evaluated := 0
	cfg = config(cut)
	cfg.OnStep = func(Step) { evaluated++ }
	sameResult(t, runTo(t, cut, cfg, -1), want)
	if evaluated != 6 {
		t.Errorf("%d steps after resuming, want the 6 from 24 to 30", evaluated)
	}
	if bits(cut.Params()) != bits(whole.Params()) {
		t.Errorf("parameters %v, want %v", bits(cut.Params()), bits(whole.Params()))
	}
}

func newTestObjective() testObjective {
	o := newBowl[float64]()
	return testObjective{o, &o.before, o.sum}
}

func TestFailureWritesTheLastWholeStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.checkpoint")
	cfg := func() Config { return Config{Iterations: 10, Checkpoint: path, Resume: true} }
	whole, cut := newTestObjective(), newTestObjective()
	if _, err := Run(t.Context(), whole, Config{Iterations: 10}); err != nil {
		t.Fatal(err)
	}
	*cut.before = func(i int) error {
		if i == 6 {
			return errors.New("disk on fire")
		}
		return nil
	}
	if _, err := Run(t.Context(), cut, cfg()); err == nil {
		t.Fatal("no error")
	}
	again, steps := newTestObjective(), 0
	c := cfg()
	c.OnStep = func(Step) { steps++ }
	runTo(t, again, c, -1)
	if steps != 4 || bits(again.Params()) != bits(whole.Params()) {
		t.Errorf("%d steps after resuming, want 4, or other parameters", steps)
	}
}

// TestCheckpointThatCannotBeWritten: it is refused before the first step, and later it is a
// warning that ends neither a run nor its interruption.
func TestCheckpointThatCannotBeWritten(t *testing.T) {
	if result, err := Run(t.Context(), newBowl[float64](), Config{Iterations: 5, Checkpoint: t.TempDir()}); result != nil || err == nil || !strings.Contains(err.Error(), "it is a folder") {
		t.Errorf("%+v, %v", result, err)
	}
	path, warned := filepath.Join(t.TempDir(), "run.checkpoint"), 0
	cfg := Config{Iterations: 5, Checkpoint: path, CheckpointEvery: 2, OnStep: func(s Step) {
		if s.Iteration == 2 { // the first checkpoint is good, the others are not
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
	}}
	cfg.OnProgress = func(p Progress) {
		if strings.Contains(p.Warning, "checkpoint not written: writing "+path) {
			warned++
		}
	}
	result, err := Run(t.Context(), newBowl[float64](), cfg)
	if err != nil || result.Stopped != Finished || result.Iterations != 5 || result.Warning == "" || warned < 2 {
		t.Errorf("%+v, %v, %d warnings", result, err, warned)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	on := cfg.OnStep
	cfg.OnStep = func(s Step) {
		if on(s); s.Iteration == 3 {
			cancel()
		}
	}
	result, err = Run(ctx, newBowl[float64](), cfg)
	if !errors.Is(err, context.Canceled) || result.Stopped != Interrupted || result.Iterations != 4 || result.Warning == "" {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestWithoutResumeTheFileIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.checkpoint")
	for range 2 {
		steps := 0
		cfg := Config{Iterations: 5, Checkpoint: path, OnStep: func(Step) { steps++ }}
		if _, err := Run(t.Context(), newBowl[float64](), cfg); err != nil || steps != 5 {
			t.Errorf("%d steps, %v", steps, err)
		}
	}
}

// writeCheckpoint leaves a checkpoint after 6 of 20 iterations at the path it
// returns, of the run that checkpointConfig describes.
func writeCheckpoint(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.checkpoint")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := newTestObjective()
	*o.before = func(i int) error {
		if i == 6 {
			cancel()
		}
		return ctx.Err()
	}
	if _, err := Run(ctx, o, checkpointConfig(o, path)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return path
}

func checkpointConfig(o testObjective, path string) Config {
	return Config{Iterations: 20, Optimizer: &Adam{}, Validate: o.validate, ValidateEvery: 4, Checkpoint: path, Resume: true}
}

// resumeRefused resumes from path and checks that it is refused in one line that
// wraps kind and contains the path and want, and that nothing was changed.
func resumeRefused(t *testing.T, o testObjective, cfg Config, kind error, want string) {
	t.Helper()
	before := bits(o.Params())
	result, err := Run(t.Context(), o, cfg)
	if result != nil || !errors.Is(err, kind) {
		t.Errorf("%+v, %v, want %v", result, err, kind)
		return
	}
	if s := err.Error(); !strings.Contains(s, cfg.Checkpoint) || !strings.Contains(s, want) || strings.Contains(s, "\n") {
		t.Errorf("error %q, want one line with %q", s, want)
	}
	if bits(o.Params()) != before {
		t.Error("a refused checkpoint changed the parameters")
	}
	if cfg.Optimizer != nil && cfg.Optimizer.State().Steps != 0 {
		t.Error("a refused checkpoint changed the optimizer")
	}
}

func TestCheckpointOfAnotherRunIsRefused(t *testing.T) {
	path := writeCheckpoint(t)
	for want, change := range map[string]func(*Config){
		"has Iterations 20, expected Iterations 21": func(c *Config) { c.Iterations = 21 },
		"expected optimizer AdamW lr=0.001":         func(c *Config) { c.Optimizer = &Adam{Decoupled: true} },
		"expected optimizer Adam lr=0.5":            func(c *Config) { c.Optimizer = &Adam{LR: 0.5} },
		"expected schedule value 0.25":              func(c *Config) { c.Schedule = StepDecay(10, 0.25) },
		"every 5 iterations":                        func(c *Config) { c.ValidateEvery = 5 },
		"patience 3":                                func(c *Config) { c.Patience = 3 },
		"expected no validation":                    func(c *Config) { c.Validate = nil },
	} {
		o := newTestObjective()
		cfg := checkpointConfig(o, path)
		change(&cfg)
		resumeRefused(t, o, cfg, ErrMismatch, want)
	}
}

func TestCheckpointOfOtherParametersIsRefused(t *testing.T) {
	path := writeCheckpoint(t)
	refused := func(want string, change func(*bowl[float64])) {
		t.Helper()
		b := newBowl[float64]()
		change(b)
		o := testObjective{b, &b.before, b.sum}
		resumeRefused(t, o, checkpointConfig(o, path), ErrMismatch, want)
	}
	refused("has parameter net/b float64 (2), expected parameter c float64 (2)", func(b *bowl[float64]) { b.params[1].Name = "c" })
	refused("expected parameter w float64 (6)", func(b *bowl[float64]) { b.params[0] = newParam[float64]("w", []int{6}, 1, 2, 3, 4, 5, 6) })
	refused("expected nothing more", func(b *bowl[float64]) { b.params = b.params[:2] })
	refused("has nothing more", func(b *bowl[float64]) { b.params = append(b.params, newParam[float64]("d", []int{1}, 1)) })
	single := newBowl[float32]()
	o := testObjective{single, &single.before, single.sum}
	resumeRefused(t, o, checkpointConfig(o, path), ErrMismatch, "expected parameter w float32 (2, 3)")
}

func TestDamagedCheckpointIsRefused(t *testing.T) {
	path := writeCheckpoint(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Run(what, func(t *testing.T) {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			o := newTestObjective()
			resumeRefused(t, o, checkpointConfig(o, path), ErrCheckpoint, "")
		})
	}
	refused("empty", nil)
	refused("no zip", []byte("hello, world"))
	for n := 1; n < len(whole); n += len(whole) / 50 {
		refused("truncated", whole[:n])
	}
	// One bit of the first parameter's data, which only the checksum can notice.
	const nameAndHeader = len("now/w.npy") + 128 // the NumPy header is padded to 128 bytes
	at := bytes.Index(whole, []byte("now/w.npy")) + nameAndHeader + 3
	flipped := slices.Clone(whole)
	flipped[at] ^= 1
	refused("one bit", flipped)
	for what, change := range map[string]func(name, content string) (string, string){
		"no header":     func(n, c string) (string, string) { return strings.Replace(n, headerMember, "x.json", 1), c },
		"no array":      func(n, c string) (string, string) { return strings.Replace(n, "slot/v/w", "slot/v/x", 1), c },
		"twice":         func(n, c string) (string, string) { return strings.Replace(n, "best/", "now/", 1), c },
		"format":        func(n, c string) (string, string) { return n, strings.Replace(c, checkpointFormat, "other", 1) },
		"unknown field": func(n, c string) (string, string) { return n, strings.Replace(c, `"Format"`, `"Other"`, 1) },
		"no JSON":       func(n, c string) (string, string) { return n, strings.Replace(c, `"Format"`, `Format`, 1) },
		"negative":      func(n, c string) (string, string) { return n, strings.Replace(c, `"Done": 6`, `"Done": -6`, 1) },
		"too far":       func(n, c string) (string, string) { return n, strings.Replace(c, `"Done": 6`, `"Done": 21`, 1) },
		"future best":   func(n, c string) (string, string) { return n, strings.Replace(c, `"Done": 6`, `"Done": 3`, 1) },
		"other shape": func(n, c string) (string, string) {
			return n, strings.Replace(c, "'shape': (2, 3)", "'shape': (3, 2)", 1)
		},
		"other dtype":  func(n, c string) (string, string) { return n, strings.Replace(c, "<f8", "<i8", 1) },
		"no such slot": func(n, c string) (string, string) { return n, strings.Replace(c, `"v"`, `"u"`, 1) },
		"fewer slots":  func(n, c string) (string, string) { return n, strings.Replace(c, "\"m\",\n", "", 1) },
		"without a best": func(n, c string) (string, string) {
			return n, strings.Replace(c, `"BestIteration": 4`, `"BestIteration": 0`, 1)
		},
	} {
		refused(what, rezip(t, whole, change))
	}
}

func TestCheckpointWithAMemberTwiceIsRefused(t *testing.T) {
	path := writeCheckpoint(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{headerMember, "now/w.npy"} {
		var out bytes.Buffer
		in, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(&out)
		for _, f := range in.File {
			err = errors.Join(err, z.Copy(f))
			if f.Name == name {
				err = errors.Join(err, z.Copy(f))
			}
		}
		if err := errors.Join(err, z.Close(), os.WriteFile(path, out.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		o := newTestObjective()
		resumeRefused(t, o, checkpointConfig(o, path), ErrCheckpoint, "it is there twice")
	}
}

// rezip returns the archive data with names and contents changed, checksums right.
func rezip(t *testing.T, data []byte, change func(name, content string) (string, string)) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	changed := false
	for _, f := range in.File {
		var content bytes.Buffer
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := content.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		name, text := change(f.Name, content.String())
		changed = changed || name != f.Name || text != content.String()
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil || !changed {
		t.Fatalf("nothing changed, or %v", err)
	}
	return out.Bytes()
}

func FuzzDecodeCheckpoint(f *testing.F) {
	data, err := os.ReadFile(writeCheckpoint(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte{})
	o := newTestObjective()
	r, err := newRunner(o, checkpointConfig(o, filepath.Join(f.TempDir(), "none")))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCheckpoint(bytes.NewReader(data), int64(len(data)), r.id, r.arrays, len(r.params))
		if err != nil {
			if !errors.Is(err, ErrCheckpoint) && !errors.Is(err, ErrMismatch) {
				t.Errorf("error of no kind: %v", err)
			}
			return
		}
		var once, twice bytes.Buffer
		if err := c.encode(&once, namesOf(r.arrays), len(r.params)); err != nil {
			t.Fatal(err)
		}
		again, err := decodeCheckpoint(bytes.NewReader(once.Bytes()), int64(once.Len()), r.id, r.arrays, len(r.params))
		if err != nil {
			t.Fatalf("what was read cannot be written and read: %v", err)
		}
		if err := again.encode(&twice, namesOf(r.arrays), len(r.params)); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("writing and reading changes a checkpoint (%v)", err)
		}
	})
}
