package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
)

// Rows are N rows with their predictions.
type Rows struct {
	Names  []string             // names of the D inputs; nil if the inputs are no columns
	X      []float64            // inputs [N,D], in the units of the data
	Text   ValueText            // how the data write a value of an input; nil: with four significant digits
	Y      []float64            // targets [N,W] as the model reads them
	Train  []data.ColumnProfile // inputs of the training [D]; nil if they are not known
	Level  float64              // probability of the intervals or sets
	Inside []float64            // share of the targets of each row inside their intervals or sets [N]

	// Z [N,T] are the normal scores of the targets, Φ⁻¹(P(target or less)), which are standard normal if the predictions are
	// right. Mean and Target [N,T] are in the units of the data. All are nil for classes.
	Z, Mean, Target []float64
	// Std [N] sorts the rows by the size of their error bars.
	Std []float64
	// Sure and Right [N] are the probabilities of the most probable classes, and 1 where these are right, 0 elsewhere. Both are
	// nil for numbers.
	Sure, Right []float64

	// Loss is the mean NLL, and Expected the NLL that the fit found on its rows; the latter is NaN if it is not known.
	Loss, Expected float64
	// Probe predicts rows with other inputs; nil: nothing is probed.
	Probe Probe
}

// ValueText writes a value of the input called name.
type ValueText func(name string, v float64) string

// text writes a value of an input.
func (r *Rows) text(name string, v float64) string {
	if r.Text == nil {
		return number(v)
	}
	return r.Text(name, v)
}

// N returns the number of rows.
func (r *Rows) N() int { return len(r.Inside) }

// Probe predicts the rows with the given numbers for other inputs x, [len(rows),D].
type Probe func(x []float64, rows []int) (Answer, error)

// mixed probes rows between which values were exchanged. It returns false where the network takes no such rows, such as a mask
// without a step: the exchange then tells nothing.
func (r *Rows) mixed(x []float64, rows []int) (a Answer, ok bool, err error) {
	a, err = r.Probe(x, rows)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return a, false, err
	}
	return a, err == nil, nil
}

// Answer is what a [Probe] finds for n rows.
type Answer struct {
	Center []float64 // means of the targets, or probabilities of the classes, [n,K]
	Width  []float64 // logarithms of the sizes of the error bars [n]
	Loss   []float64 // NLLs of the targets [n]
}

// Kinds of findings.
const (
	Duplicates = "duplicates"        // rows are there more than once
	Identifier = "identifier"        // the model depends on a column that names the rows
	Exchanged  = "exchanged columns" // two columns have changed places
	Unit       = "unit"              // a column has another unit than in the training
	Constant   = "constant"          // a column no longer varies
	Drift      = "drift"             // a column is distributed otherwise than in the training
	SliceOff   = "slice"             // intervals of some rows do not hold
	Shift      = "shift"             // all targets lie on one side of the predictions
	Narrow     = "narrow"            // all error bars are too small
	Wide       = "wide"              // all error bars are too large
	Tails      = "tails"             // few targets lie much further away than predicted
)

// Finding is a fault of the rows or of the predictions.
type Finding struct {
	Kind    string   `json:"kind"`              // one of the kinds above
	Columns []string `json:"columns,omitempty"` // columns that it is about
	Text    string   `json:"text"`              // what was found, in sentences
	Remedy  string   `json:"remedy,omitempty"`  // what may be done
	// Follows says that a finding before may be the cause.
	Follows bool `json:"follows,omitempty"`

	idle bool // it explains no others
}

// Result is what an audit finds.
type Result struct {
	Findings []Finding // causes first
	Slices   []Slice   // slices whose intervals hold least
	Worst    Measure   // smallest coverage of a slice, with bounds that hold for all slices together; NaN if there are no slices
	Compared int       // number of slices that were compared

	WorstName string    // name of the slice with the smallest upper bound
	Drifts    []Drifted // inputs compared with the training, the largest change first
	Weights   []Weight  // what the predictions depend on, the largest first
}

// Run audits rows. An error comes from the probe.
func Run(r *Rows) (*Result, error) {
	out := &Result{}
	if len(r.Train) != len(r.Names) {
		r.Train = nil
	}
	out.add(r.duplicates())
	weights, err := r.weights()
	if err != nil {
		return nil, err
	}
	out.Weights = weights
	named := r.identifiers(weights)
	out.add(named...)
	out.Drifts = r.drifts()
	columns, err := r.columns(out.Drifts, named, weights)
	if err != nil {
		return nil, err
	}
	out.add(columns...)
	causes, explains := len(out.Findings), slices.ContainsFunc(out.Findings, func(f Finding) bool { return f.Kind != Duplicates && !f.idle })
	rest := r.slices(out)
	out.add(r.shape(rest)...)
	for i := causes; i < len(out.Findings); i++ {
		out.Findings[i].Follows = explains
	}
	return out, nil
}

// add adds findings that were made.
func (r *Result) add(all ...Finding) {
	for _, f := range all {
		if f.Kind != "" {
			r.Findings = append(r.Findings, f)
		}
	}
}

// percent returns a share as text.
func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// number returns the text of a number with four significant digits.
func number(v float64) string { return fmt.Sprintf("%.4g", v) }
