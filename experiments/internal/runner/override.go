package runner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/internal/settings"
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

// allRotated is more test images than there are.
const allRotated = 1 << 30

// Apply changes an experiment. The errors wrap valla.ErrSetting.
func (o Overrides) Apply(e *spec.Experiment) error {
	for _, m := range o.Methods {
		if !slices.Contains(spec.Methods(), m) {
			return settings.Errorf("unknown method %q, expected some of %s", m, strings.Join(spec.Methods(), ", "))
		}
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
		e.Methods = slices.DeleteFunc(slices.Clone(e.Methods), func(r spec.Row) bool { return !slices.Contains(o.Methods, r.Method) })
	}
	if len(e.Methods) == 0 {
		return settings.Errorf("%s has none of the methods %s", e.Name, strings.Join(o.Methods, ", "))
	}
	return o.adjust(e.Methods)
}

// adjust changes numbers of rows.
func (o Overrides) adjust(rows []spec.Row) error {
	for i := range rows {
		r := &rows[i]
		if o.Inducing != nil && r.Has("inducing") {
			var values []string
			for _, m := range o.Inducing {
				values = append(values, strconv.Itoa(m))
			}
			r.Set("inducing", values...)
		}
		if o.Iterations != 0 && r.Has("iterations") {
			r.Set("iterations", strconv.Itoa(o.Iterations))
		}
		if _, err := r.Variants(); err != nil {
			return err
		}
	}
	return nil
}
