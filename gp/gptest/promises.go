package gptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

var (
	kebab = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	// methodName matches the name of a method, and names of several methods with plus signs between.
	methodName = regexp.MustCompile(`^[a-z][a-z0-9]*([-+][a-z0-9]+)*$`)
)

// describesSettings checks the tags of settings: each has a name of its own, a help text,
// and a default, a description of one, or a zero that means "no".
func describesSettings(s gp.Settings) error {
	seen := map[string]bool{}
	for _, f := range settings.Of(s) {
		switch {
		case !kebab.MatchString(f.Name) || seen[f.Name]:
			return fmt.Errorf("setting %q: expected small letters, digits and single dashes, and no name twice", f.Name)
		case f.Help == "":
			return fmt.Errorf("setting %s has no help", f.Name)
		case f.Default == "" && f.Auto == "" && !f.IsBool():
			return fmt.Errorf("setting %s has neither a default nor a description of one", f.Name)
		case zeroIsLost(f):
			return fmt.Errorf("setting %s takes zero for its default, %s: expected a pointer, or limits without zero", f.Name, f.Default)
		}
		seen[f.Name] = true
	}
	return nil
}

// zeroIsLost says whether a setting can be set to zero but then has its default, another
// value.
func zeroIsLost(f *settings.Field) bool {
	defer f.Reset()
	for _, zero := range []string{"0", "false"} {
		if f.Default != "" && f.Default != zero && !f.IsList() && f.Set(zero) == nil && !f.Given() {
			return true
		}
	}
	return false
}

// settingsKept: the settings have a label, a fit leaves them alone, and they survive JSON.
func (t *trial) settingsKept() error {
	want, err := json.Marshal(settings.Map(t.make()))
	if err != nil {
		return fmt.Errorf("settings as JSON: %w", err)
	}
	got, err := json.Marshal(settings.Map(t.given))
	if err != nil || string(got) != string(want) {
		return fmt.Errorf("the settings are %s after the fit, expected %s (%v)", got, want, err)
	}
	again, err := t.assigned(settings.Map(t.given))
	if err != nil {
		return err
	}
	if back, err := json.Marshal(settings.Map(again)); err != nil || string(back) != string(want) {
		return fmt.Errorf("the settings are %s after JSON, expected %s (%v)", back, want, err)
	}
	if t.given.Label() == "" || again.Label() != t.given.Label() {
		return fmt.Errorf("the label is %q, and %q after JSON, expected the same words", t.given.Label(), again.Label())
	}
	return nil
}

// assigned are new settings with the values of m, by way of JSON.
func (t *trial) assigned(m map[string]any) (gp.Settings, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("settings as JSON: %w", err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	s := t.Method.New()
	return s, settings.Assign(s, raw)
}

// unchanged: weights, running means, examples and likelihood stay as they are.
func (t *trial) unchanged() error {
	now := t.numbers()
	for i, v := range t.before {
		if err := differ(fmt.Sprintf("array %d of network, likelihood and examples, after the fit", i), now[i], v, 0); err != nil {
			return err
		}
	}
	return nil
}

// record: it is complete and JSON can hold it.
func (t *trial) record() error {
	f, r := t.fitted, t.fitted.Record
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, new(gp.Record))
	}
	switch {
	case err != nil:
		return fmt.Errorf("record as JSON: %w", err)
	case f.Posterior.String() == "":
		return errors.New("the posterior has no name")
	case r.Rows < 1 || r.Rows > trainRows || r.ValidationRows != validationRows:
		return fmt.Errorf("%d rows and %d validation rows, expected 1 to %d and %d", r.Rows, r.ValidationRows, trainRows, validationRows)
	case len(r.PriorStds) != max(1, len(r.Groups)):
		return fmt.Errorf("%d prior standard deviations for the groups %q", len(r.PriorStds), r.Groups)
	case likelihood.Noisy(t.Likelihood) != (f.NoiseVariance > 0) || !kernel.Finite(f.NoiseVariance):
		return fmt.Errorf("noise variance %g with the likelihood %v", f.NoiseVariance, t.Likelihood)
	}
	for _, v := range r.PriorStds {
		if !(v > 0) || !kernel.Finite(v) {
			return fmt.Errorf("prior standard deviations %g, expected finite positive numbers", r.PriorStds)
		}
	}
	return nil
}

// progress: it is reported for one part of the work after the other, each with its own unit,
// and grows up to its total at most.
func (t *trial) progress() error {
	if len(t.steps) == 0 {
		return errors.New("no progress was reported")
	}
	var units []string
	last := 0
	for _, s := range t.steps {
		if len(units) == 0 || s.Unit != units[len(units)-1] {
			if slices.Contains(units, s.Unit) {
				return fmt.Errorf("progress in %s goes on after that in %s", s.Unit, units[len(units)-1])
			}
			units, last = append(units, s.Unit), 0
		}
		if s.Unit == "" || s.Done < max(1, last) || s.Done > s.Total {
			return fmt.Errorf("progress %+v after %d", s, last)
		}
		last = s.Done
	}
	return nil
}

// sameSeed: the same seed gives the same bits. Another seed gives a posterior, too. Of other problems sameSettings fits again with
// the same seed.
func (t *trial) sameSeed() error {
	if err := t.sameAs(t.make(), "the same seed"); err != nil {
		return err
	}
	f, err := fit(t.ctx, t.make(), t.Problem.Problem, gp.Run{Seed: seed + 1})
	if err == nil {
		_, err = t.predict(f)
	}
	return fault.In("another seed", err)
}

// sameSettings: the settings as completed in the record give the same bits.
func (t *trial) sameSettings() error {
	s, err := t.assigned(t.fitted.Record.Settings)
	if err != nil {
		return err
	}
	return t.sameAs(s, "the recorded settings")
}

// sameAs fits again, and compares with the first fit.
func (t *trial) sameAs(s gp.Settings, how string) error {
	f, err := fit(t.ctx, s, t.Problem.Problem, gp.Run{Seed: seed})
	if err != nil {
		return fmt.Errorf("%s: %w", how, err)
	}
	return errors.Join(
		t.samePredictions(f.Posterior, how),
		differ("prior standard deviations with "+how, f.Record.PriorStds, t.fitted.Record.PriorStds, 0),
		differ("noise variance with "+how, []float64{f.NoiseVariance}, []float64{t.fitted.NoiseVariance}, 0))
}

func (t *trial) samePredictions(p gp.Posterior, how string) error {
	g, err := gp.Predict(t.ctx, p, t.Probe)
	if err != nil {
		return fmt.Errorf("%s: %w", how, err)
	}
	return errors.Join(
		differ("mean with "+how, g.Mean, t.got.Mean, 0),
		differ("covariance with "+how, g.Cov, t.got.Cov, 0),
		differ("probabilities with "+how, g.Probs, t.got.Probs, 0))
}

// restored: what Restore returns has the same predictions, name and state.
func (t *trial) restored() error {
	p, err := t.restore(t.ctx, t.saved.Clone())
	if err != nil {
		return fmt.Errorf("restoring: %w", err)
	}
	if p.String() != t.fitted.Posterior.String() {
		return fmt.Errorf("the restored posterior is called %q, expected %q", p, t.fitted.Posterior)
	}
	if err := t.samePredictions(p, "a restored posterior"); err != nil {
		return err
	}
	state, err := p.State()
	if err != nil {
		return fmt.Errorf("state of a restored posterior: %w", err)
	}
	again, err := Memory(state)
	if err != nil {
		return err
	}
	if string(again.JSON) != string(t.saved.JSON) || !slices.Equal(again.Names(), t.saved.Names()) {
		return fmt.Errorf("the state of a restored posterior is %s with the arrays %q, expected %s with %q", again.JSON, again.Names(), t.saved.JSON, t.saved.Names())
	}
	for name, a := range t.saved.Arrays {
		if err := differ("array "+name+" of a restored posterior", graph.Floats(again.Arrays[name]), graph.Floats(a), 0); err != nil {
			return err
		}
	}
	return nil
}

// endedContext: a fit ends with the context's error, with a posterior or without.
func (t *trial) endedContext() error {
	ended, cancel := context.WithCancel(t.ctx)
	cancel()
	f, err := fit(ended, t.make(), t.Problem.Problem, gp.Run{Seed: seed})
	if err := t.stopped(f, err); err != nil {
		return fmt.Errorf("context ended before: %w", err)
	}
	if p, err := t.restore(ended, t.saved.Clone()); err != nil && !errors.Is(err, context.Canceled) || err != nil && p != nil {
		return fmt.Errorf("restoring with an ended context: posterior %v, error %v", p, err)
	}
	if len(t.steps) < 2 {
		return nil // a single report may be the last thing that a fit does
	}
	during, cancel := context.WithCancel(t.ctx)
	defer cancel()
	f, err = fit(during, t.make(), t.Problem.Problem, gp.Run{Seed: seed, OnProgress: func(train.Progress) { cancel() }})
	return fault.In("context ended after the first report of progress", t.stopped(f, err))
}

// stopped checks what a fit with an ended context returned.
func (t *trial) stopped(f *gp.Fitted, err error) error {
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("error %v, expected the context's", err)
	}
	if f == nil {
		return nil
	}
	_, err = t.predict(f)
	return err
}

// wrongProblems: each is an error that says so.
func (t *trial) wrongProblems() error {
	wrong := t.wrong()
	for _, what := range slices.Sorted(maps.Keys(wrong)) {
		if f, err := fit(t.ctx, t.make(), wrong[what], gp.Run{Seed: seed}); !errors.Is(err, gp.ErrProblem) || f != nil {
			return fmt.Errorf("%s: error %v, expected one that wraps gp.ErrProblem, and no posterior", what, err)
		}
	}
	f, err := fit(t.ctx, t.make(), t.widened(), gp.Run{Seed: seed})
	if err == nil || errors.Is(err, errPanic) || f != nil {
		return fmt.Errorf("more targets than the network has outputs: error %v, expected one", err)
	}
	return nil
}

// tooLittleMemory: a byte is not enough. More is refused in the same way, wherever in the
// fit it runs out, until it is enough.
func (t *trial) tooLittleMemory() error {
	for limit := int64(1); limit < 1<<40; limit *= 4 {
		f, err := fit(t.ctx, t.make(), t.Problem.Problem, gp.Run{Seed: seed, Memory: limit})
		if err == nil && limit > 1 {
			return nil
		}
		if !errors.As(err, new(*graph.MemoryError)) || f != nil {
			return fmt.Errorf("%d bytes of memory: error %v, expected a *graph.MemoryError and no posterior", limit, err)
		}
		if stutters(err) {
			return fmt.Errorf("%d bytes of memory: the error %q names a place twice in a row", limit, err)
		}
	}
	return errors.New("a TiB of memory is not enough")
}

// stutters says whether an error names the same place twice in a row.
func stutters(err error) bool {
	parts := strings.Split(err.Error(), ": ")
	return len(slices.Compact(slices.Clone(parts))) < len(parts)
}
