package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
)

// predictCommand is the command line of valla predict.
type predictCommand struct {
	Level float64 `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the interval from lower to upper"`
	reading
	out string
}

func newPredict() *cobra.Command {
	c := &predictCommand{}
	cmd := &cobra.Command{
		Use:   "predict DATA --model FILE",
		Short: "Predict with error bars",
		Long: `Predict the targets for each row of a table, or for each image: the mean, the standard
deviation (of the posterior and the noise together), the bounds of a central interval, and
the two parts of the standard deviation, whose squares add up to its square: epistemic, which
more data would take away, and aleatoric, the noise. All are in the units of the target. The
columns are mean, std, lower, upper, epistemic and aleatoric; with several targets they are
mean_NAME, std_NAME and so on. For a classifier they are class, which is the most probable
class, and p_NAME, which is the probability of class NAME. The columns of a table are found by
name, whatever their order; the targets may be missing. Without --out the predictions are
printed as CSV.`,
		Example: "  valla predict new.csv --model houses.valla --out predictions.csv",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	cmd.Flags().StringVar(&c.out, "out", "", "`FILE` to write: .csv, .npz (an array for each column) or .npy (one array [N, columns])")
	c.flags(cmd, c)
	return cmd
}

func (c *predictCommand) run(cmd *cobra.Command, args []string) error {
	write, err := c.writer()
	if err != nil {
		return err
	}
	m, rows, err := c.open(args[0], false)
	if err != nil {
		return err
	}
	stdout := bufio.NewWriter(cmd.OutOrStdout())
	r, err := c.predict(cmd, m, rows, func(out io.Writer, p *predictions, end bool) error {
		return write(cmp.Or[io.Writer](out, stdout), p, end)
	})
	if err != nil {
		return err
	}
	if err := c.report(stdout, r); err != nil {
		return err
	}
	return stdout.Flush()
}

// columns returns the columns of a prediction.
func (c *predictCommand) columns(p *valla.Prediction) (*predictions, error) {
	r := &predictions{targets: p.Targets, rows: p.N()}
	if p.Classes != nil {
		r.classes(p)
		return r, nil
	}
	if err := settings.Complete(c); err != nil {
		return nil, err
	}
	lower, upper, err := p.Interval(c.Level)
	if err != nil {
		return nil, err
	}
	columns := []struct {
		name   string
		values []float64
	}{{"mean", p.Mean}, {"std", p.Std()}, {"lower", lower}, {"upper", upper}, {"epistemic", p.EpistemicStd()}, {"aleatoric", p.AleatoricStd()}}
	for t, target := range p.Targets {
		suffix := ""
		if len(p.Targets) > 1 {
			suffix = "_" + target
		}
		for _, c := range columns {
			r.add(c.name+suffix, c.values, t, len(p.Targets))
		}
	}
	r.doc = map[string]any{"level": c.Level}
	for i, name := range r.names {
		r.doc[name] = r.columns[i]
	}
	return r, nil
}

// predictions are the predictions for N rows, in named columns.
type predictions struct {
	targets []string
	rows    int
	names   []string
	columns [][]float64    // [N] each
	doc     map[string]any // what --json prints beside targets and rows
}

// add adds column t of values [N,width].
func (r *predictions) add(name string, values []float64, t, width int) {
	column := make([]float64, r.rows)
	for i := range column {
		column[i] = values[i*width+t]
	}
	r.names, r.columns = append(r.names, name), append(r.columns, column)
}

// classes adds the column class, which is the most probable class, and for each class the
// column p_NAME with its probabilities. In the document the probabilities of a row are one
// list.
func (r *predictions) classes(p *valla.Prediction) {
	var class []float64
	var probs [][]float64
	c := len(p.Classes)
	for i, best := range p.Best() {
		class, probs = append(class, p.Classes[best]), append(probs, p.Probs[i*c:(i+1)*c])
	}
	r.add("class", class, 0, 1)
	for k, name := range p.Classes {
		r.add("p_"+task.ClassName(name), p.Probs, k, c)
	}
	r.doc = map[string]any{"link": p.Link, "classes": p.Classes, "class": class, "probs": probs}
}

// emit writes the predictions to the file, if one is given, and prints them or a summary.
func (c *predictCommand) emit(stdout io.Writer, write func(io.Writer, *predictions) error, r *predictions) error {
	if c.out != "" {
		err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error { return write(w, r) })
		if err != nil {
			return err
		}
		r.doc["out"] = c.out
	}
	switch {
	case c.JSON:
		r.doc["targets"], r.doc["rows"] = r.targets, r.rows
		return printJSON(stdout, r.doc)
	case c.out == "":
		return writeCSV(stdout, r)
	default:
		_, err := fmt.Fprintf(stdout, "wrote %d predictions of %s to %s\n", r.rows, quoted(r.targets), c.out)
		return err
	}
}

// writer returns the function that writes the format of the file given by --out.
func (c *predictCommand) writer() (func(io.Writer, *predictions) error, error) {
	if c.out == "" {
		return writeCSV, nil
	}
	write := map[string]func(io.Writer, *predictions) error{".csv": writeCSV, ".npz": writeNPZ, ".npy": writeNPY}[strings.ToLower(filepath.Ext(c.out))]
	if write == nil {
		return nil, settings.Errorf("--out %s, expected a file called .csv, .npz or .npy", c.out)
	}
	return write, checkOut(c.out)
}

// writeCSV writes the columns with a header, every number with all its digits.
func writeCSV(w io.Writer, p *predictions) error {
	c := csv.NewWriter(w)
	if err := c.Write(p.names); err != nil {
		return err
	}
	cells := make([]string, len(p.names))
	for i := range p.rows {
		for j, column := range p.columns {
			cells[j] = strconv.FormatFloat(column[i], 'g', -1, 64)
		}
		if err := c.Write(cells); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// writeNPZ writes one array [N] for each column.
func writeNPZ(w io.Writer, p *predictions) error {
	var arrays []*tensor.Dense
	for _, column := range p.columns {
		arrays = append(arrays, tensor.New(tensor.WithShape(len(column)), tensor.WithBacking(column)))
	}
	return npy.EncodeArchive(w, p.names, arrays)
}

// writeNPY writes one array [N, columns].
func writeNPY(w io.Writer, p *predictions) error {
	var rows []float64
	for i := range p.rows {
		for _, column := range p.columns {
			rows = append(rows, column[i])
		}
	}
	return npy.Encode(w, tensor.New(tensor.WithShape(p.rows, len(p.names)), tensor.WithBacking(rows)))
}
