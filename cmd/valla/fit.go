package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/model"
)

// fitCommand is the command line of valla fit.
type fitCommand struct {
	method        string
	valla         model.FitOptions
	lla           model.LLAOptions
	weightOptions model.WeightOptions

	model, netWeights, target, out string
	weights                        []string // the uncertain ones
	perLayer                       bool
	priorStd, noiseStd, validation float64
	seed                           uint64
	json                           bool
}

var (
	// ofNetwork are the flags that describe a network from elsewhere; a model knows.
	ofNetwork = []string{"activation", "layout", "standardize", "target", "classes", "dtype"}
	// ofMethod are the flags of one method alone.
	ofMethod = map[string][]string{
		model.MethodVaLLA: {"optimizer", "inducing", "init", "alpha", "iterations", "batch-size", "learning-rate", "patience", "fix-prior", "fix-noise", "checkpoint", "resume"},
		model.MethodLLA:   {"structure", "rank", "weights", "subset", "hyper", "per-layer"},
	}
)

func newFit() *cobra.Command {
	c := &fitCommand{
		method: model.MethodVaLLA, valla: model.FitDefaults(), lla: model.LLADefaults(), weights: []string{"all"},
		weightOptions: model.WeightOptions{Dtype: tensor.Float64},
	}
	cmd := &cobra.Command{
		Use:   "fit DATA {--model FILE | --net-weights FILE --activation NAME} --out FILE",
		Short: "Fit a posterior to a trained network",
		Long: `Fit a posterior to a network that was trained on a table, by valla train or elsewhere,
and write both to one model file. The network's weights and predictions stay as they
are; what is added are error bars.

There are two methods. valla, the variational one, optimises a few inducing points over
mini-batches, by natural gradients or as published (--optimizer adam). lla, the
linearized Laplace approximation, passes once over the data and keeps the covariance of
the --weights it is told to in a --structure: all of it (full), a Kronecker product for
each layer (kfac), its diagonal (diag), or some eigenvectors (lowrank). Its prior and
noise maximise the marginal likelihood, come from a grid by the likelihood of the rows
held out, or are given (--hyper). Flags of one method are errors with the other.

Weights from elsewhere (--net-weights) are an .npz archive or a folder of .npy files,
named as in PyTorch's state dictionaries (fc1.weight, fc1.bias, ...) or W1, b1, ... Their
network takes and gives numbers in the units of the data, unless --standardize says that
it was trained on standardised inputs and targets.

Ctrl-C stops a fit of valla, and the best state so far is written. With --checkpoint it
can be resumed later, from the same data with the same settings, as if it had not
stopped.`,
		Example: `  valla fit houses.csv --model map.valla --out houses.valla
  valla fit houses.csv --model map.valla --method lla --structure kfac --out houses.valla
  valla fit houses.csv --model map.valla --method lla --weights last-layer --hyper grid --out houses.valla
  valla fit houses.csv --target price --net-weights net.npz --activation tanh --out houses.valla`,
		Args: oneTable,
		RunE: running(c.run),
	}
	c.flags(cmd.Flags())
	require(cmd, "out")
	cmd.MarkFlagsOneRequired("model", "net-weights")
	cmd.MarkFlagsMutuallyExclusive("model", "net-weights")
	for _, name := range ofNetwork {
		cmd.MarkFlagsMutuallyExclusive("model", name)
	}
	return cmd
}

func (c *fitCommand) flags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&c.model, "model", "", "model `FILE` of valla train")
	c.networkFlags(f)
	f.StringVar(&c.out, "out", "", "model `FILE` to write")
	choice[string]{&c.method, []named[string]{{model.MethodVaLLA, model.MethodVaLLA}, {model.MethodLLA, model.MethodLLA}}}.
		add(f, "method", "of the error bars")
	f.Float64Var(&c.priorStd, "prior-std", 0, "prior standard deviation of the weights: valla's at the start (default 1), lla's for good (default found)")
	f.Float64Var(&c.noiseStd, "noise-std", 0, "noise of the target in its units: valla's at the start (default the network's residual), lla's for good (default found)")
	f.Float64Var(&c.validation, "validation", c.valla.Validation, "fraction of the rows held out, as by valla train: to stop early, for a grid; 0 for none")
	f.Uint64Var(&c.seed, "seed", 0, "of everything random")
	c.llaFlags(f)
	c.vallaFlags(f)
	jsonFlag(f, &c.json)
}

func (c *fitCommand) networkFlags(f *pflag.FlagSet) {
	w := &c.weightOptions
	f.StringVar(&c.netWeights, "net-weights", "", "`FILE` of a network's weights trained elsewhere, instead of a model")
	activationFlag(f, &w.Activation, "with --net-weights: function after each hidden layer")
	layoutFlag(f, &w.Layout)
	f.BoolVar(&w.Standardize, "standardize", false, "with --net-weights: the network works on standardised numbers")
	f.StringVar(&c.target, "target", "", "with --net-weights: `COLUMN` to predict (default the last one)")
	f.BoolVar(&w.Classes, "classes", false, "with --net-weights: the column holds classes, the outputs are their logits")
	dtypeFlag(f, &w.Dtype, "with --net-weights: numbers to compute with")
}

func (c *fitCommand) llaFlags(f *pflag.FlagSet) {
	o := &c.lla
	structureFlag(f, &o.Structure)
	f.IntVar(&o.Rank, "rank", 0, "lla: eigenvectors of the structure lowrank (default 100)")
	f.StringSliceVar(&c.weights, "weights", c.weights, "lla: which are uncertain: all, last-layer or `NAMES` of parameters (dense1.weight,...)")
	f.IntVar(&o.Subset, "subset", 0, "lla: take so many random `ROWS` for all; 0 for all")
	hyperFlag(f, &o.Hyper)
	f.BoolVar(&c.perLayer, "per-layer", false, "lla: a prior standard deviation for each layer")
}

func (c *fitCommand) vallaFlags(f *pflag.FlagSet) {
	o := &c.valla
	optimizerFlag(f, &o.Optimizer)
	f.IntVar(&o.Inducing, "inducing", o.Inducing, "valla: inducing points")
	initFlag(f, &o.Init)
	f.Float64Var(&o.Alpha, "alpha", o.Alpha, "valla: of the objective, 0 to 1; 0 is the evidence lower bound")
	f.IntVar(&o.Iterations, "iterations", o.Iterations, "valla: mini-batches at most (default natural 1000, for classes 2000; adam 40000)")
	f.IntVar(&o.BatchSize, "batch-size", o.BatchSize, "valla: rows of a mini-batch (default natural a hundredth of all, 100 to 400; adam 100)")
	f.Float64Var(&o.LearningRate, "learning-rate", o.LearningRate, "valla: of Adam (default natural 0.01, adam 0.001)")
	f.IntVar(&o.Patience, "patience", o.Patience, "valla: stop adam after so many validations (one every 100 iterations) without improvement; 0 for never")
	f.BoolVar(&o.FixPrior, "fix-prior", false, "valla: keep the prior standard deviation")
	f.BoolVar(&o.FixNoise, "fix-noise", false, "valla: keep the noise")
	f.StringVar(&o.Checkpoint, "checkpoint", "", "valla: `FILE` to keep the state of the fit in")
	f.BoolVar(&o.Resume, "resume", false, "valla: go on from the checkpoint where it exists")
}

func (c *fitCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.check(cmd.Flags()); err != nil {
		return err
	}
	if err := checkOut(c.out); err != nil {
		return err
	}
	table, err := data.ReadTable(args[0])
	if err != nil {
		return err
	}
	m, set, err := c.start(cmd.Context(), table)
	if err != nil {
		return err
	}
	if c.method == model.MethodLLA {
		c.lla.Progress = cmd.ErrOrStderr()
		fitted, err := model.FitLLA(cmd.Context(), m, set, c.lla)
		return save(cmd, fitted, c.out, c.json, err)
	}
	c.valla.Progress = cmd.ErrOrStderr()
	fitted, _, err := model.Fit(cmd.Context(), m, set, c.valla)
	c.note(cmd, fitted)
	return save(cmd, fitted, c.out, c.json, err)
}

// note says where there are fewer inducing points than asked for.
func (c *fitCommand) note(cmd *cobra.Command, fitted *model.Model) {
	if fitted == nil {
		return
	}
	if m := fitted.Posterior.(model.VaLLA).Layer.Inducing(); m < c.valla.Inducing {
		fmt.Fprintf(cmd.ErrOrStderr(), "valla: note: %d inducing points instead of %d: there are no more distinct inputs\n", m, c.valla.Inducing)
	}
}

// check refuses what does not go together and completes the options.
func (c *fitCommand) check(f *pflag.FlagSet) error {
	if err := c.checkWeights(); err != nil {
		return err
	}
	for method, flags := range ofMethod {
		for _, name := range flags {
			if method != c.method && f.Changed(name) {
				return fmt.Errorf("%w: --%s goes with --method %s, found --method %s", model.ErrOption, name, method, c.method)
			}
		}
	}
	if f.Changed("prior-std") {
		c.valla.PriorStd, c.lla.PriorStd = c.priorStd, c.priorStd
	}
	c.valla.NoiseStd, c.lla.NoiseStd = c.noiseStd, c.noiseStd
	c.valla.Validation, c.lla.Validation = c.validation, c.validation
	c.valla.Seed, c.lla.Seed = c.seed, c.seed
	c.lla.Weights = weightsOf(c.weights)
	if c.perLayer {
		c.lla.Priors = laplace.PerLayer
	}
	if c.netWeights != "" && c.weightOptions.Activation == "" {
		return fmt.Errorf("%w: --net-weights needs --activation: the file does not tell it", model.ErrOption)
	}
	return nil
}

// checkWeights tells apart the two flags that speak of weights.
func (c *fitCommand) checkWeights() error {
	for _, w := range c.weights {
		_, err := os.Stat(w)
		if err == nil || slices.Contains([]string{".npz", ".npy"}, strings.ToLower(filepath.Ext(w))) || strings.ContainsRune(w, filepath.Separator) {
			return fmt.Errorf("%w: --weights %s: expected all, last-layer or names of parameters; a file of weights goes with --net-weights", model.ErrOption, w)
		}
	}
	if c.netWeights == "all" || c.netWeights == "last-layer" {
		return fmt.Errorf("%w: --net-weights %s: expected a file; which weights are uncertain goes with --weights", model.ErrOption, c.netWeights)
	}
	return nil
}

// weightsOf returns the choice of uncertain weights that names stand for.
func weightsOf(names []string) laplace.Weights {
	switch {
	case slices.Equal(names, []string{"all"}):
		return laplace.All
	case slices.Equal(names, []string{"last-layer"}):
		return laplace.LastLayer
	}
	return laplace.Named(names...)
}

// start returns the network to fit a posterior to, and the data.
func (c *fitCommand) start(ctx context.Context, table *data.Table) (*model.Model, *data.Set, error) {
	if c.netWeights != "" {
		set, err := table.Set(c.target)
		if err != nil {
			return nil, nil, err
		}
		m, err := model.FromWeights(ctx, c.netWeights, c.weightOptions, set)
		return m, set, err
	}
	m, err := model.Load(c.model)
	if err != nil {
		return nil, nil, err
	}
	set, err := m.Set(table)
	return m, set, err
}
