package valla

import (
	"slices"
	"strings"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/internal/settings"
)

// leastGroup is the least number of rows of a group.
const leastGroup = 50

// divided divides the rows of a conformal calibration by the column of the options, or gives them weights.
func (m *Model) divided(rows jury, o CalibrateOptions) (out calibrate.Division, err error) {
	switch {
	case o.Groups != "" && o.Like != nil:
		return out, settings.Errorf("groups, and rows like which the rows are weighted: expected one of the two")
	case o.Like != nil:
		return m.weighed(rows, o)
	case o.Groups == "":
		return out, nil
	}
	inputs, err := m.inputsOf(o.Groups)
	if err != nil {
		return out, err
	}
	d, least := len(m.Task.Inputs.Features), leastGroup
	for calibrate.Enough(least, max(o.Level, intervalLevel)) != nil {
		least++
	}
	x := m.unscaled(rows.x, d)
	if out.Groups, err = calibrate.FindGroups(o.Groups, inputs, m.coded(o.Groups), x, d, least); err != nil {
		return out, settings.Errorf("groups: %w", err)
	}
	for row := range slices.Chunk(x, d) {
		out.Of = append(out.Of, out.Groups.Group(row))
	}
	return out, nil
}

// inputsOf returns the numbers of the inputs that a column of the data has become: one, or one for each category, with the inputs for other
// categories and for missing values, so that one of them is 1 in each row.
func (m *Model) inputsOf(column string) (out []int, err error) {
	features := m.Task.Inputs.Features
	if at := slices.Index(features, column); at >= 0 {
		return []int{at}, nil
	}
	for i, name := range features {
		rest, ok := strings.CutPrefix(name, column)
		if ok && (strings.HasPrefix(rest, "=") || out != nil && (rest == " other" || rest == " missing")) {
			out = append(out, i)
		}
	}
	if out == nil {
		return nil, settings.Errorf("groups: %q is no column of the model, expected one of %q%s", column, m.Task.Inputs.Columns(), settings.Nearest(column, m.Task.Inputs.Columns()))
	}
	return out, nil
}

// coded reports whether a column of the data has become one input of codes for its categories.
func (m *Model) coded(column string) bool {
	e := m.Task.Inputs.Encoding
	return e != nil && slices.ContainsFunc(e.Columns, func(c data.ColumnCode) bool { return c.Name == column && c.Kind == data.Codes })
}

// largestQuantile returns the largest quantile of all groups.
func largestQuantile(c *calibrate.Conformal, target int, level float64) (float64, error) {
	all, err := c.Quantiles(target, level)
	if err != nil {
		return 0, err
	}
	return slices.Max(all), nil
}

// weighed gives the rows of a conformal calibration weights.
func (m *Model) weighed(rows jury, o CalibrateOptions) (out calibrate.Division, err error) {
	d := len(m.Task.Inputs.Features)
	if d == 0 {
		return out, settings.Errorf("rows like which the rows are weighted: the inputs are no columns of a table")
	}
	now, err := m.Task.Inputs.Apply(o.Like, m.Dtype())
	if err != nil {
		return out, err
	}
	x := m.unscaled(rows.x, d)
	if out.Shift, err = calibrate.FindShift(x, m.unscaled(now, d), d); err != nil {
		return out, settings.Errorf("%w", err)
	}
	for row := range slices.Chunk(x, d) {
		out.Weights = append(out.Weights, out.Shift.Weight(row))
	}
	return out, nil
}
