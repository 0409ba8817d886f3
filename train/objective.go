package train

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/go-valla/valla/internal/strictjson"
	"gorgonia.org/tensor"
)

// Objective is what [Run] minimises.
type Objective interface {
	// Params returns the parameters; every call returns the same tensors. There may be
	// none where the objective is [Stateful].
	Params() []Param

	// Evaluate computes the loss of mini-batch number iteration (from 0) at the
	// present values and overwrites every Grad with its gradient. Which examples
	// and which random numbers it uses depends on iteration alone, so that a
	// resumed run sees what an uninterrupted one would.
	Evaluate(ctx context.Context, iteration int) (loss float64, err error)
}

// Identifier is an Objective that describes in words what else must be equal in a run that
// goes on from its checkpoint, such as the data, their order and fixed parameters.
type Identifier interface{ Identity() []string }

// Stateful is an Objective that remembers more than its parameters from one step to the
// next, such as the running statistics of batch normalisation. Its state belongs to the
// checkpoints and to the best state of a run.
type Stateful interface {
	// State returns the state, which Run reads and overwrites in place. Every call
	// returns the same arrays and the same pointer.
	State() ObjectiveState
}

// ObjectiveState is what a [Stateful] objective remembers. It may change in Evaluate and in
// [Config.Validate].
type ObjectiveState struct {
	// Arrays have names that no parameter has.
	Arrays []Array
	// Numbers points to a struct that JSON can hold; nil means that there are none.
	Numbers any
}

// Array is a named tensor, row-major and contiguous, float32 or float64.
type Array struct {
	Name  string        // tells arrays apart, also in files
	Value *tensor.Dense // the elements
}

// String returns the name, the element type and the shape.
func (a Array) String() string {
	return fmt.Sprintf("%s %v %v", a.Name, a.Value.Dtype(), a.Value.Shape())
}

// stateOf returns the state of an objective, the zero value where it has none.
func stateOf(obj Objective) ObjectiveState {
	if s, ok := obj.(Stateful); ok {
		return s.State()
	}
	return ObjectiveState{}
}

// arraysOf lists the values of parameters and the arrays of a state, in this order.
func arraysOf(params []Param, state ObjectiveState) []Array {
	var all []Array
	for _, p := range params {
		all = append(all, Array{p.Name, p.Value})
	}
	return append(all, state.Arrays...)
}

// checkObjective returns an error for parameters or a state that Run cannot work on.
func checkObjective(params []Param, state ObjectiveState) error {
	if len(params) > 0 || len(state.Arrays) == 0 {
		if err := checkParams(params); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, p := range params {
		seen[p.Name] = true
	}
	for i, a := range state.Arrays {
		if a.Name == "" || seen[a.Name] {
			return fmt.Errorf("train: array %d of the state: name %q is empty or taken, expected unique names", i, a.Name)
		}
		seen[a.Name] = true
		if err := (Param{Name: a.Name, Value: a.Value, Grad: a.Value}).check(); err != nil {
			return err
		}
	}
	return nil
}

// snapshot is a copy of all that an objective remembers: the parameters, the arrays of its
// state, and its numbers as JSON, nil where there are none.
type snapshot struct {
	values  []*tensor.Dense // of the arrays in arraysOf
	numbers json.RawMessage // of the state, as JSON
}

// take copies what the objective remembers now.
func (s *snapshot) take(arrays []Array, numbers any) error {
	var err error
	if s.numbers, err = encodeNumbers(numbers); err != nil {
		return err
	}
	if s.values == nil {
		s.values = clones(valuesOf(arrays))
		return nil
	}
	for i, a := range arrays {
		copyInto(s.values[i], a.Value)
	}
	return nil
}

// restore brings the objective back to the state in which the snapshot was taken.
func (s *snapshot) restore(arrays []Array, numbers any) error {
	if err := decodeNumbers(s.numbers, numbers); err != nil {
		return err
	}
	for i, a := range arrays {
		copyInto(a.Value, s.values[i])
	}
	return nil
}

// encodeNumbers returns the JSON of numbers, nil for none.
func encodeNumbers(numbers any) (json.RawMessage, error) {
	if numbers == nil {
		return nil, nil
	}
	text, err := json.Marshal(numbers)
	if err != nil {
		return nil, fmt.Errorf("train: numbers of the objective's state: %w", err)
	}
	return text, nil
}

// decodeNumbers overwrites the struct that numbers points to. On an error, which wraps
// ErrCheckpoint, nothing has changed.
func decodeNumbers(text json.RawMessage, numbers any) error {
	if (numbers == nil) != (text == nil) {
		return fmt.Errorf("%w: numbers of the objective's state %q, expected them: %t", ErrCheckpoint, text, numbers != nil)
	}
	if numbers == nil {
		return nil
	}
	fresh := reflect.New(reflect.TypeOf(numbers).Elem())
	if err := strictjson.Decode(text, fresh.Interface()); err != nil {
		return fmt.Errorf("%w: numbers of the objective's state: %w", ErrCheckpoint, err)
	}
	reflect.ValueOf(numbers).Elem().Set(fresh.Elem())
	return nil
}

// valuesOf returns the tensors of arrays.
func valuesOf(arrays []Array) []*tensor.Dense {
	out := make([]*tensor.Dense, len(arrays))
	for i, a := range arrays {
		out[i] = a.Value
	}
	return out
}
