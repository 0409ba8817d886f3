package command

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

// featureFile is the flag of commands that read features.
type featureFile struct{ path string }

// flag defines the flag.
func (f *featureFile) flag(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "feature-file", "", "`FILE` of valla features: read the outputs of the first layers there, and add those that it does not have")
}

// use makes a model read the features, if the flag is given.
func (f featureFile) use(m *valla.Model) error {
	if f.path == "" {
		return nil
	}
	return m.UseFeatures(f.path)
}

// features shows what features take.
func (d *drawer) features(p valla.FeaturePlan) {
	text := fmt.Sprintf("features of shape %v of %d rows, %d of them new, take about %s and %s of memory", p.Shape, p.Rows, p.Missing, seconds(p.Seconds), graph.Bytes(p.Bytes))
	if p.Disk > 0 {
		text += fmt.Sprintf(", and %s of the file", graph.Bytes(p.Disk))
	}
	fmt.Fprintln(d.out, "valla: estimate:", text)
}

// featuresCommand is the command line of valla features.
type featuresCommand struct {
	Weights []string `set:"weights" default:"last-layer" help:"weights that later fits may make uncertain: last-layer, or names of parameters, with * for any letters; the features are what the first of them takes"`
	asJSON
	from fitCommand // the network and the data
	out  string     // path of the file of features
}

func newFeatures(args []string) *cobra.Command {
	c := &featuresCommand{}
	cmd := &cobra.Command{
		Use:   "features DATA {--model FILE | --network FILE | --net-weights FILE} --out FILE",
		Short: "Compute the frozen part of a network once",
		Long: `Compute what the layers of a network before the first of --weights give for the rows of DATA, the
features, and keep them in a file. Fits, evaluations, calibrations and comparisons with the flag
--feature-file read this file, and compute no more than the layers that come after. The weights
before are certain then, whatever the method.

The network is cut where a single value leads from one layer to the next or, where most of the
weights would be behind such a cut, where several values do. The file knows the network by its form and by its weights before the cut, and each row by a hash of its inputs, so
that the same file serves other divisions of the rows, and other tables too. Features that are in
the file already are not computed again: an interrupted run goes on where it has ended, and a second
table adds to the file. One process at a time may write to a file.

A line on stderr says before how long the rows take, and how large the file becomes.`,
		Example: `  valla features houses.csv --model map.valla --out houses.features
  valla fit houses.csv --model map.valla --method lla --feature-file houses.features --out houses.valla`,
		Args: oneTable,
		RunE: running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.from.model, "model", "", "model `FILE` with the network")
	f.StringVar(&c.from.onnx, "network", "", "`FILE.onnx` of a network trained elsewhere, instead of a model")
	f.StringVar(&c.from.netWeights, "net-weights", "", "`FILE` of a network's weights trained elsewhere, instead of a model")
	c.from.observing.flags(cmd, args, "with --network or --net-weights: `NAME` of the observation model of counts, labels or ordered classes")
	f.StringVar(&c.out, "out", "", "`FILE` of features, to which those are added that it does not have")
	settingsFlags(f, c, "", nil)
	settingsFlags(f, &c.from.header, "", nil)
	f.Var(&c.from.memory, "memory", "memory for the data, and for the computation beside the data, such as 4GiB (default: the available memory of the machine, and 4GiB)")
	c.from.networkFlags(cmd)
	require(cmd, "out")
	return cmd
}

// featuresDone is the result of valla features.
type featuresDone struct {
	File   string `json:"file"`   // path of the file
	Shape  []int  `json:"shape"`  // of the features of a row
	Before string `json:"before"` // first weights behind them
	Rows   int    `json:"rows"`   // rows of DATA
	New    int    `json:"new"`    // rows whose features were computed
}

func (c *featuresCommand) run(cmd *cobra.Command, args []string) error {
	c.from.method = new(vallagp.Settings) // whose weights are the default, as no flag gives others
	if err := cmp.Or(settings.Complete(c), c.from.checkWeights(), checkOut(cmd, "out", args)); err != nil {
		return err
	}
	model, err := c.from.observing.model()
	if err != nil {
		return err
	}
	m, set, err := c.from.start(cmd, args, &model)
	if err != nil {
		return err
	}
	if err := m.MakeFeatures(c.out, c.Weights); err != nil {
		return err
	}
	defer m.CloseFeatures()
	d, run := newDrawer(cmd.ErrOrStderr(), c.JSON), gp.Run{Memory: int64(c.from.memory)}
	plan, err := m.PlanFeatures(set, run)
	if err != nil {
		return err
	}
	d.features(plan)
	run.OnProgress = d.steps(c.out)
	err = m.ComputeFeatures(cmd.Context(), set, run)
	d.close()
	if err != nil {
		return err
	}
	done := featuresDone{File: c.out, Shape: plan.Shape, Before: plan.Before, Rows: plan.Rows, New: plan.Missing}
	return c.print(cmd, done, done.text())
}

// text returns the result as a line.
func (d featuresDone) text() string {
	return fmt.Sprintf("%s: the inputs of %s, of shape %s, of %d rows, %d of them new\n", d.File, d.Before, strings.ReplaceAll(fmt.Sprint(d.Shape), " ", ","), d.Rows, d.New)
}
