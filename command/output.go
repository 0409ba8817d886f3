package command

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

// asJSON has the flag that chooses the form of the output.
type asJSON struct {
	JSON bool `set:"json" help:"print one JSON document"` // JSON instead of text
}

// print prints the result of cmd: the document or, without the flag, the text.
func (form asJSON) print(cmd *cobra.Command, document any, text string) error {
	if form.JSON {
		return printJSON(cmd.OutOrStdout(), document)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// report is the output of train, fit, update and calibrate.
type report struct {
	Model      string         `json:"model"`                       // path of the model file
	Network    string         `json:"network"`                     // description of the network
	Dtype      string         `json:"dtype"`                       // element type of the network
	Inputs     []int          `json:"inputs"`                      // shape of the inputs of one example
	Features   []string       `json:"features,omitempty"`          // names of the inputs, if they are columns
	Columns    []string       `json:"columns,omitempty"`           // a sentence about each column that does not hold plain numbers
	Targets    []string       `json:"targets"`                     // names of the targets
	Classes    []float64      `json:"classes,omitempty"`           // classes as numbers
	Labels     []string       `json:"labels,omitempty"`            // names of classes that are text
	NoiseStd   []float64      `json:"noise_std,omitempty"`         // noise of each target, in the units of the target or of the transformed target
	Transforms []string       `json:"target_transforms,omitempty"` // target transform of each target; nil: none
	Laws       []string       `json:"laws,omitempty"`              // law of the residuals of each target; nil: Gaussian
	Event      valla.Event    `json:"event"`                       // record of the run
	Verdict    *valla.Verdict `json:"verdict,omitempty"`           // verdict of the event, if the run was a fit
}

// save writes the model m of a run to the file w.out, and prints the report. m is nil if the run
// failed. If the run was interrupted, an older model at w.out stays, m is written beside it, and the
// error says what the new file contains.
func (w *work) save(cmd *cobra.Command, m *valla.Model, runErr error) error {
	if m == nil {
		return runErr
	}
	out, kept := w.out, ""
	if _, err := os.Stat(w.out); runErr != nil && err == nil {
		out, kept = w.beside(), ", and "+w.out+" is as it was"
	}
	if err := m.Save(out); err != nil {
		return errors.Join(runErr, err)
	}
	r := newReport(m, out)
	r.Event.Notes = w.notes(r.Event)
	var err error
	if w.JSON { // the document has the notes
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

// remark prints the notes and the warning of the report.
func (r report) remark(to io.Writer) {
	for _, n := range r.Event.Notes {
		fmt.Fprintln(to, "valla: note:", flagged(n))
	}
	if v := r.Verdict; v != nil && v.Worse() {
		fmt.Fprintln(to, "valla: warning:", flagged(v.Advice))
	}
}

// notes returns the sentences about the event e that the user should read.
func (w *work) notes(e valla.Event) []string {
	switch {
	case w.checkpoint != "" && e.Result == nil:
		return append(e.Notes, "No checkpoint was written: the fit is one pass over the data.")
	case e.Result != nil && e.Result.Warning != "":
		return append(e.Notes, "The last "+e.Result.Warning+".")
	}
	return e.Notes
}

// newReport returns the report on the last event of m, which was written to the file at path.
func newReport(m *valla.Model, path string) report {
	r := report{
		Model: path, Network: m.Form.String(), Dtype: m.Dtype().String(), Inputs: m.Task.Inputs.Shape, Features: m.Task.Inputs.Features,
		Targets: m.Task.Targets(), NoiseStd: m.NoiseStds(), Event: m.History[len(m.History)-1],
	}
	r.Verdict = r.Event.Verdict
	for _, l := range m.Laws {
		r.Laws = append(r.Laws, l.String())
	}
	if o, ok := m.Task.Outputs.(*task.Regression); ok {
		for _, t := range o.Transforms {
			r.Transforms = append(r.Transforms, t.String())
		}
	}
	if c, ok := m.Task.Outputs.(*task.Classification); ok {
		r.Classes, r.Labels = c.Classes, c.Names
	}
	if e := m.Task.Inputs.Encoding; e != nil && (r.Event.Action != valla.ActionFit || m.History[0].Action == valla.ActionWeights) {
		r.Columns = e.Summary()
		for _, p := range m.Task.Inputs.Paddings {
			r.Columns = append(r.Columns, p.String())
		}
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
	line("rows", "%s", rowsOf(e))
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
	r.printFindings(line)
	return w.Flush()
}

// printFindings prints what the run has found, the file, and the verdict, with the function line.
func (r report) printFindings(line func(name, format string, args ...any)) {
	for _, text := range priors(r.Event) {
		line("prior std", "%s", text)
	}
	if r.Classes != nil {
		line("classes", "%d of %q", len(r.Classes), r.Targets[0])
	}
	for i, text := range r.Transforms { // a target may have several columns
		line("transform", "%s of %q", text, r.Targets[i*len(r.Targets)/len(r.Transforms)])
	}
	for i, std := range r.NoiseStd {
		of := "%.4g of %q"
		if r.Transforms != nil {
			of = "%.4g of the transformed %q"
		}
		line("noise std", of, std, r.Targets[i*len(r.Targets)/len(r.NoiseStd)])
	}
	for i, text := range r.Laws {
		line("law", "%s of %q", text, r.Targets[i])
	}
	for _, f := range r.Event.Facts {
		line(f.Name, "%.6g", f.Value)
	}
	line("wrote", "%s", r.wrote())
	if v := r.Verdict; v != nil {
		line("verdict", "%v", v)
	}
}

// rowsOf says what the rows of an event were for, and how many there were.
func rowsOf(e valla.Event) string {
	switch e.Action {
	case valla.ActionUpdate:
		return fmt.Sprintf("%d added", e.Rows)
	case valla.ActionCalibrate:
		return fmt.Sprintf("%d to calibrate", e.Rows)
	}
	text := fmt.Sprintf("%d to train, %d to validate", e.Rows, e.ValidationRows)
	if e.DrawnFrom > 0 {
		text += fmt.Sprintf(", drawn from %d", e.DrawnFrom)
	}
	return text
}

// steps describes the result of a run by mini-batches.
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

// priors lists the prior standard deviations of an event, at most the first 20.
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

// wrote returns the name of the model file and its size.
func (r report) wrote() string {
	info, err := os.Stat(r.Model)
	if err != nil {
		return r.Model
	}
	return fmt.Sprintf("%s (%d kB)", r.Model, (info.Size()+999)/1000)
}
