package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/train"
)

// printJSON writes v as one JSON document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// report is the output of train, fit, update and calibrate.
type report struct {
	Model    string         `json:"model"` // the file written
	Network  string         `json:"network"`
	Dtype    string         `json:"dtype"`
	Inputs   []int          `json:"inputs"` // shape of an example
	Features []string       `json:"features,omitempty"`
	Columns  []string       `json:"columns,omitempty"` // what became of those that do not hold plain numbers
	Targets  []string       `json:"targets"`
	Classes  []float64      `json:"classes,omitempty"`
	Labels   []string       `json:"labels,omitempty"`    // of classes that are text
	NoiseStd []float64      `json:"noise_std,omitempty"` // of each target, in its units
	Event    valla.Event    `json:"event"`
	Verdict  *valla.Verdict `json:"verdict,omitempty"` // of a fit, that of the event
}

// save writes the model m that a run made, and reports it. m is nil if the run failed. If the
// run was interrupted, a model that is there already is kept, m is written beside it, and the
// error says what the file contains.
func (w *work) save(cmd *cobra.Command, m *valla.Model, runErr error) error {
	if m == nil {
		return runErr
	}
	out, kept := w.out, ""
	if _, err := os.Stat(w.out); runErr != nil && err == nil {
		out, kept = beside(w.out), ", and "+w.out+" is as it was"
	}
	if err := m.Save(out); err != nil {
		return errors.Join(runErr, err)
	}
	r := newReport(m, out)
	r.Event.Notes = w.notes(r.Event)
	var err error
	if w.JSON { // which has the notes
		err = printJSON(cmd.OutOrStdout(), r)
	} else {
		r.remark(cmd.ErrOrStderr())
		err = r.print(cmd.OutOrStdout())
	}
	if runErr != nil {
		after := ""
		if r.Event.Result != nil {
			after = fmt.Sprintf(" after %d steps", r.Event.Result.Iterations)
		}
		return interruption(fmt.Sprintf("interrupted%s; %s holds the best state so far%s", after, out, kept))
	}
	return err
}

// remark prints what the user should read first.
func (r report) remark(to io.Writer) {
	for _, n := range r.Event.Notes {
		fmt.Fprintln(to, "valla: note:", flagged(n))
	}
	if v := r.Verdict; v != nil && v.Worse() {
		fmt.Fprintln(to, "valla: warning:", flagged(v.Advice))
	}
}

// notes returns sentences about a run that the user should read.
func (w *work) notes(e valla.Event) []string {
	switch {
	case w.checkpoint != "" && e.Result == nil:
		return append(e.Notes, "No checkpoint was written: the fit is one pass over the data.")
	case e.Result != nil && e.Result.Warning != "":
		return append(e.Notes, "The last "+e.Result.Warning+".")
	}
	return e.Notes
}

func newReport(m *valla.Model, path string) report {
	r := report{
		Model: path, Network: m.Form.String(), Dtype: m.Dtype().String(), Inputs: m.Task.Inputs.Shape, Features: m.Task.Inputs.Features,
		Targets: m.Task.Outputs.Targets(), NoiseStd: m.NoiseStds(), Event: m.History[len(m.History)-1],
	}
	r.Verdict = r.Event.Verdict
	if c, ok := m.Task.Outputs.(*task.Classification); ok {
		r.Classes, r.Labels = c.Classes, c.Names
	}
	if e := m.Task.Inputs.Encoding; e != nil && (r.Event.Action != valla.ActionFit || m.History[0].Action == valla.ActionWeights) {
		r.Columns = e.Summary()
	}
	return r
}

// print writes the report as text, with a line for each fact.
func (r report) print(to io.Writer) error {
	e := r.Event
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	line("network", "%s, %s", r.Network, r.Dtype)
	rows := fmt.Sprintf("%d to train, %d to validate", e.Rows, e.ValidationRows)
	switch e.Action {
	case valla.ActionUpdate:
		rows = fmt.Sprintf("%d added", e.Rows)
	case valla.ActionCalibrate:
		rows = fmt.Sprintf("%d to calibrate", e.Rows)
	}
	line("rows", "%s", rows)
	for _, text := range r.Columns {
		line("column", "%s", text)
	}
	switch e.Action {
	case valla.ActionCalibrate:
		line("predictions", "%s", e.Label)
	case valla.ActionFit, valla.ActionUpdate:
		line("posterior", "%s", e.Label)
	}
	if e.Result != nil {
		line("steps", "%s", steps(e.Result))
	} else if e.Seconds > 0 {
		line("time", "%.1f s", e.Seconds)
	}
	for _, text := range priors(e) {
		line("prior std", "%s", text)
	}
	for i, target := range r.Targets {
		if r.Classes != nil {
			line("classes", "%d of %q", len(r.Classes), target)
		} else {
			line("noise std", "%.4g of %q", r.NoiseStd[i], target)
		}
	}
	for _, f := range e.Facts {
		line(f.Name, "%.6g", f.Value)
	}
	line("wrote", "%s", r.wrote())
	if v := r.Verdict; v != nil {
		line("verdict", "%v", v)
	}
	return w.Flush()
}

// steps describes a run that was made in steps.
func steps(res *train.Result) string {
	text := fmt.Sprintf("%d in %.1f s", res.Iterations, res.Seconds)
	switch n := len(res.History); {
	case n > 0 && res.KeptLast:
		text += fmt.Sprintf(", the last kept, validation loss %.4f", res.History[n-1].Validation)
	case n > 0:
		text += fmt.Sprintf(", the best after %d with validation loss %.4f", res.BestIteration, res.BestValue)
	}
	switch res.Stopped {
	case train.Early:
		text += ", stopped early"
	case train.Interrupted:
		text += ", interrupted"
	}
	return text
}

// priors lists the prior standard deviations. If there are many groups of weights, it lists
// those of the first ones.
func priors(e valla.Event) []string {
	const most = 20
	var list []string
	for i, std := range e.PriorStds {
		if i == most {
			return append(list, fmt.Sprintf("... and %d more, see --json", len(e.PriorStds)-most))
		}
		text := fmt.Sprintf("%.4g", std)
		if e.Groups != nil {
			text += " of " + e.Groups[i]
		}
		list = append(list, text)
	}
	return list
}

// wrote returns the name of the written file and its size.
func (r report) wrote() string {
	info, err := os.Stat(r.Model)
	if err != nil {
		return r.Model
	}
	return fmt.Sprintf("%s (%d kB)", r.Model, (info.Size()+999)/1000)
}
