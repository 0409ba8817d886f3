package valla

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// change is another fit than the fit that wrote a checkpoint.
type change struct {
	name  string
	apply func(s *Settings, p *gp.Problem, r *gp.Run)
	want  string // in the error
}

// setting changes only settings.
func setting(name, want string, f func(s *Settings)) change {
	return change{name, func(s *Settings, _ *gp.Problem, _ *gp.Run) { f(s) }, want}
}

// dataChange changes only the problem.
func dataChange(name, want string, f func(p *gp.Problem)) change {
	return change{name, func(_ *Settings, p *gp.Problem, _ *gp.Run) { f(p) }, want}
}

// changed is a copy of t with its first element moved.
func changed(t *tensor.Dense) *tensor.Dense {
	c := t.Clone().(*tensor.Dense)
	c.Float64s()[0] += 0.5
	return c
}

// changes are all ways in which a fit can have another result, for either optimizer.
var changes = []change{
	setting("inducing", "inducing inputs", func(s *Settings) { s.Inducing = 5 }),
	setting("init", "inducing inputs", func(s *Settings) { s.Init = "random-points" }),
	setting("init", "inducing inputs", func(s *Settings) { s.Init = "greedy" }),
	setting("weights", "fingerprint", func(s *Settings) { s.Weights = []string{"last-layer"} }),
	setting("alpha", "expected alpha 0.5", func(s *Settings) { s.Alpha = new(0.5) }),
	setting("prior-std", "prior std", func(s *Settings) { s.PriorStd = 7 }),
	setting("noise-std", "likelihood", func(s *Settings) { s.NoiseStd = 0.7 }),
	setting("fix-prior", "prior std", func(s *Settings) { s.FixPrior = !s.FixPrior }),
	setting("fix-noise", "likelihood", func(s *Settings) { s.FixNoise = !s.FixNoise }),
	setting("fix-inducing", "inducing inputs", func(s *Settings) { s.FixInducing = !s.FixInducing }),
	setting("iterations", "expected Iterations 31", func(s *Settings) { s.Iterations = 31 }),
	setting("batch-size", "batches of 11", func(s *Settings) { s.BatchSize = 11 }),
	setting("learning-rate", "expected optimizer Adam lr=0.2", func(s *Settings) { s.LearningRate = 0.2 }),
	setting("schedule", "schedule", func(s *Settings) {
		other := map[string]string{"natural": "constant", "adam": "cosine"}
		s.Schedule = other[s.Optimizer]
	}),
	setting("validate-every", "validation every 2 ", func(s *Settings) { s.ValidateEvery = 2 }),
	setting("optimizer", "", func(s *Settings) {
		other := map[string]string{"natural": "adam", "adam": "natural"}
		s.Optimizer = other[s.Optimizer]
	}),
	{"seed", func(_ *Settings, _ *gp.Problem, r *gp.Run) { r.Seed = 2 }, "seed 2"},
	dataChange("training inputs", "inputs", func(p *gp.Problem) { p.Train.X = changed(p.Train.X) }),
	dataChange("training targets", "targets", func(p *gp.Problem) { p.Train.Y = changed(p.Train.Y) }),
	dataChange("validation inputs", "validation", func(p *gp.Problem) { p.Validation.X = changed(p.Validation.X) }),
	dataChange("validation targets", "validation", func(p *gp.Problem) { p.Validation.Y = changed(p.Validation.Y) }),
	setting("patience", "patience 3", func(s *Settings) { s.Patience = new(3) }),
	dataChange("no validation", "validation", func(p *gp.Problem) { p.Validation = nil }),
	dataChange("network", "fingerprint", func(p *gp.Problem) { q := p.Net.Params()[0]; q.Set(0, q.At(0)+1) }),
	dataChange("noise variance", "likelihood", func(p *gp.Problem) { p.Likelihood = likelihood.NewGaussian(0.3, tensor.Float64) }),
}

// adamChanges are changes that only the published fit has.
var adamChanges = []change{
	setting("optimal-a", "valla.l", func(s *Settings) { s.OptimalA = true }),
}

// TestResumeRefusesAnotherFit: a checkpoint goes on only where every setting, and every
// number of the problem, on which the result depends is the same, whatever is fixed.
func TestResumeRefusesAnotherFit(t *testing.T) {
	for name, base := range map[string]Settings{
		"natural":       {Optimizer: "natural"},
		"natural fixed": {Optimizer: "natural", FixPrior: true, FixNoise: true, FixInducing: true},
		"adam":          {Optimizer: "adam"},
		"adam fixed":    {Optimizer: "adam", FixPrior: true, FixNoise: true, FixInducing: true},
	} {
		base.Inducing, base.Iterations, base.BatchSize, base.PriorStd = 4, 30, 10, 1
		all := changes
		if base.Optimizer == "adam" {
			all = append(all[:len(all):len(all)], adamChanges...)
		}
		path := filepath.Join(t.TempDir(), "c")
		interrupt(t, base, newProblem(t, tensor.Float64, 1, false), gp.Run{Seed: 1, Checkpoint: path}, 7)
		for _, c := range all {
			s, p, r := base, newProblem(t, tensor.Float64, 1, false), gp.Run{Seed: 1, Checkpoint: path, Resume: true}
			c.apply(&s, &p, &r)
			f, err := s.Fit(t.Context(), p, r)
			if f != nil || !errors.Is(err, train.ErrMismatch) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, another %s: error %v, want one line of a mismatch with %q", name, c.name, err, c.want)
			}
		}
	}
}

// classChanges are changes of fits of classes.
var classChanges = []change{
	setting("likeliest", "variances of 2 classes", func(s *Settings) { s.Likeliest = 2 }),
}

// TestResumeRefusesAnotherFitOfClasses is TestResumeRefusesAnotherFit for what classes alone have.
func TestResumeRefusesAnotherFitOfClasses(t *testing.T) {
	for _, optimizer := range []string{optimizerNatural, optimizerAdam} {
		base := Settings{Optimizer: optimizer, Inducing: 4, Iterations: 30, BatchSize: 10}
		path := filepath.Join(t.TempDir(), "c")
		interrupt(t, base, newProblem(t, tensor.Float64, 3, true), gp.Run{Seed: 1, Checkpoint: path}, 7)
		for _, c := range classChanges {
			s, p, r := base, newProblem(t, tensor.Float64, 3, true), gp.Run{Seed: 1, Checkpoint: path, Resume: true}
			c.apply(&s, &p, &r)
			f, err := s.Fit(t.Context(), p, r)
			if f != nil || !errors.Is(err, train.ErrMismatch) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, another %s: error %v, want a mismatch with %q", optimizer, c.name, err, c.want)
			}
		}
	}
}

// TestEverySettingIsInTheTable: no setting is left out of TestResumeRefusesAnotherFit, but
// for one that decides only what is kept when all steps are made.
func TestEverySettingIsInTheTable(t *testing.T) {
	tried := map[string]bool{"keep-last": true}
	for _, c := range slices.Concat(changes, adamChanges, classChanges) {
		tried[c.name] = true
	}
	for _, name := range settings.Names(&Settings{}) {
		if !tried[name] {
			t.Errorf("no change of %s is tried", name)
		}
	}
}

// interrupt runs a fit until so many steps are made.
func interrupt(t *testing.T, s Settings, p gp.Problem, r gp.Run, steps int) {
	t.Helper()
	c, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.OnProgress = func(p train.Progress) {
		if p.Done == steps {
			cancel()
		}
	}
	if _, err := s.Fit(c, p, r); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
}

// TestResumedFitIsTheSame: a fit that was interrupted twice and gone on with gives what an
// uninterrupted one gives, bit for bit, whichever state is kept.
func TestResumedFitIsTheSame(t *testing.T) {
	for _, optimizer := range []string{"natural", "adam"} {
		for _, classes := range []bool{false, true} {
			for _, last := range []bool{false, true} {
				s := Settings{Optimizer: optimizer, Inducing: 4, Iterations: 30, BatchSize: 10, ValidateEvery: 4, KeepLast: last}
				p := newProblem(t, tensor.Float32, 2, classes)
				whole := fit(t, s, p, gp.Run{Seed: 1})
				want := describe(t, whole)
				path := filepath.Join(t.TempDir(), "c")
				for _, steps := range []int{3, 8, 21} { // in front of and after validations
					interrupt(t, s, p, gp.Run{Seed: 1, Checkpoint: path, Resume: true}, steps)
				}
				for range 2 { // the second time nothing is left to do
					resumed := fit(t, s, p, gp.Run{Seed: 1, Checkpoint: path, Resume: true})
					if got := describe(t, resumed); got != want || !slices.Equal(resumed.Record.Facts, whole.Record.Facts) {
						t.Errorf("%s, classes %t, last %t: another posterior after resuming\n%s\n%s", optimizer, classes, last, got, want)
					}
				}
			}
		}
	}
}
