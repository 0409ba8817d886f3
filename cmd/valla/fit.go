package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// fitCommand is the command line of valla fit with the flags of one method.
type fitCommand struct {
	Validation    *float64 `set:"validation" default:"0.1" min:"0" below:"1" help:"fraction of the rows to hold out, 0 for none; with the same seed they are the rows that valla train holds out"`
	RequireBetter bool     `set:"require-better" help:"end with exit code 1 and write nothing unless the verdict finds the posterior better than the network alone"`
	work

	chosen gp.Method   // the method whose flags the command has
	method gp.Settings // the settings of chosen
	named  string      // the value of --method

	model, netWeights, onnx, validationData string
	elsewhere                               elsewhere
	targets                                 targets
	columns                                 columns
	header                                  header
	network                                 valla.Network
	memory                                  memory
	passes                                  inParts
}

// elsewhere says how to read weights that were trained elsewhere.
type elsewhere struct {
	Layout      string `set:"layout" choice:"auto in-out out-in" help:"axes of the weights of dense layers; PyTorch has out-in"`
	Standardize bool   `set:"standardize" help:"the network was trained on standardised inputs and targets"`
}

// layouts are the choices of elsewhere.
var layouts = map[string]layers.Layout{"": layers.Auto, "auto": layers.Auto, "in-out": layers.InOut, "out-in": layers.OutIn}

// methodIn returns the name of the method in the arguments: the last one if there are several.
func methodIn(args []string) string {
	name := method.Default
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--method="); ok {
			name = v
		} else if a == "--method" && i+1 < len(args) {
			name = args[i+1]
		}
	}
	return name
}

func newFit(args []string) *cobra.Command {
	c := &fitCommand{}
	name := methodIn(args)
	var err error
	if c.chosen, err = method.Lookup(name); err != nil {
		c.chosen = valla.Methods()[0] // --method is refused when the flags are read
	}
	c.method = c.chosen.New()
	cmd := &cobra.Command{
		Use:   "fit DATA... {--model FILE | --network FILE | --net-weights FILE} --out FILE",
		Short: "Fit a posterior to a trained network",
		Long:  fmt.Sprintf(fitHelp, wrap("--method chooses the method: "+strings.Join(method.Names(), ", ")+".", 0), c.chosen.Name, wrap(c.chosen.Summary, 2)),
		Example: `  valla fit houses.csv --model map.valla --out houses.valla
  valla fit houses.csv --model map.valla --method lla --structure kfac --out houses.valla
  valla fit houses.csv --target price --network net.onnx --out houses.valla
  valla fit houses.csv --target price --net-weights net.npz --activation tanh --out houses.valla`,
		Args: c.passes.tables,
		RunE: running(c.run),
	}
	c.flags(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return c.flagError(name, err) })
	return cmd
}

const fitHelp = `Fit a posterior to a network that was trained by valla train or elsewhere, and write both
to one model file. The network's weights and outputs stay as they are; the posterior adds
error bars. A method whose predictions have a mean of their own says so. Probabilities of
classes are made of outputs and error bars, so that they change, and with them the most
probable class may.

%s

The flags below are those of the method %s:

  %s

valla fit --method NAME --help lists the flags of another method, and valla method show NAME
describes it.

A network from elsewhere (--network) is an ONNX model, as PyTorch's torch.onnx.export writes
it; valla network show describes it. Weights alone (--net-weights) are an .npz archive, a
.safetensors file, a state dictionary of PyTorch (.pt, .pth), of which nothing is executed, or
a folder of .npy files. The arrays are named as in state dictionaries (fc1.weight, fc1.bias,
...) or W1, b1, .... The inputs and outputs of both are in the units of the data, unless
--standardize, or --mean and --std, say otherwise. DATA may be a folder of PNG and JPEG files,
with a folder for each class; they are resized to the network's height and width.

The last line is a verdict: how the posterior and the network alone predict the same rows, if
possible rows that neither training nor fit has used. 1,000 or more rows of --validation-data
are divided: half of them choose the settings that a fit looks for, and half of them judge. A
posterior that is worse than the network alone comes with a warning.

Before the fit a line on stderr says about how long it will take and how much memory it needs.
Ctrl-C ends a fit. If the method has a best state so far, that is written: to --out, or where
that file exists already, beside it (m.part.valla for m.valla). With --checkpoint a fit that is
made in steps can be resumed later with the same data and settings, as if it had not been
interrupted.

With --passes the model must have a posterior already, which was fitted to a sample of the rows,
by the methods lla, ella or valla. It is made anew from sums over all rows of DATA, which may be
several files and are read in parts, side by side; nothing else of it changes, unless rows of
--validation-data choose the standard deviations. Each part has a file of sums in the folder. A
second run does only the parts that are not finished. --part K/N does one share of them, in an
array of jobs.`

func (c *fitCommand) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.model, "model", "", "model `FILE` whose network gets the posterior")
	f.StringVar(&c.onnx, "network", "", "`FILE.onnx` of a network trained elsewhere, instead of a model")
	f.StringVar(&c.netWeights, "net-weights", "", "`FILE` of a network's weights trained elsewhere, instead of a model")
	f.StringVar(&c.named, "method", method.Default, "`NAME` of the method that makes the error bars: "+strings.Join(method.Names(), ", "))
	c.work.flags(cmd)
	settingsFlags(f, c, "", nil)
	f.StringVar(&c.validationData, "validation-data", "", "`FILE` of rows to validate with, instead of a fraction of DATA")
	f.Var(&c.memory, "memory", "memory that the data may need, and the fit beside them, such as 4GiB; a mini-batch that needs more is computed in parts (default: what the machine has left, and the method's)")
	settingsFlags(f, &c.header, "", nil)
	c.passes.flags(cmd, "passes", "`FOLDER` of sums: fit the posterior of --model to all rows, part by part, and go on where an earlier run has ended")
	settingsFlags(f, c.method, c.chosen.Name+": ", nil)

	const prefix = "with --network or --net-weights: "
	settingsFlags(f, &c.elsewhere, prefix, nil)
	settingsFlags(f, &c.targets, prefix, nil)
	settingsFlags(f, &c.columns, prefix, nil)
	settingsFlags(f, &c.network, prefix, map[string]string{"activation": "required for an mlp", "hidden": "default: for an mlp those of the file, for other forms 50,50"})
	cmd.MarkFlagsOneRequired("model", "network", "net-weights")
	cmd.MarkFlagsMutuallyExclusive("model", "network", "net-weights")
	cmd.MarkFlagsMutuallyExclusive("validation", "validation-data")
	for _, name := range slices.Concat(settings.Names(&c.elsewhere), settings.Names(&c.targets), settings.Names(&c.columns), settings.Names(&c.network)) {
		cmd.MarkFlagsMutuallyExclusive("model", name) // the model file says it
	}
}

// flagError replaces the error about an unknown flag if that is a flag of another method than
// the given one: it names the methods that have the flag.
func (c *fitCommand) flagError(given string, err error) error {
	if _, unknown := method.Lookup(given); unknown != nil {
		return unknown
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var owners []string
	for _, m := range method.All() {
		if settings.Lookup(m.New(), unknown.GetSpecifiedName()) != nil {
			owners = append(owners, m.Name)
		}
	}
	if owners == nil {
		return err
	}
	return fmt.Errorf("--%s goes with --method %s, found --method %s", unknown.GetSpecifiedName(), strings.Join(owners, " or "), given)
}

func (c *fitCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.passes.check(cmd); err != nil {
		return err
	}
	if c.passes.dir != "" {
		return c.fitPasses(cmd, args)
	}
	if c.out == "" {
		return settings.Errorf("required flag(s) \"out\" not set")
	}
	if err := cmp.Or(c.checkMethod(), c.checkWeights(), c.check(c.model, args[0], c.netWeights, c.validationData, c.network.Form)); err != nil {
		return err
	}
	m, set, err := c.start(cmd, args[0])
	if err != nil {
		return err
	}
	held, judge, err := c.held(cmd, m)
	if err != nil {
		return err
	}
	d := newDrawer(cmd.ErrOrStderr(), c.JSON)
	fitted, err := m.Fit(cmd.Context(), set, valla.FitOptions{
		Settings: c.method, Validation: c.Validation, Held: held, Judge: judge, OnEstimate: d.estimate(c.method.Label()),
		Run: gp.Run{Seed: c.Seed, Memory: int64(c.memory), Checkpoint: c.checkpoint, Resume: c.Resume, OnProgress: d.steps(c.method.Label())},
	})
	d.close()
	if fitted != nil && c.RequireBetter {
		if v := lastVerdict(fitted); v == nil || !v.Better {
			return errors.Join(err, fmt.Errorf("nothing was written: the posterior is %v", v))
		}
	}
	return c.save(cmd, fitted, err)
}

// lastVerdict is that of the last event.
func lastVerdict(m *valla.Model) *valla.Verdict { return m.History[len(m.History)-1].Verdict }

// checkMethod refuses an unknown method.
func (c *fitCommand) checkMethod() error {
	if _, err := method.Lookup(c.named); err != nil || c.named == c.chosen.Name {
		return err
	}
	return settings.Errorf("--method %s beside %s, expected one method", c.named, c.chosen.Name)
}

// checkWeights returns an error if the flags --weights and --net-weights are confused, or if
// the activation, which a file of weights does not contain, is not given.
func (c *fitCommand) checkWeights() error {
	if of := settings.Lookup(c.method, "weights"); of != nil {
		for w := range strings.SplitSeq(of.Text(), ",") {
			_, err := os.Stat(w)
			if w != "" && (err == nil || slices.Contains([]string{".npz", ".npy", ".pt", ".pth", ".safetensors"}, strings.ToLower(filepath.Ext(w))) || strings.ContainsRune(w, filepath.Separator)) {
				return settings.Errorf("--weights %s: expected all, last-layer or names of parameters; a file of weights goes with --net-weights", w)
			}
		}
	}
	if c.onnx != "" && !strings.EqualFold(filepath.Ext(c.onnx), ".onnx") {
		return settings.Errorf("--network %s: expected a file called .onnx; weights alone go with --net-weights", c.onnx)
	}
	if c.netWeights == "all" || c.netWeights == "last-layer" {
		return settings.Errorf("--net-weights %s: expected a file; which weights are uncertain goes with --weights", c.netWeights)
	}
	if mlp := c.network.Form == "" || c.network.Form == "mlp"; c.netWeights != "" && mlp && c.network.Activation == "" {
		return settings.Errorf("--net-weights needs --activation: the file does not tell it")
	}
	return nil
}

// start returns the network to fit a posterior to, and the data in the file at path.
func (c *fitCommand) start(cmd *cobra.Command, path string) (*valla.Model, *data.Set, error) {
	if from := cmp.Or(c.onnx, c.netWeights); from != "" {
		reader, err := c.imageReader(path)
		if err != nil {
			return nil, nil, err
		}
		set, notes, err := c.columns.read(path, reader, c.targets, valla.TrainOptions{Classes: c.targets.Classes}, c.memory)
		if err != nil {
			return nil, nil, err
		}
		printNotes(cmd, notes)
		m, err := valla.FromWeights(cmd.Context(), from, set, valla.WeightOptions{
			Network: c.network, Layout: layouts[c.elsewhere.Layout], Standardize: c.elsewhere.Standardize, Classes: c.targets.Classes,
		})
		return m, set, err
	}
	m, err := valla.Load(c.model)
	if err != nil {
		return nil, nil, err
	}
	set, err := c.read(cmd, m, path)
	return m, set, err
}

// read returns the rows in a file as a model takes them.
func (c *fitCommand) read(cmd *cobra.Command, m *valla.Model, path string) (*data.Set, error) {
	return readSet(cmd, m, c.header.reader(), path, c.memory)
}

// readSet returns the rows in a file as a model takes them, within limit bytes.
func readSet(cmd *cobra.Command, m *valla.Model, r data.TableReader, path string, limit memory) (*data.Set, error) {
	rows, err := m.Open(r, data.Part{Path: path}, true)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set, err := rows.All(int64(limit))
	printNotes(cmd, rows.Notes())
	return set, err
}

// imageReader returns the reader of the data at path, which may be a folder of images for the
// network from elsewhere.
func (c *fitCommand) imageReader(path string) (data.TableReader, error) {
	r := c.header.reader()
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return r, nil
	}
	n := c.network
	if c.onnx != "" {
		n.Form = c.onnx
	}
	form, err := n.Describe(nil, 0)
	if err == nil {
		r.Image = form.InputShape()
	}
	return r, err
}

// held returns the rows of a file to validate with and, where there are many, half of them
// to judge by; nil where none are given.
func (c *fitCommand) held(cmd *cobra.Command, m *valla.Model) (held, judge *data.Set, err error) {
	if c.validationData == "" {
		return nil, nil, nil
	}
	if held, err = c.read(cmd, m, c.validationData); err != nil || held.N() < holdout.EnoughToSplit {
		return held, nil, err
	}
	held, judge = holdout.Halves(held, c.Seed)
	return held, judge, nil
}
