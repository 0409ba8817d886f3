package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/experiments"
)

func newExperiment() *cobra.Command {
	return group("experiment", "Run the paper's experiments and report them", newExperimentList(), newExperimentRun(), newExperimentReport())
}

func newExperimentList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the experiments",
		Args:  cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			list, err := experiments.List()
			if err != nil {
				return err
			}
			for _, e := range list {
				fmt.Fprintf(cmd.OutOrStdout(), "%-21s %s (profiles %s)\n", e.Name, e.About, strings.Join(e.Profiles, ", "))
			}
			return nil
		}),
	}
}

// experimentRun is the command line of valla experiment run.
type experimentRun struct {
	experiments.Options
	experiments.Overrides
	profile string // profile of the experiment; "" means the first
	seeds   []uint // seeds; none means the experiment's
	asJSON
}

func newExperimentRun() *cobra.Command {
	c := &experimentRun{}
	c.Memory = 4 << 30
	cmd := &cobra.Command{
		Use:   "run NAME...",
		Short: "Run experiments, by name or from files NAME.yaml",
		Long: `Run experiments one after the other. A cell of a table is one method on one data set with
one seed. Finished cells in the folder --dir are skipped. An interrupted fit goes on from its
checkpoint. A cell is run again if its settings or data have changed. valla experiment report shows
the finished cells, and valla data get downloads the data sets.`,
		Example: "  valla experiment run toy uci --profile quick\n  valla experiment run mnist --weights mlp_mnist.npz --m 100,200 --seed 0,1",
		Args:    some("the name of an experiment; valla experiment list names them"),
		RunE:    running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.profile, "profile", "", "profile of the experiment, such as quick or full (default the first in its file)")
	dataFlag(cmd, &c.Data)
	f.StringVar(&c.Dir, "dir", "runs", "`FOLDER` for results and checkpoints")
	f.UintSliceVar(&c.seeds, "seed", nil, "seeds (default the experiment's)")
	f.IntSliceVar(&c.Inducing, "m", nil, "numbers of inducing points (default the experiment's)")
	f.IntVar(&c.Iterations, "iterations", 0, "number of steps of fits by mini-batches (default the experiment's)")
	f.StringSliceVar(&c.Overrides.Methods, "method", nil, "methods to run, out of "+strings.Join(experiments.Methods(), ",")+" (default the experiment's)")
	f.StringVar(&c.Net, "net", "", "form of the network, as in valla train --form (default the experiment's)")
	f.StringVar(&c.Weights, "weights", "", "`FILE` of the network's weights (default the experiment's; if it has none, the network is trained)")
	f.Var((*memory)(&c.Memory), "memory", "memory for a step of a fit, such as 4GiB; a mini-batch that needs more is computed in parts")
	f.BoolVar(&c.KeepModels, "keep-models", false, "keep each fitted model as a file for valla predict and valla eval, in the folder models below --dir")
	f.BoolVar(&c.Rotations, "rotations", false, "also score rotated test images, with the first of the seeds")
	settingsFlags(f, &c.asJSON, "", nil)
	return cmd
}

// dataFlag defines the flag --data, the folder of the data sets. The commands valla data and valla
// experiment share it.
func dataFlag(cmd *cobra.Command, folder *string) {
	standard, err := data.Folder()
	if err != nil {
		standard = "data"
	}
	cmd.Flags().StringVar(folder, "data", standard, "`FOLDER` that holds a folder for each data set")
}

func (c *experimentRun) run(cmd *cobra.Command, args []string) error {
	for _, s := range c.seeds {
		c.Seeds = append(c.Seeds, uint64(s))
	}
	var list []*experiments.Experiment
	for _, name := range args {
		e, err := experiments.Open(name, c.profile)
		if errors.Is(err, experiments.ErrUnknown) {
			err = fmt.Errorf("%w: %w", valla.ErrSetting, err)
		}
		if err == nil {
			err = c.Apply(e)
		}
		if err != nil {
			return err
		}
		list = append(list, e)
	}
	cells := map[string][]*experiments.Cell{}
	for i, e := range list {
		if err := c.one(cmd, args[i], e, cells); err != nil {
			return err
		}
	}
	return c.print(cmd, cells, fmt.Sprintf("valla experiment report --dir %s shows all results\n", c.Dir))
}

// one runs the experiment e, which the argument arg names, and prints its tables.
func (c *experimentRun) one(cmd *cobra.Command, arg string, e *experiments.Experiment, cells map[string][]*experiments.Cell) error {
	w := cmd.OutOrStdout()
	if c.JSON {
		w = io.Discard
	}
	o, drawn := c.Options, newDrawer(cmd.ErrOrStderr(), c.JSON)
	defer drawn.close()
	o.Commands = []string{c.command(cmd, arg, e.Profile)}
	if e.Profile != "full" && slices.Contains(e.Profiles, "full") {
		o.Commands = append(o.Commands, c.command(cmd, arg, "full"))
	}
	o.OnProgress = drawn.step
	o.OnCell = func(cell *experiments.Cell, fresh bool) {
		cells[e.Name] = append(cells[e.Name], cell)
		if fresh {
			drawn.close()
			fmt.Fprintf(w, "%-21s %-24s seed %-3d %s\n", cell.Data, cell.Row, cell.Seed, summary(cell))
		}
	}
	if err := experiments.Run(cmd.Context(), e, o); errors.Is(err, context.Canceled) {
		return interruption("interrupted; the same command continues the run")
	} else if err != nil {
		return err
	}
	return experiments.WriteTables(w, c.Dir, e.Name, e.Profile)
}

// command returns the command line that runs an experiment, with the flags that change results.
func (c *experimentRun) command(cmd *cobra.Command, arg, profile string) string {
	line := []string{"valla experiment run", arg}
	if profile != "" {
		line = append(line, "--profile", profile)
	}
	for _, name := range []string{"seed", "m", "iterations", "method", "net", "weights", "rotations"} {
		if f := cmd.Flags().Lookup(name); f.Changed {
			line = append(line, "--"+name+"="+strings.Trim(f.Value.String(), "[]"))
		}
	}
	return strings.Join(line, " ")
}

// summary returns a line about a finished cell.
func summary(c *experiments.Cell) string {
	if c.Refused != "" {
		return c.Refused
	}
	text := fmt.Sprintf("fit %.1f s", c.Fit.Wall)
	for _, kind := range []string{"", "own", "probit", "mc"} {
		if v, ok := c.Scores[kind]["NLL"]; ok {
			text += fmt.Sprintf(", NLL %.4f", float64(v))
			if kind != "" {
				text += " " + kind
			}
		}
	}
	return text
}

func newExperimentReport() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write the results as one HTML page and as Markdown",
		Long: `Write results as one HTML page and as Markdown: the results of the runs in the folder --dir, and the
published results, which are part of the program. Without a run the report has the published results
alone.`,
		Args: cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("dir") {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
			}
			files, damaged, err := experiments.Report(dir)
			if err != nil {
				return err
			}
			for _, d := range damaged {
				fmt.Fprintln(cmd.ErrOrStderr(), "valla: warning: damaged, and computed again by the next run:", d)
			}
			for _, f := range files {
				fmt.Fprintln(cmd.OutOrStdout(), "wrote", f)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&dir, "dir", "runs", "`FOLDER` of the results, and of the report")
	return cmd
}
