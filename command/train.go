package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
)

// transforming has the flag of the target transform.
type transforming struct {
	TargetTransform string `set:"target-transform" default:"none" choice:"none log log1p yeo-johnson" help:"regression: function of the targets that the network learns in their place"`
}

// transform returns the name of the transform for the library; "" for none.
func (t transforming) transform() string {
	if t.TargetTransform == "none" {
		return ""
	}
	return t.TargetTransform
}

// trainCommand is the command line of valla train.
type trainCommand struct {
	targets
	columns
	header
	work
	valla.Network
	valla.Training
	transforming
	sampling
	NoiseHead string `set:"noise-head" default:"none" choice:"none log-variance" help:"regression: log-variance trains a network that tells the noise of each row by a second output for each target"` // noise of each row

	memory    memory    // bytes that the table may take
	observing observing // none means Gaussian noise, or classes
}

func newTrain(args []string) *cobra.Command {
	c := &trainCommand{}
	cmd := &cobra.Command{
		Use:   "train DATA... --out FILE",
		Short: "Train a network",
		Long:  trainHelp,
		Example: `  valla train houses.csv --target price --out map.valla
  valla train irises.csv --target species --classes --out map.valla
  valla train visits.csv --target visits --likelihood poisson --out map.valla
  valla train images.npz --classes --form resnet20 --augment --out map.valla`,
		Args: c.sampling.tables,
		RunE: running(c.run),
	}
	c.flags(cmd)
	require(cmd, "out")
	cmd.Flags().Var(&c.memory, "memory", "memory that the table may take, such as 4GiB (default: the available memory of the machine)")
	settingsFlags(cmd.Flags(), c, "", nil)
	c.observing.flags(cmd, args, "`NAME` of the observation model: "+strings.Join(likelihood.Names(), ", ")+" (default gaussian)")
	return cmd
}

const trainHelp = `Train a network to predict one or several columns of a table from the others, or the
targets of images, and write it with its scaling and its noise std to a model file. So far
its only error bar is the noise; valla fit adds a posterior. With --classes the column
holds the names or numbers of classes, and the network predicts their probabilities. With
--likelihood the targets are counts, yes or no, ordered classes, numbers with outliers and
so on, and the network's outputs mean what the observation model says; valla likelihood list
names the models, and valla likelihood show NAME describes a model and its flags. With
--target-transform log, log1p or yeo-johnson the network learns this function of the targets,
as for prices, incomes and other positive numbers with a long tail; predictions and scores
stay in the units of the data.

DATA is a table of text (.csv, .tsv or .txt, also .gz or .zst, or - for the standard input),
a .parquet file, or a .npy or .npz file. Cells of text are separated by commas, semicolons,
tabs or bars. The first row may name the columns; otherwise they are called x0, x1, .... An
.npz archive holds the arrays X and y, where X may be images [N,C,H,W].

Columns may hold text, booleans, dates and missing values (an empty cell, NA, NaN, null, ?).
Categories get an input each, or a code if there are more than 20; dates become days; the
median stands for a missing value, and an input says so. The report says what became of each
column that does not hold plain numbers, and the model file keeps it for other commands.

Without --iterations a part of the training rows of a table chooses how many steps are made,
and with what weight decay. The rows that are held out choose nothing then.

Ctrl-C ends the training, and the best weights so far are written: to --out, or where that
file exists already, beside it (m.part.valla for m.valla). With --checkpoint a training can
be resumed later, as if it had not been interrupted.`

// inFile adds the path of a file to an error about an input or a target in it.
func inFile(path string, err error) error {
	if errors.As(err, new(*task.TargetError)) || errors.As(err, new(*task.InputError)) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

func (c *trainCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.check(cmd, args); err != nil {
		return err
	}
	model, err := c.observing.model()
	if err != nil {
		return err
	}
	o := valla.TrainOptions{
		Network: c.Network, Training: c.Training, Classes: c.Classes,
		Seed: c.Seed, Checkpoint: c.checkpoint, Resume: c.Resume,
		Likelihood: model, TargetTransform: c.transform(),
	}
	if c.NoiseHead != "none" {
		o.NoiseHead = task.ScaleOf(c.NoiseHead)
	}
	set, notes, err := c.columns.read(cmd, &c.sampling, args, c.header.reader(), c.targets, o, c.memory)
	if err != nil {
		return err
	}
	printNotes(cmd, notes)
	d := newDrawer(cmd.ErrOrStderr(), c.JSON)
	o.OnProgress = d.steps("MAP")
	m, err := valla.Train(cmd.Context(), set, o)
	d.close()
	return c.save(cmd, m, inFile(args[0], err))
}
