package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/listing"
	"github.com/go-valla/valla/internal/settings"
)

// settingsFlags defines a flag for each setting of the struct to which ptr points. The help of a flag
// starts with prefix and ends with the default. The map standard may give other texts for the default,
// by names of settings.
func settingsFlags(f *pflag.FlagSet, ptr any, prefix string, standard map[string]string) {
	namedFlags(f, "", ptr, prefix, standard)
}

// namedFlags is settingsFlags with more before the names of the flags.
func namedFlags(f *pflag.FlagSet, before string, ptr any, prefix string, standard map[string]string) {
	for _, s := range settings.Of(ptr) {
		text := standard[s.Name]
		if text == "" {
			text = defaultOf(s)
		}
		flag := f.VarPF(setting{s}, before+s.Name, "", prefix+s.Help+choices(s)+" ("+text+")")
		if s.IsBool() {
			flag.NoOptDefVal = "true"
		}
	}
}

// setting is the value of a flag for a setting.
type setting struct {
	*settings.Field // the setting that the flag sets
}

var _ pflag.Value = setting{}

// String implements pflag.Value.
func (s setting) String() string { return s.Text() }

// Type implements pflag.Value. It returns the word for the value in the help: INT, or INT,... for a list.
func (s setting) Type() string {
	switch {
	case s.IsBool():
		return "bool"
	case s.IsList():
		return strings.TrimSuffix(s.Kind(), "s") + ",..."
	}
	return s.Kind()
}

// choices returns the names that a setting takes, for its help.
func choices(s *settings.Field) string {
	if len(s.Choices) == 0 {
		return ""
	}
	return ": " + strings.Join(s.Choices, ", ")
}

// defaultOf returns a phrase about the default of a setting.
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

// targets has the flags that say which columns of a table are targets.
type targets struct {
	Target  []string `set:"target" auto:"the last column; of an .npz archive with images, all columns of y" help:"columns to predict"` // names of columns
	Classes bool     `set:"classes" help:"classification: the column has classes, and the outputs of the network are their logits"`    // classification instead of regression
}

// header has the flag that says how tables of text begin.
type header struct {
	Header string `set:"header" choice:"auto yes no" help:"whether the first row of a table of text names the columns"` // see [data.TableReader]
}

// reader returns the reader of tables that the flag asks for.
func (h header) reader() data.TableReader { return data.TableReader{Header: h.Header} }

// columns has the flags that say how the columns of a table become inputs.
type columns struct {
	Drop        []string `set:"drop" help:"columns to leave out"`                                                                                                                                                              // names of columns
	ID          []string `set:"id" help:"columns that name the rows; they are no inputs, and come first in predictions"`                                                                                                       // names of columns
	Categorical []string `set:"categorical" help:"columns of categories, even if the cells are numbers"`                                                                                                                       // names of columns
	Numeric     []string `set:"numeric" help:"columns of numbers; cells that are no numbers count as missing"`                                                                                                                 // names of columns
	Missing     string   `set:"missing" choice:"median error drop" help:"what to do about missing values: take the median and add an input that marks them (median), stop with an error (error), or leave the row out (drop)"` // treatment of missing values
}

// read returns the rows in the file at path with targets t, and notes on the rows. The training options
// o say which rows choose the encoding, and have the seed of a sample of the rows of several files. A table that needs more
// than limit bytes is an error. first are columns that come first, in this order, if the file has all of them.
func (c columns) read(cmd *cobra.Command, in *sampling, paths []string, r data.TableReader, t targets, o valla.TrainOptions, limit memory, first ...string) (*data.Set, []string, error) {
	path := paths[0]
	s, err := r.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	var at []int
	named := slices.Concat(t.Target, c.ID, c.Categorical, c.Numeric)
	for i, name := range s.Columns {
		if name != s.Name && !slices.Contains(c.Drop, name) || slices.Contains(named, name) { // a column that is named twice is refused below
			at = append(at, i)
		}
	}
	for _, name := range c.Drop {
		if _, err := s.Column(name); err != nil {
			return nil, nil, err
		}
	}
	s.Use(ordered(at, s.Columns, first), nil)
	table, err := take(cmd, in, o.Seed, s, paths[1:], limit)
	if err != nil {
		return nil, nil, err
	}
	set, err := valla.Encode(table, data.ColumnOptions{Targets: t.Target, Drop: c.Drop, ID: c.ID, Categorical: c.Categorical, Numeric: c.Numeric, Missing: c.Missing}, o)
	return set, table.Notes, err
}

// ordered returns the numbers of columns with those of the names first at the beginning, if all names are there.
func ordered(at []int, columns, first []string) []int {
	places := make(map[string]int, len(columns))
	for i, name := range columns {
		places[name] = i
	}
	var out []int
	taken := map[int]bool{}
	for _, name := range first {
		i, ok := places[name]
		if !ok || !slices.Contains(at, i) {
			return at
		}
		out, taken[i] = append(out, i), true
	}
	for _, i := range at {
		if !taken[i] {
			out = append(out, i)
		}
	}
	return out
}

// printNotes prints notes, which are sentences for the user, on stderr.
func printNotes(cmd *cobra.Command, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "valla: note:", flagged(n))
	}
}

// work has the flags of commands that write a model.
type work struct {
	Seed   uint64 `set:"seed" help:"seed of all random numbers"`                                                            // seed of the run
	Resume bool   `set:"resume" help:"go on from the checkpoint, if it exists; the data and the settings must be the same"` // whether to resume
	asJSON

	checkpoint string   // path of the checkpoint; "" means none
	out        string   // path of the model to write
	others     []string // paths of the files that the command reads, and of the checkpoint
}

// flags defines those flags of w that are no settings.
func (w *work) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.out, "out", "", "model `FILE` to write")
	f.StringVar(&w.checkpoint, "checkpoint", "", "`FILE` for the state of the run, from which --resume goes on (default none)")
}

// check returns an error if flags contradict each other, if the output or the checkpoint cannot be
// written, or if it would replace an input.
func (w *work) check(cmd *cobra.Command, args []string) error {
	if w.Resume && w.checkpoint == "" {
		return settings.Errorf("--resume needs --checkpoint")
	}
	w.others = otherFiles(cmd, args, "out")
	if err := checkOut(cmd, "out", args); err != nil || w.checkpoint == "" {
		return err
	}
	for _, other := range otherFiles(cmd, args, "checkpoint") {
		if of, numbered := strings.CutSuffix(strings.TrimRight(other, "0123456789"), "."); numbered && atomicfile.Same(w.checkpoint, of) { // c.2 of the second network
			return settings.Errorf("--checkpoint %s: it would replace %s, expected another file", w.checkpoint, other)
		}
	}
	return checkOut(cmd, "checkpoint", args)
}

// reading has the flags of commands that apply a model.
type reading struct {
	Link string `set:"link" choice:"probit mc bridge" auto:"the posterior's own probabilities, if it has any, else probit" help:"classification: how Gaussian logits become probabilities: by the probit approximation, as the mean over samples (mc), or by the Laplace bridge"` // link of class probabilities
	header
	asJSON

	model  string // path of the model
	quiet  bool   // whether to show no progress
	engine engine // what computes predictions
}

// flags defines the flags of a command. All is a pointer to the settings of the command, which contain r.
func (r *reading) flags(cmd *cobra.Command, all any) {
	cmd.Flags().StringVar(&r.model, "model", "", "model `FILE`")
	r.engine.flags(cmd.Flags())
	settingsFlags(cmd.Flags(), all, "", nil)
	require(cmd, "model")
}

// open reads the model and opens the file of data at path. The caller must close the rows.
func (r *reading) open(ctx context.Context, path string, targets bool) (*valla.Model, *valla.Rows, error) {
	m, err := valla.Load(r.model)
	if err != nil {
		return nil, nil, err
	}
	if err := r.engine.use(ctx, m); err != nil {
		return nil, nil, err
	}
	rows, err := m.Open(r.reader(), data.Part{Path: path}, targets)
	return m, rows, err
}

// each calls f with each batch of rows, shows the progress, and prints the notes on the rows.
func (r *reading) each(cmd *cobra.Command, m *valla.Model, rows *valla.Rows, f func(set *data.Set, o valla.PredictOptions) error) error {
	defer rows.Close()
	d := r.drawer(cmd)
	d.rows(rows.Path, rows.Read, rows.About)
	err := listing.Batches(cmd.Context(), rows, func(first int, set *data.Set) error {
		err := f(set, valla.PredictOptions{Link: task.Link(r.Link), First: first})
		d.rows(rows.Path, rows.Read, rows.About)
		return err
	})
	d.close()
	if err == nil {
		printNotes(cmd, rows.Notes())
	}
	return err
}

// drawer returns the drawer for the progress of the command.
func (r *reading) drawer(cmd *cobra.Command) *drawer {
	shown := cmd.ErrOrStderr()
	if r.quiet {
		shown = io.Discard
	}
	return newDrawer(shown, r.JSON)
}

// alias makes other a second name of the flag name.
func alias(cmd *cobra.Command, other, name string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == other {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}

// require marks flags as required. The flags must exist.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}
