package runner

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/internal/settings"
)

// Overrides replace settings of an experiment. A field with its zero value changes nothing.
type Overrides struct {
	Seeds      []uint64 // replace the experiment's seeds
	Methods    []string // the rows of other methods are left out
	Inducing   []int    // numbers of inducing points, of the methods that have them
	Iterations int      // of the methods that have them
	Net        string   // the form of the network
	Rotations  bool     // score turned test images with the first of the seeds, all images where the experiment scores none
}

// allRotated exceeds the number of test images of every data set.
const allRotated = 1 << 30

// Apply changes an experiment. The errors wrap valla.ErrSetting.
func (o Overrides) Apply(e *spec.Experiment) error {
	for _, m := range o.Methods {
		if !slices.Contains(spec.Methods(), m) {
			return settings.Errorf("unknown method %q, expected some of %s", m, strings.Join(spec.Methods(), ", "))
		}
	}
	if len(o.Seeds) > 0 {
		e.Seeds = slices.Compact(slices.Sorted(slices.Values(o.Seeds)))
	}
	if o.Net != "" {
		e.Network.Network = e.Network.Reshaped(o.Net)
	}
	if o.Rotations {
		e.ShiftSeed = e.Seeds[0]
		e.Scoring.Rotations = cmp.Or(e.Scoring.Rotations, allRotated)
	}
	if len(o.Methods) > 0 {
		e.Methods = slices.DeleteFunc(slices.Clone(e.Methods), func(r spec.Row) bool { return !slices.Contains(o.Methods, r.Method) })
	}
	if len(e.Methods) == 0 {
		return settings.Errorf("%s has none of the methods %s", e.Name, strings.Join(o.Methods, ", "))
	}
	if err := o.adjust(e.Methods); err != nil {
		return err
	}
	if err := e.CheckLabels(); err != nil {
		return settings.Errorf("%w", err)
	}
	return checkForm(e)
}

// adjust replaces the numbers of inducing points and of iterations of all rows that have
// them.
func (o Overrides) adjust(rows []spec.Row) error {
	for i := range rows {
		r := &rows[i]
		if len(o.Inducing) > 0 && r.Has("inducing") {
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
