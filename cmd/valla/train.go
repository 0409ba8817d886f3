package main

import (
	"github.com/spf13/cobra"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/model"
)

// trainCommand is the command line of valla train.
type trainCommand struct {
	options     model.TrainOptions
	target, out string
	json        bool
}

func newTrain() *cobra.Command {
	c := &trainCommand{options: model.TrainDefaults()}
	cmd := &cobra.Command{
		Use:   "train DATA --out FILE",
		Short: "Train a network on a table",
		Long: `Train a network to predict one column of a table from the others, and write it with
its scaling and its noise to a model file. It has no error bars beyond the noise yet;
valla fit gives them. With --classes the column holds the numbers of classes, and the
network gives their probabilities.

DATA is a .csv, .csv.gz, .npy or .npz file: columns are named in the first row of a CSV
file and x0, x1, ... otherwise; an .npz archive holds the arrays X and y.`,
		Example: `  valla train houses.csv --target price --out map.valla
  valla train irises.csv --target species --classes --out map.valla`,
		Args: oneTable,
		RunE: running(c.run),
	}
	f, o := cmd.Flags(), &c.options
	f.SortFlags = false
	f.StringVar(&c.target, "target", "", "`COLUMN` to predict (default the last one)")
	f.BoolVar(&o.Classes, "classes", false, "the column holds classes")
	f.StringVar(&c.out, "out", "", "model `FILE` to write")
	f.IntSliceVar(&o.Hidden, "hidden", o.Hidden, "`WIDTHS` of the hidden layers")
	activationFlag(f, &o.Activation, "function after each hidden layer")
	f.IntVar(&o.Iterations, "iterations", o.Iterations, "mini-batches at most")
	f.IntVar(&o.BatchSize, "batch-size", o.BatchSize, "rows of a mini-batch")
	f.Float64Var(&o.LearningRate, "learning-rate", o.LearningRate, "of Adam; falls along half a cosine")
	f.Float64Var(&o.WeightDecay, "weight-decay", o.WeightDecay, "of Adam; stands for the prior of the weights")
	f.Float64Var(&o.Validation, "validation", o.Validation, "fraction of the rows held out to keep the best weights; 0 for none")
	f.IntVar(&o.Patience, "patience", o.Patience, "stop after so many validations (one every 100 iterations) without improvement; 0 for never")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "of everything random")
	dtypeFlag(f, &o.Dtype, "numbers to compute with")
	jsonFlag(f, &c.json)
	require(cmd, "out")
	return cmd
}

func (c *trainCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkOut(c.out); err != nil {
		return err
	}
	table, err := data.ReadTable(args[0])
	if err != nil {
		return err
	}
	set, err := table.Set(c.target)
	if err != nil {
		return err
	}
	c.options.Progress = cmd.ErrOrStderr()
	m, _, err := model.Train(cmd.Context(), c.options, set)
	return save(cmd, m, c.out, c.json, err)
}
