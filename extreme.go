package valla

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
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
	return fmt.Sprintf("row %d (counting from 0), feature %q: the input %g lies %.2g standard deviations away from the mean of the training rows", set.Origin(at/d), in.Features[at%d], x[at], far)
}

// explainExtreme adds an extreme input of a set to the error of a fit, because such an input is the likeliest cause.
func (m *Model) explainExtreme(set *data.Set, err error) error {
	if what := m.extremeInput(set); what != "" {
		return fmt.Errorf("%s; leave this row out, or bound the column: %w", what, err)
	}
	return err
}

// outlierNotes returns a sentence about each feature of a table one of whose inputs in a set lies so far from the median
// that the standardised feature says little about the other rows. It returns nothing for networks that do not scale the
// columns of a table.
func (m *Model) outlierNotes(set *data.Set) (notes []string) {
	in := m.Task.Inputs
	if in.Features == nil || in.Mean == nil || set.N() < fewest {
		return nil
	}
	x, d := graph.Floats(set.X), len(in.Mean)
	some := graph.Floats(set.Rows(dense.Spaced(set.N(), mostWarned)).X)
	for k := range d {
		share := quantiles(columns(some, k, 1, d))
		width := share(0.75) - share(0.25)
		far, at := extreme*width, -1
		for i := k; i < len(x) && width > 0; i += d {
			if away := math.Abs(x[i] - share(0.5)); away > far {
				far, at = away, i
			}
		}
		if at >= 0 {
			notes = append(notes, fmt.Sprintf("Row %d (counting from 0), feature %q: the input %g lies %.2g times as far from the median as the middle half is wide, "+
				"so that the scaled feature hardly varies in the other rows: leave this row out, or bound the column.", set.Origin(at/d), in.Features[k], x[at], far/width))
		}
	}
	return notes
}
