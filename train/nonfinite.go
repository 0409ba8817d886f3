package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-valla/valla/internal/kernel"

	"gorgonia.org/tensor"
)

// NonFiniteError reports a NaN or an infinity during training. The parameters
// are as they were before the step of that iteration.
type NonFiniteError struct {
	Iteration int     // mini-batch number, from 0
	What      string  // "loss", "gradient", "validation", "parameter", or "state" of the objective
	Param     string  // whose gradient or value it is; "" for a loss
	Index     int     // row-major index of the first such element; 0 for a loss
	Value     float64 // what was found there

	Params []summary // the values of all parameters and of the arrays of the state
}

// summary describes the values of one parameter.
type summary struct {
	Name           string  // of the parameter
	Min, Max, Norm float64 // NaN where an element is; Norm is Euclidean
}

// String returns the name, the range and the norm.
func (s summary) String() string {
	return fmt.Sprintf("%s in [%.4g, %.4g], norm %.4g", s.Name, s.Min, s.Max, s.Norm)
}

// maxListed bounds how many parameters the message of an error describes.
const maxListed = 4

// Error names the iteration, the place and the parameters of the largest norms.
func (e *NonFiniteError) Error() string {
	what := e.What
	if e.Param != "" {
		what = fmt.Sprintf("%s of %s[%d]", e.What, e.Param, e.Index)
	}
	return fmt.Sprintf("train: iteration %d: %s is %v; %s", e.Iteration, what, e.Value, describe(e.Params))
}

// describe lists the parameters of the largest norms, those that are not finite first.
func describe(params []summary) string {
	sorted := slices.Clone(params)
	slices.SortStableFunc(sorted, func(a, b summary) int {
		if c := cmp.Compare(nanAsInf(b.Norm), nanAsInf(a.Norm)); c != 0 {
			return c
		}
		return cmp.Compare(a.Name, b.Name)
	})
	var listed []string
	for _, s := range sorted[:min(len(sorted), maxListed)] {
		listed = append(listed, s.String())
	}
	text := "parameters: " + strings.Join(listed, "; ")
	if n := len(params) - len(listed); n > 0 {
		text += fmt.Sprintf("; and %d smaller ones", n)
	}
	return text
}

func nanAsInf(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1)
	}
	return x
}

func summaries(arrays []Array) []summary {
	out := make([]summary, len(arrays))
	for i, a := range arrays {
		if a.Value.Dtype() == tensor.Float32 {
			out[i] = summaryOf(a.Name, floats[float32](a.Value))
		} else {
			out[i] = summaryOf(a.Name, floats[float64](a.Value))
		}
	}
	return out
}

func summaryOf[T kernel.Float](name string, x []T) summary {
	s := summary{Name: name, Min: math.Inf(1), Max: math.Inf(-1)}
	for _, v := range x {
		f := float64(v)
		s.Min, s.Max, s.Norm = min(s.Min, f), max(s.Max, f), math.Hypot(s.Norm, f)
	}
	return s
}
