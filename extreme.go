package valla

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
)

// extreme is the number of standard deviations from which on an input counts as extreme.
const extreme = 1000

// extremeInput describes the input of a table that lies farthest from the mean of the rows that trained the network. It
// returns "" if no input is extreme, and for networks that do not scale the columns of a table.
func (m *Model) extremeInput(set *data.Set) string {
	in, far, at := m.Task.Inputs, float64(extreme), -1
	if in.Features == nil || in.Mean == nil {
		return ""
	}
	x := graph.Floats(set.X)
	for i, v := range x {
		if z := math.Abs(v-in.Mean[i%len(in.Mean)]) / in.Std[i%len(in.Std)]; z > far {
			far, at = z, i
		}
	}
	if at < 0 {
		return ""
	}
	d := len(in.Mean)
	return fmt.Sprintf("row %d (counting from 0), feature %q: the input %g lies %.2g standard deviations away from the mean of the training rows", at/d, in.Features[at%d], x[at], far)
}

// explainExtreme adds an extreme input of a set to the error of a fit, because such an input is the likeliest cause.
func (m *Model) explainExtreme(set *data.Set, err error) error {
	if what := m.extremeInput(set); what != "" {
		return fmt.Errorf("%s; leave this row out, or bound the column: %w", what, err)
	}
	return err
}
