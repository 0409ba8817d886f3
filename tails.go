package valla

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

const (
	// longTail is how many times the width of the middle half the hundredth part of the rows may lie from the median.
	// Of a Gaussian it lies 1.7 times as far, of an exponential distribution 3.6, of Student's t with 2 degrees of freedom
	// 4.3, and of exp of a standard Gaussian 6.4 times.
	longTail = 5
	// fewest is the smallest number of rows whose hundredth part says something.
	fewest = 50
)

// tailNotes returns a sentence about each target of a regression with Gaussian noise whose values in a set have a long
// tail, with a remedy. A few such values dominate the squared error and the noise.
func (m *Model) tailNotes(set *data.Set) (notes []string) {
	if !m.Task.Gaussian() || m.transform() != "" || set.N() < fewest {
		return nil
	}
	y, c := graph.Floats(set.Y), m.Task.Size()
	for t, name := range m.Task.Targets() {
		values := columns(y, t, 1, c)
		if reach := tailReach(values); reach > longTail {
			notes = append(notes, fmt.Sprintf("The target %q has a long tail: a hundredth of its values lie %.3g times as far from the median as the middle half is wide (Gaussian: 1.7). "+
				"They dominate the squared error and the noise: try %s.", name, reach, tailRemedies(values)))
		}
	}
	return notes
}

// tailReach returns the distance of the lowest or the highest hundredth of values from their median, in widths of their
// middle half. It is 0 where the middle half has no width.
func tailReach(values []float64) float64 {
	at := quantiles(values)
	if width := at(0.75) - at(0.25); width > 0 {
		return max(at(0.99)-at(0.5), at(0.5)-at(0.01)) / width
	}
	return 0
}

// quantiles returns a function that gives the value below which a share of values lies.
func quantiles(values []float64) func(share float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return func(share float64) float64 { return v[int(math.Round(share*float64(len(v)-1)))] }
}

// tailRemedies returns the settings that help against the long tail of targets: the first transform under which the tail is
// not long, and Student's t.
func tailRemedies(values []float64) string {
	for _, name := range task.Transforms() {
		by, err := task.FitTransform(name, values)
		if err != nil {
			continue
		}
		u := make([]float64, len(values))
		for i, y := range values {
			u[i] = by.Apply(y)
		}
		if bad, _ := kernel.FirstNonFinite(u); bad < 0 && tailReach(u) <= longTail {
			return fmt.Sprintf("target-transform=%s or likelihood=student-t", name)
		}
	}
	return "likelihood=student-t"
}
