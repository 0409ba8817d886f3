package command

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
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// fitCommand is the command line of valla fit with the flags of one method.
type fitCommand struct {
	Validation    *float64 `set:"validation" default:"0.1" min:"0" below:"1" help:"fraction of the rows to hold out, 0 for none; with the same seed, valla train holds out the same rows"`
	Law           string   `set:"law" choice:"auto gaussian student-t mixture" help:"law of the residuals of a regression with Gaussian noise: held-out rows choose (auto), it stays Gaussian, or it is fitted to held-out rows"`
	CorrectedMean bool     `set:"corrected-mean" help:"predict numbers with SFR's own mean in place of the network's output, where the squared error of held-out rows falls by more than its standard error"`
	RequireBetter bool     `set:"require-better" help:"end with exit code 1 and write no model unless the NLL of the posterior is smaller in the verdict"`
	work
	sampling

	chosen gp.Method   // method whose flags the command has
	method gp.Settings // settings of chosen
	named  string      // value of --method

	observing observing // none means the observation model of the network

	model          string        // path of the model, or paths of models between commas; "" for a network from elsewhere
	netWeights     string        // path of weights from elsewhere
	onnx           string        // path of an ONNX model from elsewhere, or paths between commas
	validationData string        // path of held-out rows; may be ""
	elsewhere      elsewhere     // reading of weights from elsewhere
	targets        targets       // targets, for a network from elsewhere
	columns        columns       // inputs, for a network from elsewhere
	header         header        // reading of tables
	network        valla.Network // form of a network from elsewhere
	memory         memory        // bytes for data and the fit
	passes         inParts       // fit in parts
	features       featureFile   // features that are computed once
}

// elsewhere has the flags that say how to read weights that were trained elsewhere.
type elsewhere struct {
	Layout      string `set:"layout" choice:"auto in-out out-in" help:"axes of the weights of dense layers; PyTorch has out-in"`
	NoiseHead   string `set:"noise-head" choice:"log-variance variance" help:"what the second half of the outputs of an ONNX model tells about the noise of each row; the first half are the targets"`
	Standardize bool   `set:"standardize" help:"the network was trained on standardised inputs and targets"`
	transforming
	valla.ListOptions
}

// layouts maps the choices of the flag --layout to layouts.
var layouts = map[string]layers.Layout{"": layers.Auto, "auto": layers.Auto, "in-out": layers.InOut, "out-in": layers.OutIn}

func newFit(args []string) *cobra.Command {
	c := &fitCommand{}
	name := chosenIn(args, "--method", method.Default)
	var err error
	if c.chosen, err = method.Lookup(name); err != nil {
		c.chosen = method.All()[0] // checkMethod refuses the unknown method
	}
	c.method = c.chosen.New()
	cmd := &cobra.Command{
		Use:   "fit DATA... {--model FILE | --network FILE | --net-weights FILE} --out FILE",
		Short: "Fit a posterior to a trained network",
		Long:  fmt.Sprintf(fitHelp, wrap("--method chooses the method: "+strings.Join(method.Names(), ", ")+".", 0), c.chosen.Name, wrap(c.chosen.Summary, 2)),
		Example: `  valla fit houses.csv --model map.valla --out houses.valla
  valla fit houses.csv --model map.valla --method lla --structure kfac --out houses.valla
  valla fit houses.csv --target price --network net.onnx --out houses.valla
  valla fit houses.csv --target price --network a.onnx,b.onnx --out houses.valla
  valla fit houses.csv --target price --net-weights net.npz --activation tanh --out houses.valla`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.passes.dir != "" {
				return c.passes.tables(cmd, args)
			}
			return c.sampling.tables(cmd, args)
		},
		RunE: running(c.run),
	}
	c.flags(cmd, args)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return c.flagError(name, err) })
	return cmd
}

const fitHelp = `Fit a posterior to a network that was trained by valla train or elsewhere, and write both
to one model file. The weights and outputs of the network stay the same; the posterior adds error
bars. A method whose predictions have another mean than the network says so. Class probabilities
depend on outputs and error bars. They therefore change, and the most probable class may change.

%s

The flags below belong to the method %s:

  %s

valla fit --method NAME --help lists the flags of another method, and valla method show NAME
describes it.

A network from elsewhere (--network) is an ONNX model, as PyTorch's torch.onnx.export writes
it; valla network show describes it. Weights alone (--net-weights) are an .npz archive, a
.safetensors file, a state dictionary of PyTorch (.pt, .pth), of which nothing is executed, or
a folder of .npy files. The arrays are named as in state dictionaries (fc1.weight, fc1.bias,
...) or W1, b1, .... The inputs and outputs of both are in the units of the data, unless
--standardize, or --mean and --std, say otherwise. DATA may be a folder of PNG and JPEG files,
with a folder for each class, which has its name; they are resized to the network's height and
width.

The last line is a verdict: it compares the predictions of the posterior and of the network alone
for the same rows, if possible rows that neither training nor fit has used. 1,000 or more rows of
--validation-data are divided: one half chooses the settings that the fit looks for, and the other
half judges. A posterior that is worse than the network alone comes with a warning.

Before the fit a line on stderr estimates its time and memory. Ctrl-C ends a fit. If the method has
a best state so far, the fit writes this state to --out or, if that file exists already, to a second
file (m.part.valla for m.valla). With --checkpoint a fit by mini-batches can be resumed later with
the same data and settings; the result is the same as without the interruption.

With --passes the model must have a posterior of the methods lla, ella or valla, which was fitted to
a sample of the rows. The command makes this posterior anew from sums over all rows of DATA, which
may be several files and is read in parts, side by side. Nothing else of the posterior changes,
unless rows of --validation-data choose the standard deviations. Each part has a file of sums in the
folder. A second run does only the unfinished parts. --part K/N does one share of the parts, in an
array of jobs.

With --sample N the fit takes N rows that are drawn at random from all rows of DATA, which may be
several files and is read once. Fits by mini-batches (valla, fmgp, mfvi) count all rows.

With --feature-file the fit reads the outputs of the first layers of the network, features, which
valla features has computed once, and computes those that the file does not have. The weights of
these layers are certain, whatever the method. Predictions take rows as before.`

func (c *fitCommand) flags(cmd *cobra.Command, args []string) {
	f := cmd.Flags()
	f.StringVar(&c.model, "model", "", "model `FILE` whose network gets the posterior; several files between commas become an ensemble")
	f.StringVar(&c.onnx, "network", "", "`FILE.onnx` of a network trained elsewhere, instead of a model; several files between commas become an ensemble")
	f.StringVar(&c.netWeights, "net-weights", "", "`FILE` of a network's weights trained elsewhere, instead of a model")
	c.observing.flags(cmd, args, "`NAME` of the observation model that the fit learns in place of the Gaussian noise of a regression, such as student-t (default: the network's)")
	f.StringVar(&c.named, "method", method.Default, "`NAME` of the method that makes the error bars: "+strings.Join(method.Names(), ", "))
	c.work.flags(cmd)
	settingsFlags(f, c, "", nil)
	f.StringVar(&c.validationData, "validation-data", "", "`FILE` of rows to validate with, instead of a fraction of DATA")
	f.Var(&c.memory, "memory", "memory for the data, and for the fit beside the data, such as 4GiB; a mini-batch that needs more is computed in parts (default: the available memory of the machine, and the default of the method)")
	settingsFlags(f, &c.header, "", nil)
	c.passes.flags(cmd, "passes", "`FOLDER` of sums: fit the posterior of --model to all rows in parts, and go on where an earlier run has ended")
	c.features.flag(f)
	settingsFlags(f, c.method, c.chosen.Name+": ", nil)
	c.networkFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("validation", "validation-data")
}

// networkFlags defines the flags of a network from elsewhere.
func (c *fitCommand) networkFlags(cmd *cobra.Command) {
	const prefix = "with --network or --net-weights: "
	f := cmd.Flags()
	settingsFlags(f, &c.elsewhere, prefix, nil)
	settingsFlags(f, &c.targets, prefix, nil)
	settingsFlags(f, &c.columns, prefix, nil)
	settingsFlags(f, &c.network, prefix, map[string]string{"activation": "required for an mlp", "hidden": "default: for an mlp those of the file, for other forms 50,50"})
	cmd.MarkFlagsOneRequired("model", "network", "net-weights")
	cmd.MarkFlagsMutuallyExclusive("model", "network", "net-weights")
	for _, name := range slices.Concat(settings.Names(&c.elsewhere), settings.Names(&c.targets), settings.Names(&c.columns), settings.Names(&c.network)) {
		cmd.MarkFlagsMutuallyExclusive("model", name) // the model file has these settings
	}
	for _, name := range settings.Names(&c.elsewhere.ListOptions) {
		cmd.MarkFlagsMutuallyExclusive("net-weights", name)
	}
}

// flagError returns the error about an unknown flag. If other methods than the given method have the
// flag, the error names these methods.
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
	if err := cmp.Or(c.checkMethod(), c.checkWeights(), c.check(cmd, args)); err != nil {
		return err
	}
	model, err := c.observing.model()
	if err != nil {
		return err
	}
	m, set, err := c.start(cmd, args, &model)
	if err != nil {
		return err
	}
	fitted, err := c.fit(cmd, m, set, model)
	if fitted != nil && c.RequireBetter {
		if v := lastVerdict(fitted); v == nil || !v.Better {
			return errors.Join(err, fmt.Errorf("nothing was written: the posterior is %v", v))
		}
	}
	return c.save(cmd, fitted, err)
}

// fit fits the posterior to the rows of a set, with an observation model in place of the network's, if it is not nil.
func (c *fitCommand) fit(cmd *cobra.Command, m *valla.Model, set *data.Set, model likelihood.Settings) (*valla.Model, error) {
	held, judge, err := c.held(cmd, m)
	if err != nil {
		return nil, err
	}
	if err := c.features.use(m); err != nil {
		return nil, err
	}
	defer m.CloseFeatures()
	d := newDrawer(cmd.ErrOrStderr(), c.JSON)
	defer d.close()
	return m.Fit(cmd.Context(), set, valla.FitOptions{
		Settings: c.method, More: c.more(set), Validation: c.Validation, Held: held, Judge: judge, Likelihood: model, Law: strings.TrimPrefix(c.Law, "auto"), Mean: map[bool]string{true: valla.MeanCorrected}[c.CorrectedMean],
		OnEstimate: d.fitEstimate(c.method.Label()), OnFeatures: d.features,
		Run: gp.Run{Seed: c.Seed, Memory: int64(c.memory), Checkpoint: c.checkpoint, Resume: c.Resume, OnProgress: d.steps(c.method.Label())},
	})
}

// lastVerdict returns the verdict of the last event.
func lastVerdict(m *valla.Model) *valla.Verdict { return m.History[len(m.History)-1].Verdict }

// checkMethod refuses an unknown method.
func (c *fitCommand) checkMethod() error {
	if _, err := method.Lookup(c.named); err != nil || c.named == c.chosen.Name {
		return err
	}
	return settings.Errorf("--method %s beside %s, expected one method", c.named, c.chosen.Name)
}

// checkWeights returns an error if the flags --weights and --net-weights are confused, or if the
// activation is missing, which a file of weights does not contain.
func (c *fitCommand) checkWeights() error {
	if of := settings.Lookup(c.method, "weights"); of != nil {
		for w := range strings.SplitSeq(of.Text(), ",") {
			if w == "" || w == layers.AllWeights || w == layers.LastLayerWeights {
				continue
			}
			_, err := os.Stat(w)
			if err == nil || slices.Contains([]string{".npz", ".npy", ".pt", ".pth", ".safetensors"}, strings.ToLower(filepath.Ext(w))) {
				return settings.Errorf("--weights %s: expected all, last-layer or names of parameters; a file of weights goes with --net-weights", w)
			}
		}
	}
	for _, file := range c.networks() {
		if !strings.EqualFold(filepath.Ext(file), ".onnx") {
			return settings.Errorf("--network %s: expected a file called .onnx; weights alone go with --net-weights", file)
		}
	}
	if c.netWeights == layers.AllWeights || c.netWeights == layers.LastLayerWeights {
		return settings.Errorf("--net-weights %s: expected a file; which weights are uncertain goes with --weights", c.netWeights)
	}
	if mlp := c.network.Form == "" || c.network.Form == "mlp"; c.netWeights != "" && mlp && c.network.Activation == "" {
		return settings.Errorf("--net-weights needs --activation: the file does not tell it")
	}
	return nil
}

// start returns the model that gets the posterior, and the data in the file at paths[0], or a sample of all files. A network from elsewhere takes the
// observation model of counts, labels and ordered classes, so that the fit does not choose it.
func (c *fitCommand) start(cmd *cobra.Command, paths []string, chosen *likelihood.Settings) (*valla.Model, *data.Set, error) {
	from := c.networks()
	if c.netWeights != "" {
		from = []string{c.netWeights}
	}
	if from != nil {
		return c.adopt(cmd, from, paths, chosen)
	}
	m, err := ensembleOf(c.models(), valla.Load)
	if err != nil {
		return nil, nil, err
	}
	set, err := readSet(cmd, &c.sampling, c.Seed, m, c.header.reader(), paths, c.memory)
	return m, set, err
}

// models returns the paths of --model.
func (c *fitCommand) models() []string { return paths(c.model) }

// networks returns the paths of --network.
func (c *fitCommand) networks() []string { return paths(c.onnx) }

// paths returns the paths between the commas of a flag. A path with a comma of an existing file is one path.
func paths(flag string) []string {
	if flag == "" {
		return nil
	}
	if _, err := os.Stat(flag); err == nil {
		return []string{flag}
	}
	return strings.Split(flag, ",")
}

// ensembleOf returns the model of a file, or the ensemble of the models of several files.
func ensembleOf(files []string, open func(path string) (*valla.Model, error)) (*valla.Model, error) {
	var all []*valla.Model
	for _, file := range files {
		m, err := open(file)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return valla.Combine(all...)
}

// adopt returns the model of the network in a file from elsewhere, or of several, and the data in the file at paths[0], or a sample
// of all files.
func (c *fitCommand) adopt(cmd *cobra.Command, from, paths []string, chosen *likelihood.Settings) (*valla.Model, *data.Set, error) {
	reader, first, err := c.elsewhereReader(paths[0])
	if err != nil {
		return nil, nil, err
	}
	encode := valla.TrainOptions{Classes: c.targets.Classes, Seed: c.Seed}
	encode.Training.Validation = new(0.0) // the network takes the columns as they are, so that no rows choose an encoding
	set, notes, err := c.columns.read(cmd, &c.sampling, paths, reader, c.targets, encode, c.memory, first...)
	if err != nil {
		return nil, nil, err
	}
	printNotes(cmd, notes)
	o := c.weightOptions()
	if *chosen != nil {
		l, err := (*chosen).Start(1, graph.Floats(set.Y))
		if err != nil {
			return nil, nil, err
		}
		if l.Kind() != likelihood.Number {
			o.Likelihood, *chosen = *chosen, nil
		}
	}
	m, err := ensembleOf(from, func(file string) (*valla.Model, error) {
		m, err := valla.FromWeights(cmd.Context(), file, set, o)
		if err == nil {
			printNotes(cmd, m.History[0].Notes)
		}
		return m, err
	})
	return m, set, inFile(paths[0], err)
}

// weightOptions says how the network from elsewhere is read, apart from its observation model.
func (c *fitCommand) weightOptions() valla.WeightOptions {
	return valla.WeightOptions{
		Network: c.network, Layout: layouts[c.elsewhere.Layout], Standardize: c.elsewhere.Standardize, TargetTransform: c.elsewhere.transform(), Classes: c.targets.Classes,
		NoiseHead: task.ScaleOf(c.elsewhere.NoiseHead),
	}
}

// read returns the rows in the file at path as the model m takes them.
func (c *fitCommand) read(cmd *cobra.Command, m *valla.Model, path string) (*data.Set, error) {
	return readFile(cmd, m, c.header.reader(), path, c.memory)
}

// readFile returns the rows in the file at path as the model m takes them, and nil for the path "". A table
// that needs more than limit bytes is an error.
func readFile(cmd *cobra.Command, m *valla.Model, r data.TableReader, path string, limit memory) (*data.Set, error) {
	if path == "" {
		return nil, nil
	}
	return readSet(cmd, nil, 0, m, r, []string{path}, limit)
}

// readSet returns the rows in the file at paths[0] as the model m takes them, or a sample of the rows of all files.
func readSet(cmd *cobra.Command, in *sampling, seed uint64, m *valla.Model, r data.TableReader, paths []string, limit memory) (*data.Set, error) {
	rows, err := m.Open(r, data.Part{Path: paths[0]}, true)
	if err != nil {
		return nil, err
	}
	set, err := takenRows(cmd, in, seed, rows, paths[1:], limit)
	if err == nil {
		err = m.Task.CheckSet(set)
	}
	return set, inFile(paths[0], err)
}

// allRows returns all rows, prints the notes on the rows, and closes rows. Rows that need more than the available memory are an error.
func allRows(cmd *cobra.Command, rows *valla.Rows) (*data.Set, error) {
	return takenRows(cmd, nil, 0, rows, nil, 0)
}

// takenRows returns all rows, or a sample of these and of the rows of other files, prints the notes on the rows, and closes
// rows. Rows that need more than limit bytes are an error; a limit of 0 stands for the available memory.
func takenRows(cmd *cobra.Command, in *sampling, seed uint64, rows *valla.Rows, rest []string, limit memory) (*data.Set, error) {
	defer rows.Close()
	set, err := take(cmd, in, seed, rows, rest, limit)
	if err == nil {
		printNotes(cmd, rows.Notes())
	}
	return set, err
}

// elsewhereReader returns the reader of the data at path, which may be a folder of images or have lists for the network
// from elsewhere, and the columns that the network takes first, if it has several inputs.
func (c *fitCommand) elsewhereReader(path string) (r data.TableReader, first []string, err error) {
	r = c.header.reader()
	info, err := os.Stat(path)
	folder := err == nil && info.IsDir()
	if c.onnx == "" && !folder {
		return r, nil, nil
	}
	form, err := c.form()
	if err != nil {
		return r, nil, err
	}
	if folder {
		r.Image = form.InputShape()
	}
	r.Arrays, first = valla.InputNames(form)
	r.Paddings, err = c.elsewhere.Paddings(form)
	return r, first, err
}

// form returns the form of the network from elsewhere.
func (c *fitCommand) form() (layers.Form, error) {
	if files := c.networks(); files != nil {
		return c.weightOptions().Describe(files[0])
	}
	return c.network.Describe(nil, 0)
}

// held returns the held-out rows of the file of the flag --validation-data, and nil if the flag is not
// given. Many rows are divided into a half that chooses and a half that judges.
func (c *fitCommand) held(cmd *cobra.Command, m *valla.Model) (held, judge *data.Set, err error) {
	if held, err = c.read(cmd, m, c.validationData); err != nil || held == nil || held.N() < holdout.EnoughToSplit {
		return held, nil, err
	}
	held, judge = holdout.Halves(held, c.Seed)
	return held, judge, nil
}
