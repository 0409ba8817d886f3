package serve

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// rows are the inputs of a request as the model takes them, [n·D].
type rows struct {
	x []float64
	n int
}

// tensorRows makes rows of tensors: one for each column [n], by name, or a single one of all
// inputs, [n,D] or [n,…].
func (v *version) tensorRows(in []inputTensor, most int) (rows, error) {
	if len(in) == 0 {
		return rows{}, fmt.Errorf("no inputs, expected %s", v.expected())
	}
	features := v.model.Task.Inputs.Features
	if len(in) == 1 && !slices.Contains(features, in[0].Name) {
		return v.wholeRows(in[0], most)
	}
	columns := make(map[string]cells, len(in))
	for _, t := range in {
		n, err := t.size(most)
		if err != nil {
			return rows{}, err
		}
		c, err := t.cells(n)
		if err != nil {
			return rows{}, err
		}
		if _, twice := columns[t.Name]; twice {
			return rows{}, fmt.Errorf("input %q is there twice", t.Name)
		}
		columns[t.Name] = c
	}
	return v.columnRows(columns, most)
}

// wholeRows makes rows of one tensor of all inputs.
func (v *version) wholeRows(t inputTensor, most int) (rows, error) {
	size, d := 0, v.width()
	if len(t.Shape) > 0 && t.Shape[0] > most {
		return rows{}, tooMany(t.Shape[0], most)
	}
	size, err := t.size(most * d)
	if err != nil {
		return rows{}, err
	}
	if len(t.Shape) < 1 || size == 0 || size != t.Shape[0]*d || t.Datatype == "BYTES" {
		return rows{}, fmt.Errorf("input %q: %s of shape %v, expected %s", t.Name, t.Datatype, t.Shape, v.expected())
	}
	c, err := t.cells(size)
	if err == nil && t.Datatype == "UINT8" && v.model.Task.Inputs.Features == nil {
		for i := range c.numbers {
			c.numbers[i] /= 255 // pixels
		}
	}
	return rows{c.numbers, t.Shape[0]}, err
}

// expected says what inputs the model takes.
func (v *version) expected() string {
	in := v.model.Task.Inputs
	if in.Features == nil {
		return fmt.Sprintf("one input of numbers of shape [n %s]", strings.Trim(fmt.Sprint(in.Shape), "[]"))
	}
	return fmt.Sprintf("an input of shape [n] for each of %s, or one of numbers of shape [n %d] with all of them in this order", quoted(in.Features), len(in.Features))
}

// columnRows makes rows of named columns of the same length. Columns that the model does not
// read are passed over.
func (v *version) columnRows(columns map[string]cells, most int) (rows, error) {
	features := v.model.Task.Inputs.Features
	if features == nil {
		return rows{}, fmt.Errorf("columns, expected %s", v.expected())
	}
	d, n := len(features), -1
	var x []float64
	for j, name := range features {
		c, ok := columns[name]
		switch {
		case !ok:
			return rows{}, fmt.Errorf("no column %q", name)
		case n < 0 && c.len() > most:
			return rows{}, tooMany(c.len(), most)
		case n < 0:
			n, x = c.len(), make([]float64, c.len()*d)
		case c.len() != n:
			return rows{}, fmt.Errorf("column %q has %d values, expected %d as column %q", name, c.len(), n, features[0])
		}
		for i := range n {
			value, err := c.number(i)
			if err != nil {
				return rows{}, fmt.Errorf("column %q, row %d (counting from 0): %w", name, i, err)
			}
			x[i*d+j] = value
		}
	}
	if n == 0 {
		return rows{}, fmt.Errorf("no rows")
	}
	return rows{x, n}, nil
}

// number returns value i as a number.
func (c cells) number(i int) (float64, error) {
	if c.words == nil {
		if v := c.numbers[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, nil
		}
		return 0, fmt.Errorf("expected a finite number, found %g", c.numbers[i])
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(c.words[i]), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(c.words[i], "_xXpP") {
		return 0, fmt.Errorf("expected a number, found %q", short(c.words[i]))
	}
	return v, nil
}

// short cuts a word that is too long for a message.
func short(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// tooManyError says that a request has too many rows.
type tooManyError struct{ n, most int }

func tooMany(n, most int) error { return &tooManyError{n, most} }

func (e *tooManyError) Error() string {
	return fmt.Sprintf("%d rows, expected at most %d in a request", e.n, e.most)
}
