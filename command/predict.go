package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/listing"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
)

// predictCommand is the command line of valla predict.
type predictCommand struct {
	Level     float64   `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the interval from lower to upper, or of the set of classes; --interval is another name of the flag"`
	Quantiles []float64 `set:"quantiles" above:"0" below:"1" help:"regression: probabilities of further columns, such as 0.05,0.5,0.95 for q0.05, q0.5 and q0.95"`
	Above     []float64 `set:"above" help:"regression: numbers c of further columns, such as 100,200 for above_100 and above_200, the probabilities that the target is larger than c"`
	Samples   int       `set:"samples" min:"0" help:"number of functions to draw from the posterior, each at all rows jointly; 0 means none"`
	Noise     bool      `set:"noise" help:"with --samples, regression: draw targets, which scatter around the function"`
	Seed      uint64    `set:"seed" help:"seed of the samples"`
	Abstain   string    `set:"abstain" help:"mark rows that need a look, which break a rule: unfamiliar<=0.99, width95<=20 or probability>=0.9; the default is the rule of the model, if it has one"`
	reading
	rule    *calibrate.Abstain
	parts   inParts
	out     string
	medians int // predictions so far whose mean is the median
}

func newPredict() *cobra.Command {
	c := &predictCommand{}
	cmd := &cobra.Command{
		Use:     "predict DATA... --model FILE",
		Short:   "Predict with error bars",
		Long:    fmt.Sprintf(predictHelp, strings.Join(jointMethods(), ", ")),
		Example: "  valla predict new.csv --model houses.valla --out predictions.csv",
		Args:    c.parts.tables,
		RunE:    running(c.run),
	}
	cmd.Flags().StringVar(&c.out, "out", "", "`FILE` to write: .csv, .npz (an array for each column) or .npy (one array [N, columns])")
	c.reading.flags(cmd, c)
	c.parts.flags(cmd, "parts", "`FOLDER` of shards: predict the data in parts, and go on where an earlier run has ended")
	alias(cmd, "interval", "level")
	return cmd
}

const predictHelp = `Predict the targets for each row of a table, or for each image: the mean, the
standard deviation (of the posterior and the noise together), the bounds of a central interval, and
the two parts of the standard deviation, whose squares add up to its square: epistemic, which more
data would take away, and aleatoric, the noise. All are in the units of the target. The columns are
mean, std, lower, upper, epistemic and aleatoric; with several targets they are mean_NAME, std_NAME
and so on. Where a transformed target has no mean, mean is the median. --quantiles 0.05,0.95 adds
the quantiles q0.05 and q0.95 of the predictive distribution, and --above 100 the probability
above_100 of a target above 100. For a classification the columns are class, the most probable
class, and p_NAME, the probability of class NAME. After valla calibrate --method conformal the
interval contains the target with its probability by guarantee, and quantiles are bounds of such
intervals. A classification then has the column set: the names of the classes in a set that
contains the right class with this probability, with bars between the names. In .npz the sets are
the array set [rows, classes], with 1 for the classes of a set and 0 for the others; .npy leaves
them out.

--abstain marks rows that need a look. The column abstain is 1 for the rows that break the rule, and
the column unfamiliar, of models with a posterior, is the share of the training rows whose epistemic
variance is smaller.

--samples N adds N functions that are drawn from the posterior: the columns sample_1, sample_2 and
so on. For several targets the columns are sample_1_NAME; for a classification they are
sample_1_p_NAME, the class probabilities of the function. In .npz the samples are the array samples
[N, rows, targets or classes], and with --json lists in this order. A column belongs to one
function, so that sums or differences over rows make sense. The values are values of the function,
or targets with --noise. All rows and their joint covariance are then held in memory. These methods
have samples:
%s.

The columns of a table are found by name, in any order. The targets may be missing, and other
columns are ignored. Without --out, or with --out -, the predictions are printed as CSV. CSV is read
and written in batches, so that memory does not grow with the file; --json, .npz and .npy hold all
predictions in memory. DATA may be - for the standard input.

With --parts the data, which may be several files, are divided into parts that are predicted side by
side. Each part has a file in the folder. A second run does only the unfinished parts. --part K/N
does one share of the parts, in an array of jobs. A quoted cell with a line break cannot be read in
parts.`

// jointMethods returns the names of the methods whose posteriors have samples of functions.
func jointMethods() (names []string) {
	for _, m := range method.All() {
		if m.Joint {
			names = append(names, m.Name)
		}
	}
	return names
}

func (c *predictCommand) run(cmd *cobra.Command, args []string) error {
	if err := cmp.Or(c.parts.check(cmd), settings.Complete(c)); err != nil {
		return err
	}
	if err := c.readRule(); err != nil {
		return err
	}
	switch {
	case c.rule != nil && c.parts.dir != "":
		return settings.Errorf("--abstain and --parts, expected one of the two: the rule of the model goes with --parts")
	case c.Noise && c.Samples == 0:
		return settings.Errorf("--noise goes with --samples")
	case c.Samples > 0 && c.parts.dir != "":
		return settings.Errorf("--samples needs all rows together, and --parts divides them: expected one of the two")
	case c.parts.dir != "":
		return c.predictParts(cmd, args)
	}
	write, err := c.writer(cmd, args)
	if err != nil {
		return err
	}
	m, rows, err := c.open(cmd.Context(), args[0], false)
	if err != nil {
		return err
	}
	all := &listing.Predictions{Targets: m.Task.Targets()}
	if c.Samples > 0 {
		return c.sampled(cmd, m, rows, write)
	}
	if write == nil {
		return c.table(cmd, m, rows, all)
	}
	if err := c.batches(cmd, m, rows, all.Join); err != nil {
		return err
	}
	return c.finish(cmd, all, write)
}

// readRule reads the rule for the rows that need a look.
func (c *predictCommand) readRule() (err error) {
	if c.Abstain == "" {
		return nil
	}
	if c.rule, err = calibrate.ParseAbstain(c.Abstain, c.Level); err != nil {
		return settings.Errorf("abstain: %w", err)
	}
	return nil
}

// finish writes all predictions to the file, if the user names one, and reports the predictions.
func (c *predictCommand) finish(cmd *cobra.Command, all *listing.Predictions, write func(io.Writer, *listing.Predictions) error) error {
	if c.out != "" {
		err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error { return write(w, all) })
		if err != nil {
			return err
		}
	}
	return c.report(cmd.OutOrStdout(), all)
}

// sampled writes predictions of all rows with samples of functions.
func (c *predictCommand) sampled(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, write func(io.Writer, *listing.Predictions) error) error {
	set, err := allRows(cmd, rows)
	if err != nil {
		return err
	}
	d := c.drawer(cmd)
	all, err := c.predictions(cmd, m, rows, set, valla.PredictOptions{Link: task.Link(c.Link), OnRows: d.predicted(rows.Path)})
	d.close()
	if err != nil {
		return err
	}
	printNotes(cmd, medianNotes(c.medians))
	all.Samples, err = m.Sample(cmd.Context(), set.X, valla.SampleOptions{Samples: c.Samples, Noise: c.Noise, Seed: c.Seed})
	if err != nil {
		return fmt.Errorf("%s: %w", rows.Path, err)
	}
	if write == nil {
		write = writeTable
	}
	if c.out == "" && !c.JSON {
		return write(cmd.OutOrStdout(), all)
	}
	return c.finish(cmd, all, write)
}

// table writes the predictions as a table of text, batch by batch.
func (c *predictCommand) table(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, all *listing.Predictions) error {
	if c.out == "" {
		c.quiet = isTerminal(cmd.OutOrStdout()) // where the table appears by itself
		return c.batches(cmd, m, rows, tableWriter(cmd.OutOrStdout()))
	}
	err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error {
		write := tableWriter(w)
		return c.batches(cmd, m, rows, func(p *listing.Predictions) error {
			all.Rows += p.Rows
			return write(p)
		})
	})
	if err != nil {
		return err
	}
	return c.report(cmd.OutOrStdout(), all)
}

// batches calls f with the predictions for each batch of rows.
func (c *predictCommand) batches(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, f func(*listing.Predictions) error) error {
	err := c.each(cmd, m, rows, func(set *data.Set, o valla.PredictOptions) error {
		r, err := c.predictions(cmd, m, rows, set, o)
		if err != nil {
			return err
		}
		return f(r)
	})
	printNotes(cmd, medianNotes(c.medians))
	return err
}

// medianNotes returns a note on predictions whose mean is the median.
func medianNotes(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{listing.MedianNote(fmt.Sprint(n))}
}

// predictions returns the predictions for a batch of rows.
func (c *predictCommand) predictions(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, set *data.Set, o valla.PredictOptions) (*listing.Predictions, error) {
	o.Abstain = c.rule
	p, err := m.Predict(cmd.Context(), set.X, o)
	if err != nil {
		return nil, err
	}
	c.medians += p.Medians()
	return listing.Of(cmd.Context(), p, listing.Options{Level: c.Level, Quantiles: c.Quantiles, Above: c.Above}, listing.IDs(rows)...)
}

// document returns the JSON document of r: the columns, the probabilities of a row as one list, and the file out, if there is one.
func document(r *listing.Predictions, out string) map[string]any {
	doc := maps.Clone(r.Head)
	if out != "" {
		doc["out"] = out
	}
	doc["targets"], doc["rows"] = r.Targets, r.Rows
	if r.Probs != nil {
		doc["probs"] = r.Probs
	}
	if r.Samples != nil {
		doc["samples"] = sampleLists(r)
	}
	names := listing.Names(r.Columns, slices.Collect(maps.Keys(doc))...)
	for i, c := range r.Columns {
		switch {
		case c.Texts != nil:
			doc[names[i]] = c.Texts
		case r.Probs == nil || !strings.HasPrefix(c.Name, "p_"):
			doc[names[i]] = listing.Numbers(c.Values)
		}
	}
	return doc
}

// report prints the predictions as a document, or a summary of what was written.
func (c *predictCommand) report(stdout io.Writer, r *listing.Predictions) error {
	if !c.JSON {
		_, err := fmt.Fprintf(stdout, "wrote %d predictions of %s to %s\n", r.Rows, tablefile.Listed(r.Targets), c.out)
		return err
	}
	return printJSON(stdout, document(r, c.out))
}

// writer returns the function that writes the format of the file of --out, which must be no file that the command reads.
// It returns nil if the predictions go out as a table of text in batches.
func (c *predictCommand) writer(cmd *cobra.Command, args []string) (func(io.Writer, *listing.Predictions) error, error) {
	if c.out == data.Stdin {
		c.out = ""
	}
	if c.out == "" && c.JSON {
		return writeTable, nil
	}
	if c.out == "" {
		return nil, nil
	}
	formats := map[string]func(io.Writer, *listing.Predictions) error{".csv": writeTable, ".npz": writeNPZ, ".npy": writeNPY}
	write, ok := formats[strings.ToLower(filepath.Ext(c.out))]
	if !ok {
		return nil, settings.Errorf("--out %s, expected a file called .csv, .npz or .npy", c.out)
	}
	if strings.EqualFold(filepath.Ext(c.out), ".csv") && !c.JSON {
		write = nil
	}
	return write, checkOut(cmd, "out", args)
}

// writeTable writes the columns as a table of text.
func writeTable(w io.Writer, p *listing.Predictions) error { return tableWriter(w)(p) }

// tableWriter returns a function that writes a batch of columns as comma-separated text, and a heading
// before the first batch.
func tableWriter(to io.Writer) func(*listing.Predictions) error {
	w, begun := listing.NewWriter(to), false
	return func(p *listing.Predictions) error {
		all := *p
		all.Columns = slices.Concat(p.Columns, sampleColumns(p))
		if !begun {
			if err := w.Header(&all); err != nil {
				return err
			}
			begun = true
		}
		return w.Rows(&all)
	}
}

// numbers returns the columns of numbers, for arrays. A most probable class that is text is left out,
// because it follows from the probabilities.
func numbers(p *listing.Predictions) []listing.Column {
	return slices.DeleteFunc(slices.Clone(p.Columns), func(c listing.Column) bool { return c.Texts != nil })
}

// writeNPZ writes one array [N] for each column, and the arrays of sets and of samples.
func writeNPZ(w io.Writer, p *listing.Predictions) error {
	var names []string
	var arrays []*tensor.Dense
	for _, c := range numbers(p) {
		names, arrays = append(names, c.Name), append(arrays, tensor.New(tensor.WithShape(len(c.Values)), tensor.WithBacking(c.Values)))
	}
	if p.Sets != nil {
		names, arrays = append(names, "set"), append(arrays, membership(p))
	}
	if p.Samples != nil {
		names, arrays = append(names, "samples"), append(arrays, p.Samples)
	}
	return npy.EncodeArchive(w, names, arrays)
}

// membership returns an array [N,C] with 1 for the classes in the set of each row, and 0 for the others.
func membership(p *listing.Predictions) *tensor.Dense {
	classes := len(p.Probs[0])
	in := make([]float64, p.Rows*classes)
	for i, set := range p.Sets {
		for _, k := range set {
			in[i*classes+k] = 1
		}
	}
	return tensor.New(tensor.WithShape(p.Rows, classes), tensor.WithBacking(in))
}

// writeNPY writes one array [N, columns].
func writeNPY(w io.Writer, p *listing.Predictions) error {
	var rows []float64
	columns := append(numbers(p), sampleColumns(p)...)
	for i := range p.Rows {
		for _, c := range columns {
			rows = append(rows, c.Values[i])
		}
	}
	return npy.Encode(w, tensor.New(tensor.WithShape(p.Rows, len(columns)), tensor.WithBacking(rows)))
}
