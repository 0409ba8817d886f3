package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla/experiments"
)

func newDemo() *cobra.Command {
	o := experiments.DemoOptions{Dir: filepath.Join("runs", "demo"), Seed: 1}
	asJSON := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what error bars do, on synthetic data",
		Long: `Train a network on synthetic data with a gap, fit the exact linearized Laplace
approximation (LLA) and VaLLA with 20 inducing points to it, score them on fresh data, and
draw their predictive bands. It needs no files.`,
		Args: cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			o.Progress = cmd.ErrOrStderr()
			res, err := experiments.Demo(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), res)
			}
			return printDemo(cmd.OutOrStdout(), res)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", o.Dir, "`FOLDER` for the pictures and the model")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "of everything random")
	jsonFlag(f, &asJSON)
	return cmd
}

func printDemo(w io.Writer, r *experiments.DemoResult) error {
	fmt.Fprintf(w, `A network 1-50-50-1 (tanh) was trained on %d points of y = x sin x + noise, with a gap.
Exact LLA's marginal likelihood gave the prior std %.3g (standardised) and the noise std
%.3g (true: 0.2). VaLLA stands in for LLA with 20 inducing points: its std differs from
LLA's by %.2g %% on average. Scores on %d fresh points:

`, r.Points, r.PriorStd, r.NoiseStd, 100*r.StdError, r.Points)
	experiments.WriteScores(w, r.Scores)
	fmt.Fprintln(w, "\nThe mean is the network's in every row; what differs is how far to trust it, above all\nwhere there are no data. Look at the picture:")
	for _, file := range r.Files {
		fmt.Fprintln(w, "  wrote", file)
	}
	return nil
}
