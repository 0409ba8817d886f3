// Package listing turns predictions into named columns, and the columns into comma-separated text. The
// command, the service and package pass write these columns.
package listing

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
)

// Predictions are the predictions for N rows, in named columns.
type Predictions struct {
	Targets []string       // names of the targets
	Rows    int            // number N of rows
	Columns []Column       // columns in the order of a file
	Head    map[string]any // further keys of a JSON document, such as the level
	Probs   [][]float64    // class probabilities of each row [N][C]; nil for a regression
	Sets    [][]int        // classes in the set of each row, see [valla.Prediction.Sets]; nil without a conformal calibration of classes
	Samples *tensor.Dense  // samples of functions [S,N,T], or of class probabilities [S,N,C]; nil if there are none
}

// Column is a column of numbers or of texts.
type Column struct {
	Name   string    // name in the heading
	Values []float64 // numbers [N]; nil for texts
	Texts  []string  // texts [N]; nil for numbers
	ID     bool      // the column names the rows
	Class  bool      // the numbers are the names of classes
}

// append appends the number in row i as text to dst. The name of a class has no exponent, as in the names of columns.
func (c *Column) append(dst []byte, i int) []byte {
	if c.Class {
		return tablefile.AppendNumber(dst, c.Values[i])
	}
	return strconv.AppendFloat(dst, c.Values[i], 'g', -1, 64)
}

// Options say which columns predictions have.
type Options struct {
	Level     float64   // probability of the intervals, or of the sets of classes
	Quantiles []float64 // probabilities of further columns of a regression: q0.05 has the quantiles of 0.05
	Above     []float64 // numbers c of further columns of a regression: above_5 has the probabilities of targets above 5
}

// Of returns the columns of the prediction p. The columns ids, which name the rows, come first. Quantiles of classes,
// and classes above a number, are an error. Of returns ctx's error if ctx ends before the last of them.
func Of(ctx context.Context, p *valla.Prediction, o Options, ids ...Column) (*Predictions, error) {
	r := &Predictions{Targets: p.Targets, Rows: p.N(), Columns: ids}
	if p.Classes != nil {
		if len(o.Quantiles)+len(o.Above) > 0 {
			return nil, settings.Errorf("quantiles of classes or probabilities above a number, which classes do not have")
		}
		r.classes(p)
		if err := r.sets(p, o.Level); err != nil {
			return nil, err
		}
		return r, r.abstain(p)
	}
	lower, upper, err := p.Interval(o.Level)
	if err != nil {
		return nil, err
	}
	columns := []Column{{Name: "mean", Values: p.Mean}, {Name: "std", Values: p.Std()}, {Name: "lower", Values: lower},
		{Name: "upper", Values: upper}, {Name: "epistemic", Values: p.EpistemicStd()}, {Name: "aleatoric", Values: p.AleatoricStd()}}
	r.each(p, columns...)
	r.Head = map[string]any{"level": o.Level}
	if err := r.further(ctx, p, o); err != nil {
		return nil, err
	}
	return r, r.abstain(p)
}

// abstain adds the columns about the rows that need a look, if there is a rule: unfamiliar, if it is known, and abstain, which is 1 or 0.
func (r *Predictions) abstain(p *valla.Prediction) error {
	marks, err := p.Abstains()
	if err != nil || p.Abstain == nil {
		return err
	}
	if p.Unfamiliar != nil {
		r.Add("unfamiliar", p.Unfamiliar, 0, 1)
	}
	r.Add("abstain", dense.Ones(marks), 0, 1)
	return nil
}

// further adds the columns of quantiles and of probabilities above a number, for each target.
func (r *Predictions) further(ctx context.Context, p *valla.Prediction, o Options) error {
	name := func(before string, v float64) string { return before + strconv.FormatFloat(v, 'g', -1, 64) }
	for i, level := range o.Quantiles {
		if err := ctx.Err(); err != nil {
			return err
		}
		if slices.Contains(o.Quantiles[:i], level) {
			return settings.Errorf("the quantile %g twice, expected different ones", level)
		}
		values, err := p.Bound(level)
		if err != nil {
			return err
		}
		r.each(p, Column{Name: name("q", level), Values: values})
	}
	for i, c := range o.Above {
		if err := ctx.Err(); err != nil {
			return err
		}
		if slices.Contains(o.Above[:i], c) {
			return settings.Errorf("probabilities above %g twice, expected different numbers", c)
		}
		r.each(p, Column{Name: name("above_", c), Values: p.Above(c)})
	}
	return nil
}

// each adds columns with values [N,T] for each target of p, with the name of the target if there are several.
func (r *Predictions) each(p *valla.Prediction, columns ...Column) {
	for t, target := range p.Targets {
		suffix := ""
		if len(p.Targets) > 1 {
			suffix = "_" + target
		}
		for _, c := range columns {
			r.Add(c.Name+suffix, c.Values, t, len(p.Targets))
		}
	}
}

// MedianNote returns a note on predictions whose mean is the median: which are they, such as 60.
func MedianNote(which string) string {
	return fmt.Sprintf("The mean of %s predictions does not exist, or the last half per cent of the distribution makes it: their mean is the median, and their std is +Inf, in JSON null.", which)
}

// Names returns the names of columns in a file or document with further keys. An ID that has the name of
// another column or of a key gets id_ in front, so that neither is lost.
func Names(columns []Column, keys ...string) []string {
	names := make([]string, len(columns), len(columns)+len(keys))
	for i, c := range columns {
		names[i] = c.Name
	}
	all := append(names, keys...)
	for i, c := range columns {
		for c.ID && (slices.Contains(all[:i], all[i]) || slices.Contains(all[i+1:], all[i])) {
			all[i] = "id_" + all[i]
		}
	}
	return all[:len(columns)]
}

// IDs returns the columns that name the rows of the last batch.
func IDs(rows *valla.Rows) (ids []Column) {
	for k, name := range rows.ID {
		c := Column{Name: name, ID: true}
		if k < len(rows.IDs) {
			c.Texts = rows.IDs[k]
		}
		ids = append(ids, c)
	}
	return ids
}

// sets adds the column set, if the model has a conformal calibration: the names of the classes in a set
// of guaranteed coverage.
func (r *Predictions) sets(p *valla.Prediction, level float64) error {
	if p.Conformal == nil {
		return nil
	}
	var err error
	if r.Sets, err = p.Sets(level); err != nil {
		return err
	}
	r.Columns = append(r.Columns, Column{Name: "set", Texts: p.SetNames(r.Sets)})
	r.Head["level"] = level
	return nil
}

// Add adds a column with the numbers in column t of values [N,width].
func (r *Predictions) Add(name string, values []float64, t, width int) {
	of := make([]float64, r.Rows)
	for i := range of {
		of[i] = values[i*width+t]
	}
	r.Columns = append(r.Columns, Column{Name: name, Values: of})
}

// classes adds the column class, which has the most probable class, and for each class the column
// p_NAME, which has the probability of the class.
func (r *Predictions) classes(p *valla.Prediction) {
	class := Column{Name: "class", Class: true}
	c := len(p.Classes)
	for i, best := range p.Best() {
		if p.Labels != nil {
			class.Texts = append(class.Texts, p.Labels[best])
		} else {
			class.Values = append(class.Values, p.Classes[best])
		}
		r.Probs = append(r.Probs, p.Probs[i*c:(i+1)*c])
	}
	r.Columns = append(r.Columns, class)
	for k := range p.Classes {
		r.Add("p_"+p.ClassName(k), p.Probs, k, c)
	}
	r.Head = map[string]any{"link": p.Link, "classes": p.Classes}
	if p.Labels != nil {
		r.Head["classes"] = p.Labels
	}
}

// Join appends the rows of another batch with the same columns.
func (r *Predictions) Join(p *Predictions) error {
	if r.Columns == nil {
		*r = *p
		return nil
	}
	for i, c := range p.Columns {
		r.Columns[i].Values, r.Columns[i].Texts = append(r.Columns[i].Values, c.Values...), append(r.Columns[i].Texts, c.Texts...)
	}
	r.Rows, r.Probs, r.Sets = r.Rows+p.Rows, append(r.Probs, p.Probs...), append(r.Sets, p.Sets...)
	return nil
}

// Writer writes batches of columns as comma-separated text, and every number with all its digits.
type Writer struct {
	to  io.Writer   // receives the text
	csv *csv.Writer // writes rows with texts to to
	row []byte      // rows that are not written yet, if they are numbers
}

// blockBytes is the number of bytes from which on rows are written.
const blockBytes = 64 << 10

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w, csv: csv.NewWriter(w)} }

// Header writes the names of the columns of p.
func (w *Writer) Header(p *Predictions) error {
	if err := w.csv.Write(Names(p.Columns)); err != nil {
		return err
	}
	w.csv.Flush()
	return w.csv.Error()
}

// Rows writes the rows of p.
func (w *Writer) Rows(p *Predictions) error {
	for _, c := range p.Columns {
		if c.Texts != nil {
			return w.texts(p)
		}
	}
	w.row = w.row[:0]
	for i := range p.Rows {
		for _, c := range p.Columns {
			w.row = append(c.append(w.row, i), ',')
		}
		w.row[len(w.row)-1] = '\n'
		if len(w.row) < blockBytes {
			continue
		}
		if _, err := w.to.Write(w.row); err != nil {
			return err
		}
		w.row = w.row[:0]
	}
	_, err := w.to.Write(w.row)
	return err
}

// texts writes the rows of p, some of whose columns are texts.
func (w *Writer) texts(p *Predictions) error {
	cells := make([]string, len(p.Columns))
	for i := range p.Rows {
		for j, c := range p.Columns {
			if c.Texts != nil {
				cells[j] = c.Texts[i]
			} else {
				cells[j] = string(c.append(nil, i))
			}
		}
		if err := w.csv.Write(cells); err != nil {
			return err
		}
	}
	w.csv.Flush()
	return w.csv.Error()
}
