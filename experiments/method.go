package experiments

import (
	"context"
	"maps"
	"slices"

	"github.com/go-valla/valla/experiments/spec"
)

// Method is a row, or several rows, of a table: the settings that a file may set, which
// their struct's tags name (see package spec), and the fit.
type Method interface {
	// Rows returns the method's rows: itself, or one of its kind for each setting that
	// it has several of.
	Rows() []Method
	// Name is the row's name in tables, and its number of inducing points or 0.
	Name() (label string, inducing int)
	// Fit fits the method. It returns ctx's error if ctx ends first, and a
	// graph.MemoryError where the problem is too large for it.
	Fit(ctx context.Context, p *Problem, j Job) (*Fitted, error)
}

// methods are all there are. Each has a file of its own.
var methods = map[string]func() Method{
	"map":           func() Method { return &mapMethod{} },
	"lla":           func() Method { return newLLA() },
	"gp-subset":     func() Method { return newSubset() },
	"valla":         func() Method { return newVaLLA() },
	"valla-natural": func() Method { return newNatural() },
}

// Methods returns the names of the methods.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// reader reads experiments with our methods.
func reader() spec.Reader {
	return spec.Reader{Methods: Methods(), Settings: func(name string) any {
		if m, ok := methods[name]; ok {
			return m()
		}
		return nil
	}}
}
