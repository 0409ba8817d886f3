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

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/gp/model"
	"github.com/go-valla/valla/internal/atomicfile"
)

// predictCommand is the command line of valla predict.
type predictCommand struct {
	model, out string
	level      float64
	json       bool
}

func newPredict() *cobra.Command {
	c := &predictCommand{}
	cmd := &cobra.Command{
		Use:   "predict DATA --model FILE",
		Short: "Predict with error bars",
		Long: `Predict the target for each row of a table: its mean, its standard deviation (of the
posterior and the noise together), and the bounds of a central interval, all in the
units of the target. The columns are found by name, whatever their order; the target may
be missing. Without --out the predictions are printed as CSV.`,
		Example: "  valla predict new.csv --model houses.valla --out predictions.csv",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.model, "model", "", "model `FILE`")
	f.StringVar(&c.out, "out", "", "`FILE` to write, .csv, .npz or .npy [N,4]")
	f.Float64Var(&c.level, "level", 0.95, "probability of the interval")
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
	p, err := m.Predict(cmd.Context(), x)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	lower, upper, err := p.Interval(c.level)
	if err != nil {
		return err
	}
	r := predictions{Target: m.Target, Level: c.level, Rows: len(p.Mean), Mean: p.Mean, Std: p.Std(), Lower: lower, Upper: upper}
	return c.emit(cmd.OutOrStdout(), write, r)
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

// predictions is what predict prints, N rows.
type predictions struct {
	Target string    `json:"target"`
	Level  float64   `json:"level"`
	Rows   int       `json:"rows"`
	Out    string    `json:"out,omitempty"`
	Mean   []float64 `json:"mean"`
	Std    []float64 `json:"std"`
	Lower  []float64 `json:"lower"`
	Upper  []float64 `json:"upper"`
}

var columnNames = []string{"mean", "std", "lower", "upper"}

func (p predictions) columns() [][]float64 { return [][]float64{p.Mean, p.Std, p.Lower, p.Upper} }

// writeCSV writes the columns with a header, every number with all its digits.
func writeCSV(w io.Writer, p predictions) error {
	c := csv.NewWriter(w)
	if err := c.Write(columnNames); err != nil {
		return err
	}
	cells := make([]string, len(columnNames))
	for i := range p.Mean {
		for j, column := range p.columns() {
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
	for _, column := range p.columns() {
		arrays = append(arrays, tensor.New(tensor.WithShape(len(column)), tensor.WithBacking(column)))
	}
	return npy.EncodeArchive(w, columnNames, arrays)
}

// writeNPY writes one array [N,4].
func writeNPY(w io.Writer, p predictions) error {
	var rows []float64
	for i := range p.Mean {
		rows = append(rows, p.Mean[i], p.Std[i], p.Lower[i], p.Upper[i])
	}
	return npy.Encode(w, tensor.New(tensor.WithShape(len(p.Mean), len(columnNames)), tensor.WithBacking(rows)))
}
