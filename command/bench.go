package command

import (
	"github.com/spf13/cobra"

	"github.com/go-valla/valla/experiments/bench"
)

// newBench returns the command that measures the speed on this machine.
func newBench() *cobra.Command {
	var c bench.Command
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed on this machine",
		Long: `Measure the speed of the program on this machine, in about ten minutes on two cores: steps of fits,
predictions and whole fits. Each time stands beside its floor, the time in which one core could make the
operations that the formulas need. The speed of a core is measured first, in products of large matrices.

Whole fits take the data sets in the folder --data, or made rows of the same sizes, which need no files.
Ctrl-C ends the command with what was measured so far. With --dir a later run goes on from there.`,
		Example: "  valla bench --markdown > bench.md\n  valla bench --only uci --data data\n  valla bench --only . --time 3h --dir runs/bench",
		Args:    cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			asJSON, err := cmd.Flags().GetBool("json")
			if err != nil {
				return err
			}
			return c.Run(cmd.Context(), cmd.OutOrStdout(), newDrawer(cmd.ErrOrStderr(), asJSON).out)
		}),
	}
	c.Flags(cmd.Flags())
	return cmd
}
