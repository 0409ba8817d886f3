package train

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// ErrMismatch is wrapped by errors about an optimizer state or a checkpoint
// that belongs to other parameters or to other settings.
var ErrMismatch = errors.New("belongs to another run")

// Optimizer updates parameters from their gradients. The optimizers of this
// package take their settings from exported fields, whose zero values mean the
// usual defaults, and allocate nothing after the first step.
type Optimizer interface {
	// Step updates every Value from its Grad, with lrScale times the learning
	// rate. Calls must give the same parameters in the same order. On an error
	// nothing was changed.
	Step(params []Param, lrScale float64) error

	// State returns a copy of what the optimizer remembers between steps.
	State() State

	// SetState replaces what the optimizer remembers, by a copy. A state of
	// other settings or other parameters is refused with an error that wraps
	// ErrMismatch; an optimizer that has made no step yet does not know its
	// parameters and refuses at the next Step.
	SetState(State) error
}

// State is what an optimizer remembers between steps.
type State struct {
	Optimizer string   // its name and settings
	Steps     int      // steps made
	Params    []string // names of the parameters, in order; nil before the first step
	Slots     []Slot   // nil before the first step
}

// Slot is one quantity that an optimizer tracks for each parameter.
type Slot struct {
	Name   string          // such as "momentum"
	Arrays []*tensor.Dense // one per parameter, with its shape and type
}

// memory implements the part of an optimizer that remembers.
type memory struct {
	steps  int      // steps made
	params []string // names of the parameters; nil before the first step
	slots  []Slot   // the remembered arrays
}

// begin prepares the step over params of an optimizer with the named slots.
func (m *memory) begin(params []Param, lrScale float64, slots []string) error {
	if !(lrScale >= 0 && kernel.Finite(lrScale)) {
		return fmt.Errorf("train: learning rate scaled by %v, expected a finite number that is not negative", lrScale)
	}
	if m.params == nil {
		return m.allocate(params, slots)
	}
	for _, p := range params {
		if err := p.check(); err != nil {
			return err
		}
	}
	return m.match(params, slots)
}

func (m *memory) allocate(params []Param, slots []string) error {
	if err := checkParams(params); err != nil {
		return err
	}
	m.params = make([]string, len(params))
	for i, p := range params {
		m.params[i] = p.Name
	}
	m.slots = make([]Slot, len(slots))
	for k, name := range slots {
		m.slots[k] = Slot{name, make([]*tensor.Dense, len(params))}
		for i, p := range params {
			m.slots[k].Arrays[i] = zerosLike(p.Value)
		}
	}
	return nil
}

// match returns an error unless the memory belongs to params and slots.
func (m *memory) match(params []Param, slots []string) error {
	if len(params) != len(m.params) {
		return fmt.Errorf("train: optimizer state %w: it has %d parameters, expected %d", ErrMismatch, len(m.params), len(params))
	}
	if len(slots) != len(m.slots) {
		return fmt.Errorf("train: optimizer state %w: it has %d slots, expected %q", ErrMismatch, len(m.slots), slots)
	}
	for i, p := range params {
		if p.Name != m.params[i] {
			return fmt.Errorf("train: optimizer state %w: parameter %d is %s, expected %s", ErrMismatch, i, m.params[i], p.Name)
		}
		for _, s := range m.slots {
			if a := s.Arrays[i]; !alike(a, p.Value) {
				return fmt.Errorf("train: optimizer state %w: %s of %s is %v %v, expected %v %v",
					ErrMismatch, s.Name, p.Name, a.Dtype(), a.Shape(), p.Value.Dtype(), p.Value.Shape())
			}
		}
	}
	return nil
}

func (m *memory) state(settings string) State {
	return State{Optimizer: settings, Steps: m.steps, Params: slices.Clone(m.params), Slots: cloneSlots(m.slots)}
}

func (m *memory) setState(s State, settings string, slots []string) error {
	if s.Optimizer != settings {
		return fmt.Errorf("train: optimizer state %w: it is of %q, expected %q", ErrMismatch, s.Optimizer, settings)
	}
	if err := s.check(slots); err != nil {
		return err
	}
	if err := m.sameAs(s); err != nil {
		return err
	}
	m.steps, m.params, m.slots = s.Steps, slices.Clone(s.Params), cloneSlots(s.Slots)
	return nil
}

// check returns an error unless s is complete and made of the named slots.
func (s State) check(slots []string) error {
	if s.Params == nil && s.Steps == 0 && len(s.Slots) == 0 {
		return nil // before the first step
	}
	if s.Params == nil || s.Steps < 0 || len(s.Slots) != len(slots) {
		return fmt.Errorf("train: optimizer state %w: %d steps, %d parameters and %d slots, expected %d slots",
			ErrMismatch, s.Steps, len(s.Params), len(s.Slots), len(slots))
	}
	for k, slot := range s.Slots {
		if slot.Name != slots[k] || len(slot.Arrays) != len(s.Params) {
			return fmt.Errorf("train: optimizer state %w: slot %q with %d arrays, expected %q with %d",
				ErrMismatch, slot.Name, len(slot.Arrays), slots[k], len(s.Params))
		}
		for i, a := range slot.Arrays {
			if a == nil || !plain(a) {
				return fmt.Errorf("train: optimizer state %w: %s of %s is missing or not row-major", ErrMismatch, slot.Name, s.Params[i])
			}
		}
	}
	return nil
}

// sameAs returns an error where both the memory and s know their parameters,
// and these differ.
func (m *memory) sameAs(s State) error {
	if m.params == nil || s.Params == nil {
		return nil
	}
	if !slices.Equal(m.params, s.Params) {
		return fmt.Errorf("train: optimizer state %w: it is of the parameters %q, expected %q", ErrMismatch, s.Params, m.params)
	}
	for k, slot := range s.Slots {
		for i, a := range slot.Arrays {
			if b := m.slots[k].Arrays[i]; !alike(a, b) {
				return fmt.Errorf("train: optimizer state %w: %s of %s is %v %v, expected %v %v",
					ErrMismatch, slot.Name, s.Params[i], a.Dtype(), a.Shape(), b.Dtype(), b.Shape())
			}
		}
	}
	return nil
}

func cloneSlots(slots []Slot) []Slot {
	if slots == nil {
		return nil
	}
	out := make([]Slot, len(slots))
	for k, s := range slots {
		out[k] = Slot{s.Name, clones(s.Arrays)}
	}
	return out
}

// orDefault returns v, or the default where v is zero.
func orDefault(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}

// checkSetting returns an error unless lo ≤ v < hi.
func checkSetting(name string, v, lo, hi float64) error {
	if !(v >= lo && v < hi) {
		return fmt.Errorf("train: %s = %v, expected %v ≤ %s < %v", name, v, lo, name, hi)
	}
	return nil
}
