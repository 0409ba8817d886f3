package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/gp/model"
	"github.com/go-valla/valla/internal/atomicfile"
)

// predictCommand is the command line of valla predict.
type predictCommand struct {
	model, out string
	level      float64
	link       model.Link
	json       bool
}

func newPredict() *cobra.Command {
	c := &predictCommand{link: model.Probit}
	cmd := &cobra.Command{
		Use:   "predict DATA --model FILE",
		Short: "Predict with error bars",
		Long: `Predict the target for each row of a table: its mean, its standard deviation (of the
posterior and the noise together), and the bounds of a central interval, all in the
units of the target. A target of classes gets the most probable class and the probability
of each class. The columns are found by name, whatever their order; the target may be
missing. Without --out the predictions are printed as CSV.`,
		Example: "  valla predict new.csv --model houses.valla --out predictions.csv",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.model, "model", "", "model `FILE`")
	f.StringVar(&c.out, "out", "", "`FILE` to write, .csv, .npz or .npy [N, columns]")
	f.Float64Var(&c.level, "level", 0.95, "probability of the interval")
	linkFlag(f, &c.link)
	jsonFlag(f, &c.json)
	require(cmd, "model")
	return cmd
}

func (c *predictCommand) run(cmd *cobra.Command, args []string) error {
	write, err := c.writer()
	if err != nil {
		return err
	}
	m, err := model.Load(c.model)
	if err != nil {
		return err
	}
	table, err := data.ReadTable(args[0])
	if err != nil {
		return err
	}
	x, err := m.Columns(table)
	if err != nil {
		return err
	}
	r, err := c.predict(cmd.Context(), m, x)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return c.emit(cmd.OutOrStdout(), write, r)
}

// predict returns the predictions at x [N,D].
func (c *predictCommand) predict(ctx context.Context, m *model.Model, x *tensor.Dense) (predictions, error) {
	r := predictions{Target: m.Target, Rows: x.Shape()[0]}
	if m.Classes != nil {
		p, err := m.PredictProbs(ctx, x, c.link)
		if err != nil {
			return r, err
		}
		r.Link, r.Classes = string(c.link), m.Classes
		for i, best := range p.Best() {
			r.Class = append(r.Class, m.Classes[best])
			r.Probs = append(r.Probs, p.P[i*len(m.Classes):(i+1)*len(m.Classes)])
		}
		return r, nil
	}
	p, err := m.Predict(ctx, x)
	if err != nil {
		return r, err
	}
	r.Level, r.Mean, r.Std = c.level, p.Mean, p.Std()
	r.Lower, r.Upper, err = p.Interval(c.level)
	return r, err
}

// emit writes the predictions to where they are wanted.
func (c *predictCommand) emit(stdout io.Writer, write func(io.Writer, predictions) error, r predictions) error {
	if c.out != "" {
		err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error { return write(w, r) })
		if err != nil {
			return err
		}
		r.Out = c.out
	}
	switch {
	case c.json:
		return printJSON(stdout, r)
	case c.out == "":
		return writeCSV(stdout, r)
	default:
		_, err := fmt.Fprintf(stdout, "wrote %d predictions of %q to %s\n", r.Rows, r.Target, c.out)
		return err
	}
}

// writer returns what writes the file that is asked for.
func (c *predictCommand) writer() (func(io.Writer, predictions) error, error) {
	if !(c.level > 0 && c.level < 1) {
		return nil, fmt.Errorf("%w: level %g, expected a probability between 0 and 1", model.ErrOption, c.level)
	}
	if c.out == "" {
		return writeCSV, nil
	}
	write := map[string]func(io.Writer, predictions) error{".csv": writeCSV, ".npz": writeNPZ, ".npy": writeNPY}[strings.ToLower(filepath.Ext(c.out))]
	if write == nil {
		return nil, fmt.Errorf("%w: --out %s, expected a file called .csv, .npz or .npy", model.ErrOption, c.out)
	}
	return write, checkOut(c.out)
}

// predictions is what predict prints, N rows: of a number or of C classes.
type predictions struct {
	Target string    `json:"target"`
	Level  float64   `json:"level,omitempty"`
	Link   string    `json:"link,omitempty"`
	Rows   int       `json:"rows"`
	Out    string    `json:"out,omitempty"`
	Mean   []float64 `json:"mean,omitempty"`
	Std    []float64 `json:"std,omitempty"`
	Lower  []float64 `json:"lower,omitempty"`
	Upper  []float64 `json:"upper,omitempty"`

	Classes []float64   `json:"classes,omitempty"` // C
	Class   []float64   `json:"class,omitempty"`   // the most probable, N
	Probs   [][]float64 `json:"probs,omitempty"`   // [N,C]
}

// columns are the names and values of a table: mean, std, lower and upper, or class and
// p_ with the name of each class.
func (p predictions) columns() (names []string, values [][]float64) {
	if p.Classes == nil {
		return []string{"mean", "std", "lower", "upper"}, [][]float64{p.Mean, p.Std, p.Lower, p.Upper}
	}
	names, values = []string{"class"}, [][]float64{p.Class}
	for k, class := range p.Classes {
		column := make([]float64, p.Rows)
		for i, row := range p.Probs {
			column[i] = row[k]
		}
		names, values = append(names, "p_"+model.ClassName(class)), append(values, column)
	}
	return names, values
}

// writeCSV writes the columns with a header, every number with all its digits.
func writeCSV(w io.Writer, p predictions) error {
	c := csv.NewWriter(w)
	names, columns := p.columns()
	if err := c.Write(names); err != nil {
		return err
	}
	cells := make([]string, len(names))
	for i := range p.Rows {
		for j, column := range columns {
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
func writeNPZ(w io.Writer, p predictions) error {
	var arrays []*tensor.Dense
	names, columns := p.columns()
	for _, column := range columns {
		arrays = append(arrays, tensor.New(tensor.WithShape(len(column)), tensor.WithBacking(column)))
	}
	return npy.EncodeArchive(w, names, arrays)
}

// writeNPY writes one array [N, columns].
func writeNPY(w io.Writer, p predictions) error {
	var rows []float64
	names, columns := p.columns()
	for i := range p.Rows {
		for _, column := range columns {
			rows = append(rows, column[i])
		}
	}
	return npy.Encode(w, tensor.New(tensor.WithShape(p.Rows, len(names)), tensor.WithBacking(rows)))
}
