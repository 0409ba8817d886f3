package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/settings"
)

// settingsFlags defines a flag for each setting of the struct that ptr points to. Its help
// starts with prefix. It ends with the default or, for a setting named in standard, with the
// text from there.
func settingsFlags(f *pflag.FlagSet, ptr any, prefix string, standard map[string]string) {
	for _, s := range settings.Of(ptr) {
		text := standard[s.Name]
		if text == "" {
			text = defaultOf(s)
		}
		flag := f.VarPF(setting{s}, s.Name, "", prefix+s.Help+choices(s)+" ("+text+")")
		if s.IsBool() {
			flag.NoOptDefVal = "true"
		}
	}
}

// setting is the value of a flag.
type setting struct{ *settings.Field }

var _ pflag.Value = setting{}

// String implements pflag.Value.
func (s setting) String() string { return s.Text() }

// Type implements pflag.Value. It is how help shows the value: INT, or INT,... for a list.
func (s setting) Type() string {
	switch {
	case s.IsBool():
		return "bool"
	case s.IsList():
		return strings.TrimSuffix(s.Kind(), "s") + ",..."
	}
	return s.Kind()
}

// choices lists the names that a setting takes.
func choices(s *settings.Field) string {
	if len(s.Choices) == 0 {
		return ""
	}
	return ": " + strings.Join(s.Choices, ", ")
}

// defaultOf describes the value that a setting has if it is not given.
func defaultOf(s *settings.Field) string {
	switch {
	case s.Default != "":
		return "default " + s.Default
	case s.Auto != "":
		return "default: " + s.Auto
	case s.IsBool():
		return "default off"
	case s.Kind() == "INT", s.Kind() == "NUMBER":
		return "default 0"
	}
	return "default none"
}

// targets say which columns of a table are targets, and whether these are classes.
type targets struct {
	Target  []string `set:"target" auto:"the last one; for an .npz archive with images all columns of y" help:"columns to predict"`
	Classes bool     `set:"classes" help:"the column holds classes, and the network's outputs are their logits"`
}

// header says how tables of text begin.
type header struct {
	Header string `set:"header" choice:"auto yes no" help:"whether the first row of a table of text names the columns"`
}

// reader returns the reader of tables.
func (h header) reader() data.TableReader { return data.TableReader{Header: h.Header} }

// columns say how the columns of a table become inputs.
type columns struct {
	Drop        []string `set:"drop" help:"columns to leave out"`
	ID          []string `set:"id" help:"columns that name the rows: they are no inputs, and stand first in predictions"`
	Categorical []string `set:"categorical" help:"columns whose cells are categories, also if they are numbers"`
	Numeric     []string `set:"numeric" help:"columns of numbers, whose other cells count as missing"`
	Missing     string   `set:"missing" choice:"median error drop" help:"what happens where a value is missing: the median stands for it and an indicator says so, it is an error, or its row is left out"`
}

// read returns the rows in a file with these targets, and notes on them; o says on which of
// them a network will be trained. A table that needs more than limit bytes is an error.
func (c columns) read(path string, r data.TableReader, t targets, o valla.TrainOptions, limit memory) (*data.Set, []string, error) {
	s, err := r.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	var at []int
	for i, name := range s.Columns {
		if !slices.Contains(c.Drop, name) {
			at = append(at, i)
		}
	}
	for _, name := range c.Drop {
		if _, err := (&data.Table{Path: path, Columns: s.Columns}).Column(name); err != nil {
			return nil, nil, err
		}
	}
	s.Use(at, nil)
	table, err := s.All(int64(limit))
	if err != nil {
		return nil, nil, err
	}
	set, err := valla.Encode(table, data.ColumnOptions{Targets: t.Target, Drop: c.Drop, ID: c.ID, Categorical: c.Categorical, Numeric: c.Numeric, Missing: c.Missing}, o)
	return set, table.Notes, err
}

// printNotes prints sentences that the user should read.
func printNotes(cmd *cobra.Command, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "valla: note:", n)
	}
}

// work has the flags of commands that make a model.
type work struct {
	Seed   uint64 `set:"seed" help:"seed of everything random"`
	Resume bool   `set:"resume" help:"go on from the checkpoint where it exists, with the same data and settings"`
	asJSON

	checkpoint, out string
}

// flags defines the flags that are no settings.
func (w *work) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.out, "out", "", "model `FILE` to write")
	f.StringVar(&w.checkpoint, "checkpoint", "", "`FILE` that keeps the state of the run (default none)")
}

// check returns an error if flags do not go together, if the output or the checkpoint cannot be
// written, or if they would replace one of the inputs. model, which may be "", is an input that
// the output may replace, since it contains all of it.
func (w *work) check(model string, inputs ...string) error {
	if w.Resume && w.checkpoint == "" {
		return settings.Errorf("to resume needs the file of the --checkpoint")
	}
	if err := checkOut("--out", w.out, inputs...); err != nil || w.checkpoint == "" {
		return err
	}
	return checkOut("--checkpoint", w.checkpoint, append(inputs, model, w.out)...)
}

// reading has the flags of commands that apply a model.
type reading struct {
	Link string `set:"link" choice:"probit mc bridge" auto:"the posterior's own probabilities where it has such, else probit" help:"for classes: probabilities by the probit approximation, as the mean over samples (mc), or by the Laplace bridge, of the logits' Gaussian"`
	header
	asJSON

	model string
	quiet bool // says that no progress is shown
}

// flags defines the flags of a command. all points to its settings, which contain r.
func (r *reading) flags(cmd *cobra.Command, all any) {
	cmd.Flags().StringVar(&r.model, "model", "", "model `FILE`")
	settingsFlags(cmd.Flags(), all, "", nil)
	require(cmd, "model")
}

// open reads the model and opens a file of data, which must be closed.
func (r *reading) open(path string, targets bool) (*valla.Model, *valla.Rows, error) {
	m, err := valla.Load(r.model)
	if err != nil {
		return nil, nil, err
	}
	rows, err := m.Open(r.reader(), data.Part{Path: path}, targets)
	return m, rows, err
}

// each calls f with the batches of rows, shows how far it is, and prints the notes on them.
func (r *reading) each(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, f func(set *data.Set, o valla.PredictOptions) error) error {
	defer rows.Close()
	d := r.drawer(cmd)
	defer d.close()
	d.rows(rows.Path(), rows.Read, rows.About())
	n := rows.Batch()
	for {
		first := rows.Read
		set, err := rows.Next(n)
		if errors.Is(err, io.EOF) {
			d.close()
			printNotes(cmd, rows.Notes())
			return nil
		}
		if err != nil {
			return err
		}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if err := f(set, valla.PredictOptions{Link: task.Link(r.Link), First: first}); err != nil {
			return fmt.Errorf("%s: %w", rows.Path(), afterRow(first, err))
		}
		d.rows(rows.Path(), rows.Read, rows.About())
	}
}

// drawer shows the progress of what is done with the rows.
func (r *reading) drawer(cmd *cobra.Command) *drawer {
	shown := cmd.ErrOrStderr()
	if r.quiet {
		shown = io.Discard
	}
	return newDrawer(shown, r.JSON)
}

// afterRow says of which batch of rows an error speaks.
func afterRow(first int, err error) error {
	if first == 0 {
		return err
	}
	return fmt.Errorf("rows from %d on: %w", first, err)
}

// asJSON has the flag that chooses the form of the output.
type asJSON struct {
	JSON bool `set:"json" help:"print one JSON document"`
}

// alias makes another name of a flag mean the same.
func alias(cmd *cobra.Command, other, name string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

// require marks flags as required. Their names are constants of this package.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}
