package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
)

// predictCommand is the command line of valla predict.
type predictCommand struct {
	Level   float64 `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the interval from lower to upper, or of the set of classes; --interval is another name of it"`
	Samples int     `set:"samples" min:"0" help:"number of functions to draw from the posterior, each at all rows together; 0 means none"`
	Noise   bool    `set:"noise" help:"with --samples, for numbers: draw targets, which scatter around the function"`
	Seed    uint64  `set:"seed" help:"seed of the samples"`
	reading
	out string
}

func newPredict() *cobra.Command {
	c := &predictCommand{}
	cmd := &cobra.Command{
		Use:   "predict DATA --model FILE",
		Short: "Predict with error bars",
		Long: fmt.Sprintf(`Predict the targets for each row of a table, or for each image: the mean, the standard
deviation (of the posterior and the noise together), the bounds of a central interval, and
the two parts of the standard deviation, whose squares add up to its square: epistemic, which
more data would take away, and aleatoric, the noise. All are in the units of the target. The
columns are mean, std, lower, upper, epistemic and aleatoric; with several targets they are
mean_NAME, std_NAME and so on. For a classifier they are class, which is the most probable
class, and p_NAME, which is the probability of class NAME. After valla calibrate --method
conformal the interval holds its probability by guarantee, and classes have the column set, the
names of the classes with bars between them, of which one is right with this probability; .npz and
.npy leave it out.

--samples N adds N functions that are drawn from the posterior: the columns sample_1, sample_2 and
so on, for several targets sample_1_NAME, and for classes sample_1_p_NAME, the probabilities of
that function; in .npz the array samples [N, rows, targets or classes], and with --json lists in
this order. A column belongs to one function, so that sums or differences over rows may be taken.
The values are those of the function, and with --noise targets. All rows are then held in memory,
with the covariance of all of them. These methods have samples:
%s.

The columns of a table are found by
name, whatever their order; the targets may be missing, and other columns are not looked at.
Without --out, or with --out -, the predictions are printed as CSV. CSV is read and written
in batches, so that memory does not grow with the file; --json, .npz and .npy hold all
predictions. DATA may be - for the standard input.`, strings.Join(jointMethods(), ", ")),
		Example: "  valla predict new.csv --model houses.valla --out predictions.csv",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	cmd.Flags().StringVar(&c.out, "out", "", "`FILE` to write: .csv, .npz (an array for each column) or .npy (one array [N, columns])")
	c.flags(cmd, c)
	alias(cmd, "interval", "level")
	return cmd
}

// jointMethods names the methods whose posteriors have samples of functions.
func jointMethods() (names []string) {
	for _, m := range valla.Methods() {
		if m.Joint {
			names = append(names, m.Name)
		}
	}
	return names
}

func (c *predictCommand) run(cmd *cobra.Command, args []string) error {
	if c.Noise && c.Samples == 0 {
		return settings.Errorf("--noise goes with --samples")
	}
	write, err := c.writer(args[0])
	if err != nil {
		return err
	}
	m, rows, err := c.open(args[0], false)
	if err != nil {
		return err
	}
	all := &predictions{targets: m.Task.Outputs.Targets()}
	if c.Samples > 0 {
		return c.sampled(cmd, m, rows, write)
	}
	if write == nil {
		return c.table(cmd, m, rows, all)
	}
	if err := c.batches(cmd, m, rows, all.join); err != nil {
		return err
	}
	return c.finish(cmd, all, write)
}

// finish writes all predictions to the file, if there is one, and reports them.
func (c *predictCommand) finish(cmd *cobra.Command, all *predictions, write func(io.Writer, *predictions) error) error {
	if c.out != "" {
		err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error { return write(w, all) })
		if err != nil {
			return err
		}
	}
	return c.report(cmd.OutOrStdout(), all)
}

// sampled writes predictions of all rows with samples of functions.
func (c *predictCommand) sampled(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, write func(io.Writer, *predictions) error) error {
	defer rows.Close()
	set, err := rows.All(0)
	if err != nil {
		return err
	}
	printNotes(cmd, rows.Notes())
	all, err := c.predictions(cmd, m, rows, set, valla.PredictOptions{Link: task.Link(c.Link)})
	if err != nil {
		return err
	}
	all.samples, err = m.Sample(cmd.Context(), set.X, valla.SampleOptions{Samples: c.Samples, Noise: c.Noise, Seed: c.Seed})
	if err != nil {
		return fmt.Errorf("%s: %w", rows.Path(), err)
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
func (c *predictCommand) table(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, all *predictions) error {
	if c.out == "" {
		return c.batches(cmd, m, rows, tableWriter(cmd.OutOrStdout()))
	}
	err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error {
		write := tableWriter(w)
		return c.batches(cmd, m, rows, func(p *predictions) error {
			all.rows += p.rows
			return write(p)
		})
	})
	if err != nil {
		return err
	}
	return c.report(cmd.OutOrStdout(), all)
}

// batches calls f with the predictions for each batch of rows.
func (c *predictCommand) batches(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, f func(*predictions) error) error {
	return c.each(cmd, m, rows, func(set *data.Set, o valla.PredictOptions) error {
		r, err := c.predictions(cmd, m, rows, set, o)
		if err != nil {
			return err
		}
		return f(r)
	})
}

// predictions are those of a batch of rows.
func (c *predictCommand) predictions(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, set *data.Set, o valla.PredictOptions) (*predictions, error) {
	p, err := m.Predict(cmd.Context(), set.X, o)
	if err != nil {
		return nil, err
	}
	r := &predictions{targets: p.Targets, rows: p.N()}
	for k, name := range rows.ID {
		r.columns = append(r.columns, column{name: name, texts: rows.IDs[k]})
	}
	return r, c.columns(r, p)
}

// columns adds the columns of a prediction.
func (c *predictCommand) columns(r *predictions, p *valla.Prediction) error {
	if err := settings.Complete(c); err != nil {
		return err
	}
	if p.Classes != nil {
		r.classes(p)
		return c.sets(r, p)
	}
	lower, upper, err := p.Interval(c.Level)
	if err != nil {
		return err
	}
	columns := []column{{name: "mean", values: p.Mean}, {name: "std", values: p.Std()}, {name: "lower", values: lower},
		{name: "upper", values: upper}, {name: "epistemic", values: p.EpistemicStd()}, {name: "aleatoric", values: p.AleatoricStd()}}
	for t, target := range p.Targets {
		suffix := ""
		if len(p.Targets) > 1 {
			suffix = "_" + target
		}
		for _, c := range columns {
			r.add(c.name+suffix, c.values, t, len(p.Targets))
		}
	}
	r.head = map[string]any{"level": c.Level}
	return nil
}

// sets adds the column set, the classes of a set of guaranteed coverage, where the model was
// calibrated for them.
func (c *predictCommand) sets(r *predictions, p *valla.Prediction) error {
	if p.Conformal == nil {
		return nil
	}
	names, err := p.SetNames(c.Level)
	if err != nil {
		return err
	}
	r.columns = append(r.columns, column{name: "set", texts: names})
	r.head["level"] = c.Level
	return nil
}

// predictions are the predictions for N rows, in named columns.
type predictions struct {
	targets []string
	rows    int
	columns []column
	head    map[string]any // what --json prints beside targets, rows and columns
	probs   [][]float64    // of classes, for --json
	samples *tensor.Dense  // [S,N,T] or, of classes, [S,N,C]; nil where there are none
}

// column has the values of N rows, or their texts.
type column struct {
	name   string
	values []float64
	texts  []string
}

// cell returns the text of a row.
func (c column) cell(i int) string {
	if c.texts != nil {
		return c.texts[i]
	}
	return strconv.FormatFloat(c.values[i], 'g', -1, 64)
}

// list returns the column for --json.
func (c column) list() any {
	if c.texts != nil {
		return c.texts
	}
	return c.values
}

// join adds the rows of another batch.
func (r *predictions) join(p *predictions) error {
	if r.columns == nil {
		*r = *p
		return nil
	}
	for i, c := range p.columns {
		r.columns[i].values, r.columns[i].texts = append(r.columns[i].values, c.values...), append(r.columns[i].texts, c.texts...)
	}
	r.rows, r.probs = r.rows+p.rows, append(r.probs, p.probs...)
	return nil
}

// add adds column t of values [N,width].
func (r *predictions) add(name string, values []float64, t, width int) {
	of := make([]float64, r.rows)
	for i := range of {
		of[i] = values[i*width+t]
	}
	r.columns = append(r.columns, column{name: name, values: of})
}

// classes adds the column class, which is the most probable class, and for each class the
// column p_NAME with its probabilities. In the document the probabilities of a row are one
// list.
func (r *predictions) classes(p *valla.Prediction) {
	class := column{name: "class"}
	c := len(p.Classes)
	for i, best := range p.Best() {
		if p.Labels != nil {
			class.texts = append(class.texts, p.Labels[best])
		} else {
			class.values = append(class.values, p.Classes[best])
		}
		r.probs = append(r.probs, p.Probs[i*c:(i+1)*c])
	}
	r.columns = append(r.columns, class)
	for k := range p.Classes {
		r.add("p_"+p.ClassName(k), p.Probs, k, c)
	}
	r.head = map[string]any{"link": p.Link, "classes": p.Classes}
	if p.Labels != nil {
		r.head["classes"] = p.Labels
	}
}

// document returns what --json prints.
func (r *predictions) document() map[string]any {
	doc := maps.Clone(r.head)
	doc["targets"], doc["rows"] = r.targets, r.rows
	for _, c := range r.columns {
		if r.probs == nil || !strings.HasPrefix(c.name, "p_") {
			doc[c.name] = c.list()
		}
	}
	if r.probs != nil {
		doc["probs"] = r.probs
	}
	if r.samples != nil {
		doc["samples"] = r.sampleLists()
	}
	return doc
}

// report prints the predictions as a document, or a summary of what was written.
func (c *predictCommand) report(stdout io.Writer, r *predictions) error {
	if !c.JSON {
		_, err := fmt.Fprintf(stdout, "wrote %d predictions of %s to %s\n", r.rows, quoted(r.targets), c.out)
		return err
	}
	doc := r.document()
	if c.out != "" {
		doc["out"] = c.out
	}
	return printJSON(stdout, doc)
}

// writer returns the function that writes the format of the file given by --out, which must not
// be the input, or nil where the predictions go out as a table of text without a document of
// them.
func (c *predictCommand) writer(input string) (func(io.Writer, *predictions) error, error) {
	if c.out == data.Stdin {
		c.out = ""
	}
	if c.out == "" && c.JSON {
		return writeTable, nil
	}
	if c.out == "" {
		return nil, nil
	}
	formats := map[string]func(io.Writer, *predictions) error{".csv": writeTable, ".npz": writeNPZ, ".npy": writeNPY}
	write, ok := formats[strings.ToLower(filepath.Ext(c.out))]
	if !ok {
		return nil, settings.Errorf("--out %s, expected a file called .csv, .npz or .npy", c.out)
	}
	if strings.EqualFold(filepath.Ext(c.out), ".csv") && !c.JSON {
		write = nil
	}
	return write, checkOut("--out", c.out, input, c.model)
}

// writeTable writes the columns as a table of text.
func writeTable(w io.Writer, p *predictions) error { return tableWriter(w)(p) }

// tableWriter returns a function that writes a batch of columns as comma-separated text, every
// number with all its digits, and a header before the first.
func tableWriter(w io.Writer) func(*predictions) error {
	c, begun := csv.NewWriter(w), false
	return func(p *predictions) error {
		columns := slices.Concat(p.columns, p.sampleColumns())
		cells := make([]string, len(columns))
		if !begun {
			for j, column := range columns {
				cells[j] = column.name
			}
			if err := c.Write(cells); err != nil {
				return err
			}
			begun = true
		}
		for i := range p.rows {
			for j, column := range columns {
				cells[j] = column.cell(i)
			}
			if err := c.Write(cells); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	}
}

// numbers returns the columns of numbers, for arrays. The most probable class of text is not
// among them: it is the greatest of the probabilities that follow.
func (p *predictions) numbers() []column {
	return slices.DeleteFunc(slices.Clone(p.columns), func(c column) bool { return c.texts != nil })
}

// writeNPZ writes one array [N] for each column.
func writeNPZ(w io.Writer, p *predictions) error {
	var names []string
	var arrays []*tensor.Dense
	for _, c := range p.numbers() {
		names, arrays = append(names, c.name), append(arrays, tensor.New(tensor.WithShape(len(c.values)), tensor.WithBacking(c.values)))
	}
	if p.samples != nil {
		names, arrays = append(names, "samples"), append(arrays, p.samples)
	}
	return npy.EncodeArchive(w, names, arrays)
}

// writeNPY writes one array [N, columns].
func writeNPY(w io.Writer, p *predictions) error {
	var rows []float64
	columns := append(p.numbers(), p.sampleColumns()...)
	for i := range p.rows {
		for _, c := range columns {
			rows = append(rows, c.values[i])
		}
	}
	return npy.Encode(w, tensor.New(tensor.WithShape(p.rows, len(columns)), tensor.WithBacking(rows)))
}
