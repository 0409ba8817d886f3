package train

import (
	"fmt"
	"slices"
	"strings"
)

// Groups trains groups of parameters, which follow one another, with an optimizer each. Each
// optimizer must remember something of its parameters, as SGD does with momentum.
type Groups []Group

// Group is a group of parameters with an optimizer of its own.
type Group struct {
	Size      int       // number of parameters
	Optimizer Optimizer // of this group alone
	Constant  bool      // the learning rate does not follow the schedule of the run
}

var _ Optimizer = Groups(nil)

// check returns an error unless the groups have n parameters.
func (g Groups) check(n int) error {
	sum := 0
	for i := range g {
		sum += g[i].Size
	}
	if sum != n {
		return fmt.Errorf("train: groups of %d parameters, found %d", sum, n)
	}
	return nil
}

// Step implements [Optimizer].
func (g Groups) Step(params []Param, lrScale float64) error {
	if err := g.check(len(params)); err != nil {
		return err
	}
	for i := range g {
		scale, n := lrScale, g[i].Size
		if g[i].Constant {
			scale = 1
		}
		if err := g[i].Optimizer.Step(params[:n], scale); err != nil {
			return err
		}
		params = params[n:]
	}
	return nil
}

// State implements [Optimizer]. The name of a slot says which groups have it, as in
// "+- momentum" for the first of two; it holds zeros for the others.
func (g Groups) State() State {
	var out State
	states, names := make([]State, len(g)), make([]string, len(g))
	for i := range g {
		states[i] = g[i].Optimizer.State()
		names[i] = fmt.Sprintf("%d: %s, constant %t", g[i].Size, states[i].Optimizer, g[i].Constant)
		out.Steps, out.Params = max(out.Steps, states[i].Steps), append(out.Params, states[i].Params...)
	}
	out.Optimizer = strings.Join(names, "; ")
	for _, s := range states {
		for _, slot := range s.Slots {
			merged := mergeSlots(states, slot.Name)
			if !slices.ContainsFunc(out.Slots, func(o Slot) bool { return o.Name == merged.Name }) {
				out.Slots = append(out.Slots, merged)
			}
		}
	}
	return out
}

// mergeSlots joins the slots of a name.
func mergeSlots(states []State, name string) Slot {
	var owners strings.Builder
	var out Slot
	for _, s := range states {
		i := slices.IndexFunc(s.Slots, func(o Slot) bool { return o.Name == name })
		if i >= 0 {
			owners.WriteByte('+')
			out.Arrays = append(out.Arrays, s.Slots[i].Arrays...)
			continue
		}
		owners.WriteByte('-')
		for k := range s.Params {
			out.Arrays = append(out.Arrays, zerosLike(s.Slots[0].Arrays[k]))
		}
	}
	out.Name = owners.String() + " " + name
	return out
}

// SetState implements [Optimizer].
func (g Groups) SetState(s State) error {
	if want := g.State().Optimizer; s.Optimizer != want {
		return fmt.Errorf("train: optimizer state %w: it is of %q, expected %q", ErrMismatch, s.Optimizer, want)
	}
	states := make([]State, len(g))
	if s.Params == nil {
		return g.each(states)
	}
	if err := g.check(len(s.Params)); err != nil {
		return fmt.Errorf("train: optimizer state %w: %w", ErrMismatch, err)
	}
	for _, slot := range s.Slots {
		if owners, _, _ := strings.Cut(slot.Name, " "); len(slot.Arrays) != len(s.Params) || len(owners) != len(g) {
			return fmt.Errorf("train: optimizer state %w: slot %q of %d arrays", ErrMismatch, slot.Name, len(slot.Arrays))
		}
	}
	at := 0
	for i := range g {
		to := at + g[i].Size
		states[i] = State{Steps: s.Steps, Params: s.Params[at:to]}
		for _, slot := range s.Slots {
			if owners, name, _ := strings.Cut(slot.Name, " "); owners[i] == '+' {
				states[i].Slots = append(states[i].Slots, Slot{name, slot.Arrays[at:to]})
			}
		}
		at = to
	}
	return g.each(states)
}

// each sets the states of the groups.
func (g Groups) each(states []State) error {
	for i := range g {
		states[i].Optimizer = g[i].Optimizer.State().Optimizer
		if err := g[i].Optimizer.SetState(states[i]); err != nil {
			return err
		}
	}
	return nil
}
