package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/experiments"
	"github.com/go-valla/valla/gp/model"
)

func newExperiment() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "experiment",
		Short: "Run the paper's experiments",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newExperimentList(), newExperimentRun())
	return cmd
}

func newExperimentList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the experiments",
		Args:  cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			for _, e := range experiments.List() {
				fmt.Fprintf(cmd.OutOrStdout(), "%-8s %s\n", e.Name, e.About)
			}
			return nil
		}),
	}
}

// experimentRun is the command line of valla experiment run.
type experimentRun struct {
	data, dir, weights string
	inducing           []int
	methods            []string
	seeds              []uint
	iterations         int
	rotations, json    bool
}

func newExperimentRun() *cobra.Command {
	c := &experimentRun{}
	cmd := &cobra.Command{
		Use:   "run NAME...",
		Short: "Run experiments and write their results and pictures",
		Long: `Run experiments one after the other. Each writes NAME.json and NAME.md, and pictures, into
the folder --dir. Long fits keep checkpoints there and go on from them when run again.`,
		Example: "  valla experiment run toy uci\n  valla experiment run mnist --weights mlp_mnist.npz --m 100,200 --seed 0,1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("expected the name of an experiment; valla experiment list names them")
			}
			return nil
		},
		RunE: running(c.run),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.data, "data", filepath.Join("..", "shared", "data"), "`FOLDER` that holds the data sets")
	f.StringVar(&c.dir, "dir", "runs", "`FOLDER` for results, checkpoints and pictures")
	f.UintSliceVar(&c.seeds, "seed", []uint{0}, "of everything random; several where an experiment repeats itself")
	f.IntSliceVar(&c.inducing, "m", nil, "numbers of inducing points (default the experiment's)")
	f.IntVar(&c.iterations, "iterations", 0, "of each VaLLA fit (default the experiment's)")
	f.StringSliceVar(&c.methods, "method", nil, "methods, of "+strings.Join(experiments.ImageMethods, ",")+" (default all; images only)")
	f.StringVar(&c.weights, "weights", "", "`FILE` of the network's weights (images only; default: train it)")
	f.BoolVar(&c.rotations, "rotations", false, "also score turned test images (images only)")
	jsonFlag(f, &c.json)
	return cmd
}

func (c *experimentRun) run(cmd *cobra.Command, args []string) error {
	known := map[string]func(context.Context, *cobra.Command) (any, error){
		"toy": c.toy, "uci": c.uci,
		"mnist":  func(ctx context.Context, cmd *cobra.Command) (any, error) { return c.images(ctx, cmd, "mnist") },
		"fmnist": func(ctx context.Context, cmd *cobra.Command) (any, error) { return c.images(ctx, cmd, "fmnist") },
	}
	for _, name := range args {
		if known[name] == nil {
			return fmt.Errorf("%w: unknown experiment %q; valla experiment list names them", model.ErrOption, name)
		}
	}
	results := map[string]any{}
	for _, name := range args {
		res, err := known[name](cmd.Context(), cmd)
		if err != nil {
			return err
		}
		results[name] = res
	}
	if c.json {
		return printJSON(cmd.OutOrStdout(), results)
	}
	return nil
}

// text is where tables go: nowhere if JSON is asked for.
func (c *experimentRun) text(cmd *cobra.Command) io.Writer {
	if c.json {
		return io.Discard
	}
	return cmd.OutOrStdout()
}

func (c *experimentRun) toy(ctx context.Context, cmd *cobra.Command) (any, error) {
	o := experiments.ToyDefaults()
	o.Data, o.Dir, o.Seed, o.Progress = filepath.Join(c.data, "toy1d", "data.csv"), c.dir, uint64(c.seeds[0]), cmd.ErrOrStderr()
	if c.inducing != nil {
		o.Inducing = c.inducing
	}
	if c.iterations > 0 {
		o.Iterations = c.iterations
	}
	res, err := experiments.Toy(ctx, o)
	if err != nil {
		return nil, err
	}
	w := c.text(cmd)
	fmt.Fprintln(w, "toy: mean difference of VaLLA's std to exact LLA's, as a fraction of LLA's mean std")
	for _, r := range res.Rows {
		fmt.Fprintf(w, "  M = %-3d %.4f  %s\n", r.Inducing, r.StdError, filepath.Join(c.dir, r.Picture))
	}
	experiments.WriteScores(w, res.Scores)
	fmt.Fprintln(w, "wrote", filepath.Join(c.dir, "toy.md"))
	return res, nil
}

func (c *experimentRun) uci(ctx context.Context, cmd *cobra.Command) (any, error) {
	o := experiments.UCIDefaults()
	o.Data, o.Dir, o.Seed, o.Progress = filepath.Join(c.data, "uci"), c.dir, uint64(c.seeds[0]), cmd.ErrOrStderr()
	if len(c.inducing) > 0 {
		o.Inducing = c.inducing[0]
	}
	if c.iterations > 0 {
		o.Iterations = c.iterations
	}
	res, err := experiments.UCI(ctx, o)
	if err != nil {
		return nil, err
	}
	w := c.text(cmd)
	experiments.WriteScores(w, res.Scores)
	fmt.Fprintln(w, "wrote", filepath.Join(c.dir, "uci.md"))
	return res, nil
}

func (c *experimentRun) images(ctx context.Context, cmd *cobra.Command, name string) (any, error) {
	o := experiments.ImagesDefaults(name)
	o.Data, o.Dir, o.Weights, o.Rotations, o.Progress = c.data, c.dir, c.weights, c.rotations, cmd.ErrOrStderr()
	o.Seeds = nil
	for _, s := range c.seeds {
		o.Seeds = append(o.Seeds, uint64(s))
	}
	if c.inducing != nil {
		o.Inducing = c.inducing
	}
	if c.iterations > 0 {
		o.Iterations = c.iterations
	}
	if c.methods != nil {
		o.Methods = c.methods
	}
	res, err := experiments.Images(ctx, o)
	if err != nil {
		return nil, err
	}
	w := c.text(cmd)
	experiments.WriteImageScores(w, res)
	fmt.Fprintln(w, "wrote", filepath.Join(c.dir, name+".md"))
	return res, nil
}
