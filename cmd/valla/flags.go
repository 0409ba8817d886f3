package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// read returns the table in a file with these targets.
func (t targets) read(path string) (*data.Set, error) {
	table, err := data.ReadTable(path)
	if err != nil {
		return nil, err
	}
	return table.Set(t.Target...)
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
	require(cmd, "out")
}

// check returns an error if flags do not go together or the output cannot be written.
func (w *work) check() error {
	if w.Resume && w.checkpoint == "" {
		return settings.Errorf("to resume needs the file of the --checkpoint")
	}
	return checkOut(w.out)
}

// reading has the flags of commands that apply a model.
type reading struct {
	Link string `set:"link" choice:"probit mc" help:"for classes: probabilities by the probit approximation or as the mean over samples (mc)"`
	asJSON

	model string
}

// flags defines the flags of a command. all points to its settings, which contain r.
func (r *reading) flags(cmd *cobra.Command, all any) {
	cmd.Flags().StringVar(&r.model, "model", "", "model `FILE`")
	settingsFlags(cmd.Flags(), all, "", nil)
	require(cmd, "model")
}

// open reads the model and a file of data.
func (r *reading) open(path string) (*valla.Model, *data.Table, error) {
	m, err := valla.Load(r.model)
	if err != nil {
		return nil, nil, err
	}
	table, err := readData(path, shapeOf(m))
	return m, table, err
}

// readData reads a file of data, or a folder of images for a network whose inputs have the shape
// that inputs returns.
func readData(path string, inputs func() ([]int, error)) (*data.Table, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return data.ReadTable(path)
	}
	shape, err := inputs()
	if err != nil {
		return nil, err
	}
	if len(shape) != 3 {
		return nil, fmt.Errorf("%s: a folder of images for a network whose inputs have shape %v, expected [C,H,W]", path, shape)
	}
	return data.ReadImages(path, shape[0], shape[1], shape[2])
}

// shapeOf returns the shape of an input of a model.
func shapeOf(m *valla.Model) func() ([]int, error) {
	return func() ([]int, error) { return m.Task.Inputs.Shape, nil }
}

// options returns the options of predictions.
func (r *reading) options() valla.PredictOptions {
	return valla.PredictOptions{Link: task.Link(r.Link)}
}

// asJSON has the flag that chooses the form of the output.
type asJSON struct {
	JSON bool `set:"json" help:"print one JSON document"`
}

// require marks flags as required. Their names are constants of this package.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// checkOut returns an error if the output cannot be written. It is called before the work, so
// that the work is not lost.
func checkOut(path string) error {
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("output %s: %w", path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("output %s: %s is not a folder", path, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("output %s: it is a folder, expected a file", path)
	}
	return nil
}
