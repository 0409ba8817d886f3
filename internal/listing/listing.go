// Package listing makes named columns of predictions, and text of the columns: what valla predict
// writes, and what the shards of a pass hold.
package listing

import (
	"encoding/csv"
	"io"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
)

// Predictions are the predictions for N rows, in named columns.
type Predictions struct {
	Targets []string
	Rows    int
	Columns []Column
	Head    map[string]any // what a document says beside targets, rows and columns
	Probs   [][]float64    // of classes
	Samples *tensor.Dense  // [S,N,T] or, of classes, [S,N,C]; nil where there are none
}

// Column has the values of N rows, or their texts.
type Column struct {
	Name   string
	Values []float64
	Texts  []string
}

// Of returns the columns of a prediction, after those that name the rows. level is the
// probability of the intervals, or of the sets of classes.
func Of(p *valla.Prediction, level float64, ids ...Column) (*Predictions, error) {
	r := &Predictions{Targets: p.Targets, Rows: p.N(), Columns: ids}
	if p.Classes != nil {
		r.classes(p)
		return r, r.sets(p, level)
	}
	lower, upper, err := p.Interval(level)
	if err != nil {
		return nil, err
	}
	columns := []Column{{Name: "mean", Values: p.Mean}, {Name: "std", Values: p.Std()}, {Name: "lower", Values: lower},
		{Name: "upper", Values: upper}, {Name: "epistemic", Values: p.EpistemicStd()}, {Name: "aleatoric", Values: p.AleatoricStd()}}
	for t, target := range p.Targets {
		suffix := ""
		if len(p.Targets) > 1 {
			suffix = "_" + target
		}
		for _, c := range columns {
			r.Add(c.Name+suffix, c.Values, t, len(p.Targets))
		}
	}
	r.Head = map[string]any{"level": level}
	return r, nil
}

// IDs are the columns that name the rows of the last batch.
func IDs(rows *valla.Rows) (ids []Column) {
	for k, name := range rows.ID {
		c := Column{Name: name}
		if k < len(rows.IDs) {
			c.Texts = rows.IDs[k]
		}
		ids = append(ids, c)
	}
	return ids
}

// sets adds the column set, the classes of a set of guaranteed coverage, where the model was
// calibrated for them.
func (r *Predictions) sets(p *valla.Prediction, level float64) error {
	if p.Conformal == nil {
		return nil
	}
	names, err := p.SetNames(level)
	if err != nil {
		return err
	}
	r.Columns = append(r.Columns, Column{Name: "set", Texts: names})
	r.Head["level"] = level
	return nil
}

// Add adds column t of values [N,width].
func (r *Predictions) Add(name string, values []float64, t, width int) {
	of := make([]float64, r.Rows)
	for i := range of {
		of[i] = values[i*width+t]
	}
	r.Columns = append(r.Columns, Column{Name: name, Values: of})
}

// classes adds the column class, which is the most probable class, and for each class the
// column p_NAME with its probabilities.
func (r *Predictions) classes(p *valla.Prediction) {
	class := Column{Name: "class"}
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

// Join adds the rows of another batch.
func (r *Predictions) Join(p *Predictions) error {
	if r.Columns == nil {
		*r = *p
		return nil
	}
	for i, c := range p.Columns {
		r.Columns[i].Values, r.Columns[i].Texts = append(r.Columns[i].Values, c.Values...), append(r.Columns[i].Texts, c.Texts...)
	}
	r.Rows, r.Probs = r.Rows+p.Rows, append(r.Probs, p.Probs...)
	return nil
}

// A Writer writes batches of columns as comma-separated text, every number with all its digits.
type Writer struct {
	to  io.Writer
	csv *csv.Writer // of rows with texts
	row []byte
}

// NewWriter returns a Writer.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w, csv: csv.NewWriter(w)} }

// Header writes the names of the columns.
func (w *Writer) Header(p *Predictions) error {
	var names []string
	for _, c := range p.Columns {
		names = append(names, c.Name)
	}
	if err := w.csv.Write(names); err != nil {
		return err
	}
	w.csv.Flush()
	return w.csv.Error()
}

// Rows writes the rows.
func (w *Writer) Rows(p *Predictions) error {
	for _, c := range p.Columns {
		if c.Texts != nil {
			return w.texts(p)
		}
	}
	w.row = w.row[:0]
	for i := range p.Rows {
		for _, c := range p.Columns {
			w.row = append(strconv.AppendFloat(w.row, c.Values[i], 'g', -1, 64), ',')
		}
		w.row[len(w.row)-1] = '\n'
	}
	_, err := w.to.Write(w.row)
	return err
}

// texts writes rows of which some cells are text.
func (w *Writer) texts(p *Predictions) error {
	cells := make([]string, len(p.Columns))
	for i := range p.Rows {
		for j, c := range p.Columns {
			if c.Texts != nil {
				cells[j] = c.Texts[i]
			} else {
				cells[j] = strconv.FormatFloat(c.Values[i], 'g', -1, 64)
			}
		}
		if err := w.csv.Write(cells); err != nil {
			return err
		}
	}
	w.csv.Flush()
	return w.csv.Error()
}
