package valla

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// TestPatience: a fit by natural gradients ends once the validation has not improved for a while, on the path of the fit that
// makes all its steps. It has the posterior of the best step that it has seen.
func TestPatience(t *testing.T) {
	const steps, every, patience = 120, 2, 5
	p := newProblem(t, tensor.Float64, 2, false)
	settings := Settings{Inducing: 6, Iterations: steps, ValidateEvery: every, LearningRate: 0.1, Patience: new(0)}
	all := fit(t, settings, p, gp.Run{})
	settings.Patience = new(patience)
	early := fit(t, settings, p, gp.Run{})
	whole, r := all.Record.Result, early.Record.Result
	looks, best := len(r.History), 0
	for i, v := range r.History {
		if v.Validation != whole.History[i].Validation {
			t.Fatalf("look %d: %v, of the whole fit %v", i, v, whole.History[i])
		}
		if v.Validation < r.History[best].Validation {
			best = i
		}
	}
	if r.Stopped != train.Early || looks == steps/every || r.Iterations != every*looks || looks-1-best != patience || r.BestIteration != every*(best+1) {
		t.Errorf("ended after %d steps, %s, the best of look %d recorded as step %d", r.Iterations, r.Stopped, best, r.BestIteration)
	}
	if whole.BestIteration != r.BestIteration || describe(t, all) != describe(t, early) {
		t.Errorf("another posterior than of the whole fit, whose best is of step %d", whole.BestIteration)
	}
}
