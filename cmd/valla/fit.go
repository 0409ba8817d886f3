package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/model"
)

// fitCommand is the command line of valla fit.
type fitCommand struct {
	options                     model.FitOptions
	weightOptions               model.WeightOptions
	model, weights, target, out string
	json                        bool
}

// ofWeights are the flags that describe a network from elsewhere; a model knows.
var ofWeights = []string{"activation", "layout", "standardize", "target", "dtype"}

func newFit() *cobra.Command {
	c := &fitCommand{options: model.FitDefaults(), weightOptions: model.WeightOptions{Dtype: tensor.Float64}}
	cmd := &cobra.Command{
		Use:   "fit DATA {--model FILE | --weights FILE --activation NAME} --out FILE",
		Short: "Fit a posterior to a trained network",
		Long: `Fit a VaLLA posterior to a network that was trained on a table, by valla train or
elsewhere, and write both to one model file. The network's weights and predictions stay
as they are; what is added are error bars.

Weights from elsewhere are an .npz archive or a folder of .npy files, named as in
PyTorch's state dictionaries (fc1.weight, fc1.bias, ...) or W1, b1, ... Their network
takes and gives numbers in the units of the data, unless --standardize says that it was
trained on standardised inputs and targets.

Ctrl-C stops a fit, and the best state so far is written. With --checkpoint it can be
resumed later, from the same data with the same settings, as if it had not stopped.`,
		Example: `  valla fit houses.csv --model map.valla --out houses.valla
  valla fit houses.csv --target price --weights net.npz --activation tanh --out houses.valla`,
		Args: oneTable,
		RunE: running(c.run),
	}
	c.flags(cmd.Flags())
	require(cmd, "out")
	cmd.MarkFlagsOneRequired("model", "weights")
	cmd.MarkFlagsMutuallyExclusive("model", "weights")
	for _, name := range ofWeights {
		cmd.MarkFlagsMutuallyExclusive("model", name)
	}
	return cmd
}

func (c *fitCommand) flags(f *pflag.FlagSet) {
	o, w := &c.options, &c.weightOptions
	f.SortFlags = false
	f.StringVar(&c.model, "model", "", "model `FILE` of valla train")
	f.StringVar(&c.weights, "weights", "", "`FILE` of weights trained elsewhere, instead of a model")
	activationFlag(f, &w.Activation, "with --weights: function after each hidden layer")
	layoutFlag(f, &w.Layout)
	f.BoolVar(&w.Standardize, "standardize", false, "with --weights: the network works on standardised numbers")
	f.StringVar(&c.target, "target", "", "with --weights: `COLUMN` to predict (default the last one)")
	dtypeFlag(f, &w.Dtype, "with --weights: numbers to compute with")
	f.StringVar(&c.out, "out", "", "model `FILE` to write")
	f.IntVar(&o.Inducing, "inducing", o.Inducing, "inducing points")
	initFlag(f, &o.Init)
	f.Float64Var(&o.Alpha, "alpha", o.Alpha, "of the objective, 0 to 1; 0 is the evidence lower bound")
	f.IntVar(&o.Iterations, "iterations", o.Iterations, "mini-batches at most")
	f.IntVar(&o.BatchSize, "batch-size", o.BatchSize, "rows of a mini-batch")
	f.Float64Var(&o.LearningRate, "learning-rate", o.LearningRate, "of Adam; the published setting is 0.001, with 40,000 iterations")
	f.Float64Var(&o.Validation, "validation", o.Validation, "fraction of the rows held out to stop early; 0 for none")
	f.IntVar(&o.Patience, "patience", o.Patience, "stop after so many validations (one every 100 iterations) without improvement; 0 for never")
	f.Float64Var(&o.PriorStd, "prior-std", o.PriorStd, "prior standard deviation of the weights at the start")
	f.BoolVar(&o.FixPrior, "fix-prior", false, "keep the prior standard deviation")
	f.Float64Var(&o.NoiseStd, "noise-std", 0, "noise of the target at the start, in its units (default the network's residual)")
	f.BoolVar(&o.FixNoise, "fix-noise", false, "keep the noise")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "of everything random")
	f.StringVar(&o.Checkpoint, "checkpoint", "", "`FILE` to keep the state of the fit in")
	f.BoolVar(&o.Resume, "resume", false, "go on from the checkpoint where it exists")
	jsonFlag(f, &c.json)
}

func (c *fitCommand) run(cmd *cobra.Command, args []string) error {
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
	c.options.Progress = cmd.ErrOrStderr()
	fitted, _, err := model.Fit(cmd.Context(), m, set, c.options)
	if fitted != nil && fitted.Layer.Inducing() < c.options.Inducing {
		fmt.Fprintf(cmd.ErrOrStderr(), "valla: note: %d inducing points instead of %d: there are no more distinct inputs\n",
			fitted.Layer.Inducing(), c.options.Inducing)
	}
	return save(cmd, fitted, c.out, c.json, err)
}

// start returns the network to fit a posterior to, and the data.
func (c *fitCommand) start(ctx context.Context, table *data.Table) (*model.Model, *data.Set, error) {
	if c.weights != "" {
		if c.weightOptions.Activation == "" {
			return nil, nil, fmt.Errorf("%w: --weights needs --activation: the file does not tell it", model.ErrOption)
		}
		set, err := table.Set(c.target)
		if err != nil {
			return nil, nil, err
		}
		m, err := model.FromWeights(ctx, c.weights, c.weightOptions, set)
		return m, set, err
	}
	m, err := model.Load(c.model)
	if err != nil {
		return nil, nil, err
	}
	set, err := m.Set(table)
	return m, set, err
}
