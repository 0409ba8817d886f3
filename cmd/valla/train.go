package main

import (
	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
)

// trainCommand is the command line of valla train.
type trainCommand struct {
	targets
	work
	valla.Network
	valla.Training
}

func newTrain() *cobra.Command {
	c := &trainCommand{}
	cmd := &cobra.Command{
		Use:   "train DATA --out FILE",
		Short: "Train a network",
		Long: `Train a network to predict one or several columns of a table from the others, or the
targets of images, and write it with its scaling and its noise std to a model file. So far
its only error bar is the noise; valla fit adds a posterior. With --classes the column
holds the numbers of classes, and the network predicts their probabilities.

DATA is a .csv, .csv.gz, .npy or .npz file. The first row of a CSV file may name the
columns; otherwise they are called x0, x1, .... An .npz archive holds the arrays X and y,
where X may be images [N,C,H,W].

Ctrl-C ends the training, and the best weights so far are written: to --out, or where that
file exists already, beside it (m.part.valla for m.valla). With --checkpoint a training can
be resumed later, as if it had not been interrupted.`,
		Example: `  valla train houses.csv --target price --out map.valla
  valla train irises.csv --target species --classes --out map.valla
  valla train images.npz --classes --form resnet20 --augment --out map.valla`,
		Args: oneTable,
		RunE: running(c.run),
	}
	c.flags(cmd)
	settingsFlags(cmd.Flags(), c, "", nil)
	return cmd
}

func (c *trainCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.check("", args[0], c.Form); err != nil {
		return err
	}
	set, err := c.targets.read(args[0])
	if err != nil {
		return err
	}
	d := newDrawer(cmd.ErrOrStderr(), c.JSON)
	m, err := valla.Train(cmd.Context(), set, valla.TrainOptions{
		Network: c.Network, Training: c.Training, Classes: c.Classes,
		Seed: c.Seed, Checkpoint: c.checkpoint, Resume: c.Resume, OnProgress: d.steps("MAP"),
	})
	d.close()
	return c.save(cmd, m, err)
}
