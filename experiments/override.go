package experiments

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla/experiments/spec"
	"github.com/go-valla/valla/gp/model"
)

// Overrides are settings in the place of an experiment's; what is zero leaves it as it is.
type Overrides struct {
	Seeds      []uint64
	Methods    []string // of these only
	Inducing   []int    // of methods with inducing points
	Iterations int      // of iterative methods
	Net        string   // the form of the network
	Rotations  bool
}

// adjustable is a method with numbers that can be overridden.
type adjustable interface {
	adjust(inducing []int, iterations int)
}

// allRotated is more test images than there are.
const allRotated = 1 << 30

// Apply changes an experiment. The errors wrap model.ErrOption.
func (o Overrides) Apply(e *spec.Experiment) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", model.ErrOption, fmt.Sprintf(format, args...))
	}
	for _, m := range o.Methods {
		if !slices.Contains(Methods(), m) {
			return bad("unknown method %q, expected some of %s", m, strings.Join(Methods(), ", "))
		}
	}
	for _, m := range o.Inducing {
		if m < 1 {
			return bad("%d inducing points, expected at least 1", m)
		}
	}
	if o.Iterations < 0 {
		return bad("%d iterations, expected at least 1", o.Iterations)
	}
	if o.Net != "" && networks[o.Net] == nil {
		return bad("unknown network %q, expected one of %s", o.Net, strings.Join(Networks(), ", "))
	}
	if o.Seeds != nil {
		e.Seeds = slices.Compact(slices.Sorted(slices.Values(o.Seeds)))
	}
	if o.Net != "" {
		e.Network.Form = o.Net
	}
	if o.Rotations && e.Scoring.Rotations == 0 {
		e.Scoring.Rotations = allRotated
	}
	if o.Methods != nil {
		e.Methods = slices.DeleteFunc(e.Methods, func(r spec.Row) bool { return !slices.Contains(o.Methods, r.Method) })
	}
	if len(e.Methods) == 0 {
		return bad("%s has none of the methods %s", e.Name, strings.Join(o.Methods, ", "))
	}
	for _, r := range e.Methods {
		if m, ok := r.Settings.(adjustable); ok {
			m.adjust(o.Inducing, o.Iterations)
		}
	}
	return nil
}
