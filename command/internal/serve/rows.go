package serve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
)

// rows are the inputs of a request.
type rows struct {
	x []float64 // inputs of the network [n,D], in the units of the data
	n int       // number of rows
}

// tensorRows returns the rows of tensors: a tensor [n] for each column, by name, or one tensor of all
// inputs, [n,D] or [n,…].
func (v *version) tensorRows(in []inputTensor, most int) (rows, error) {
	if len(in) == 0 {
		return rows{}, fmt.Errorf("no inputs, expected %s", v.expected())
	}
	if len(in) == 1 && (!slices.Contains(v.columns(), in[0].Name) || v.isWhole(in[0])) {
		return v.wholeRows(in[0], most)
	}
	byName := make(map[string]cells, len(in))
	for _, t := range in {
		if err := v.add(byName, t, most); err != nil {
			return rows{}, err
		}
	}
	var columns []cells
	given := slices.Sorted(maps.Keys(byName))
	for _, name := range v.columns() {
		c, ok := byName[name]
		if !ok {
			return rows{}, fmt.Errorf("no column %q among the inputs %s%s", name, tablefile.Listed(given), settings.Nearest(name, given))
		}
		columns = append(columns, c)
	}
	return v.columnRows(columns, most)
}

// isWhole reports whether a tensor with the name of one of several columns has the shape [n,D] of all of them.
func (v *version) isWhole(t inputTensor) bool {
	return len(v.columns()) > 1 && len(t.Shape) == 2 && t.Shape[1] == v.width()
}

// add adds the columns of a tensor: the tensor [n] itself or, for an input of a network that has several, its elements
// [n,…] with names such as x.0.
func (v *version) add(byName map[string]cells, t inputTensor, most int) error {
	parts := v.elements(t.Name)
	size, err := t.size(most * len(parts))
	if err != nil {
		return err
	}
	c, err := t.cells(size)
	if err != nil {
		return err
	}
	if len(parts) > 1 && (len(t.Shape) == 0 || size != t.Shape[0]*len(parts) || c.numbers == nil) {
		return fmt.Errorf("input %q: %s of shape %v, expected %d numbers for each row", t.Name, t.Datatype, t.Shape, len(parts))
	}
	for k, name := range parts {
		if _, twice := byName[name]; twice {
			return fmt.Errorf("input %q is there twice", t.Name)
		}
		if len(parts) == 1 {
			byName[name] = c
			continue
		}
		own := cells{numbers: make([]float64, size/len(parts))}
		for i := range own.numbers {
			own.numbers[i] = c.numbers[i*len(parts)+k]
		}
		byName[name] = own
	}
	return nil
}

// elements returns the columns that hold the elements of an input of the network, and otherwise the name itself.
func (v *version) elements(name string) (columns []string) {
	inputs, _ := valla.InputNames(v.model.Form)
	if slices.Contains(inputs, name) && !slices.Contains(v.columns(), name) {
		for _, c := range v.columns() {
			if strings.HasPrefix(c, name+".") {
				columns = append(columns, c)
			}
		}
	}
	if columns == nil {
		return []string{name}
	}
	return columns
}

// wholeRows returns the rows of one tensor of all inputs.
func (v *version) wholeRows(t inputTensor, most int) (rows, error) {
	size, d := 0, v.width()
	if len(t.Shape) > 0 && t.Shape[0] > most {
		return rows{}, tooMany(t.Shape[0], most)
	}
	size, err := t.size(most * d)
	if err != nil {
		return rows{}, err
	}
	if len(t.Shape) < 1 || size == 0 || !v.model.Task.Inputs.Takes(t.Shape[1:]) || t.Datatype == "BYTES" {
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

// expected returns a phrase about the inputs that the model takes.
func (v *version) expected() string {
	in := v.model.Task.Inputs
	if in.Features == nil {
		return fmt.Sprintf("one input of numbers of shape [n %s]", strings.Trim(fmt.Sprint(in.Shape), "[]"))
	}
	whole := "with all of them in this order"
	if v.encoded() {
		whole = "encoded as the network takes them"
	}
	return fmt.Sprintf("an input of shape [n] for each of %s, or one of numbers of shape [n %d] %s", tablefile.Listed(v.columns()), len(in.Features), whole)
}

// columns returns the names of the columns that the model reads, and nil if its inputs are no columns.
func (v *version) columns() []string { return v.model.Task.Inputs.Columns() }

// encoded says whether the network's inputs differ from the columns.
func (v *version) encoded() bool { return v.model.Task.Inputs.Encoding != nil }

// columnRows returns the rows of the columns of the model, which have the same length, as valla predict
// reads them from a file.
func (v *version) columnRows(columns []cells, most int) (rows, error) {
	names := v.columns()
	if names == nil {
		return rows{}, fmt.Errorf("columns, expected %s", v.expected())
	}
	all := make([]data.Cells, len(names))
	for j, name := range names {
		c := columns[j]
		if c.len() > most {
			return rows{}, tooMany(c.len(), most)
		}
		all[j] = data.Cells{Name: name, Numbers: c.numbers, Texts: c.words}
	}
	n := all[0].N()
	if n == 0 {
		return rows{}, fmt.Errorf("no rows")
	}
	table, err := data.TableOf("request", all)
	if err != nil {
		return rows{}, err
	}
	set, err := v.model.Set(table, false)
	if err != nil {
		return rows{}, err
	}
	return rows{set.X.Float64s(), n}, nil
}

// short returns a word for a message, cut after 40 bytes.
func short(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
