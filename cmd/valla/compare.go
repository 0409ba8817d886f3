package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/compare"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
)

// compareCommand is the command line of valla compare.
type compareCommand struct {
	Methods []string `set:"methods" auto:"all" help:"what is compared beside the network alone, by the names above"`
	Folds   int      `set:"folds" auto:"2, or 1 from 2,000 rows held out on" min:"1" help:"parts of the rows held out, each of which judges what the others chose; 1: one half judges, the other chooses"`
	Level   float64  `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the intervals, or of the sets of classes"`
	Seed    uint64   `set:"seed" help:"seed of everything random"`
	header
	asJSON

	model, validation string
	budget            time.Duration
	memory            memory
}

func newCompare() *cobra.Command {
	c := &compareCommand{}
	cmd := &cobra.Command{
		Use:   "compare DATA --model FILE",
		Short: "Tell which method suits a network and its data",
		Long: fmt.Sprintf(`Compare what puts error bars on the network of a model: calibrations of the network alone,
and the methods of valla method list with their defaults. DATA is the table on which the network
was trained. All are scored on the same rows: those of --validation, of which the network must
have seen none, or those that the training held out, or else a tenth of DATA, which the network may
have seen; the table then says so. No row judges what it has chosen or calibrated.

The table has the negative log-likelihood (NLL) with its standard error; how far it is behind the
smallest one, with the standard error of the rows' differences; for numbers the continuous ranked
probability score (CRPS), the share of the targets in their intervals, and the intervals' mean
width; for classes the share of right answers (ACC), the expected calibration error (ECE), the
Brier score and, of conformal sets, their coverage and mean size; the time of a fit, that of a
prediction per row, and the memory that the fit took at most. The last line recommends
the simplest of those that two standard errors do not tell from the best.

Methods are fitted one after the other, the cheapest first, until the --budget is spent. What is
left out comes with the reason. Ctrl-C ends the comparison and prints what has finished.

%s`, wrap("The names of --methods are "+strings.Join(compare.Names(), ", ")+".", 0)),
		Example: `  valla compare houses.csv --model map.valla
  valla compare houses.csv --model map.valla --validation held.csv --methods temperature,lla,valla --budget 2m`,
		Args: oneTable,
		RunE: running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.model, "model", "", "model `FILE` with the network")
	f.DurationVar(&c.budget, "budget", 5*time.Minute, "wall time of everything, such as `5m` or 90s")
	f.StringVar(&c.validation, "validation", "", "`FILE` of rows to score on, which the network has not seen")
	settingsFlags(f, c, "", nil)
	f.Var(&c.memory, "memory", "memory that the data may need, and a fit beside them, such as 4GiB (default: what the machine has left, and the method's)")
	require(cmd, "model")
	return cmd
}

func (c *compareCommand) run(cmd *cobra.Command, args []string) error {
	m, err := valla.Load(c.model)
	if err != nil {
		return err
	}
	read := fitCommand{header: c.header, memory: c.memory}
	set, err := read.read(cmd, m, args[0])
	if err != nil {
		return err
	}
	var held *data.Set
	if c.validation != "" {
		if held, err = read.read(cmd, m, c.validation); err != nil {
			return err
		}
	}
	d := newDrawer(cmd.ErrOrStderr(), c.JSON)
	out, runErr := compare.Run(cmd.Context(), m, set, compare.Options{
		Methods: c.Methods, Budget: c.budget, Held: held, Folds: c.Folds, Level: c.Level, Memory: int64(c.memory), Seed: c.Seed, OnProgress: d.compared,
	})
	d.close()
	if out == nil {
		return runErr
	}
	if c.JSON {
		err = printJSON(cmd.OutOrStdout(), out)
	} else {
		_, err = fmt.Fprint(cmd.OutOrStdout(), comparisonText(out))
	}
	if runErr != nil {
		return errors.Join(interruption("interrupted; the comparison has what had finished"), err)
	}
	return err
}

// comparisonText is a comparison for people.
func comparisonText(c *compare.Comparison) string {
	out := comparisonHead(c)
	if len(c.Results) > 0 {
		out += comparisonTable(c) + "\n"
	}
	for _, l := range c.LeftOut {
		out += fmt.Sprintf("left out: %s: %s\n", l.Label, l.Reason)
	}
	return out + c.Advice + "\n"
}

// comparisonTable has a line for each result.
func comparisonTable(c *compare.Comparison) string {
	scores, width := []string{"CRPS"}, "width"
	if isClasses(c.Results[0].Scores) {
		scores, width = []string{"ACC", "ECE", "Brier"}, "classes"
	}
	if len(c.Targets) > 1 {
		scores = nil
	}
	header := table.Row{"", "NLL", "± s.e.", "behind", "± s.e."}
	for _, s := range scores {
		header = append(header, s)
	}
	header = append(header, fmt.Sprintf("%g %% hold", 100*c.Level), width, "fit s", "µs/row", "memory")
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Format.Header = text.FormatDefault
	w.AppendHeader(header)
	var right []table.ColumnConfig
	for i := range header[1:] {
		right = append(right, table.ColumnConfig{Number: i + 2, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	w.SetColumnConfigs(right)
	for _, r := range c.Results {
		w.AppendRow(comparedRow(r, scores))
	}
	return w.Render()
}

// isClasses says whether scores are those of classes.
func isClasses(s valla.Scores) bool {
	_, ok := s.Get("ACC")
	return ok
}

// comparisonHead says which rows judge.
func comparisonHead(c *compare.Comparison) string {
	how := fmt.Sprintf("%d other rows choose", c.Rows)
	if c.Folds > 1 {
		how = fmt.Sprintf("in %d folds", c.Folds)
	}
	seen := ""
	if c.Seen {
		seen = "; the network may have seen these rows: --validation gives others"
	}
	return fmt.Sprintf("scores of %s on %d rows held out (%s), posteriors fitted to %d rows%s\n", quoted(c.Targets), c.Rows, how, c.Train, seen)
}

// digits writes a time: a whole number from 100 on, and smaller ones with two digits.
func digits(v float64) string {
	switch {
	case v >= 99.5:
		return fmt.Sprintf("%.0f", v)
	case v < 0.095:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// comparedRow is the line of a contender.
func comparedRow(r compare.Result, scores []string) table.Row {
	row := table.Row{r.Label, fmt.Sprintf("%.4f", r.NLL), fmt.Sprintf("%.2g", r.StandardError), fmt.Sprintf("%.4f", r.Behind), fmt.Sprintf("%.2g", r.BehindError)}
	for _, s := range scores {
		v, _ := r.Scores.Get(s)
		row = append(row, fmt.Sprintf(map[bool]string{true: "%.4g", false: "%.3f"}[s == "CRPS"], v))
	}
	number := func(format string, v *float64, factor float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf(format, factor**v)
	}
	bytes := ""
	if r.FitBytes > 0 {
		bytes = graph.Bytes(r.FitBytes)
	}
	return append(row, number("%.1f %%", r.Coverage, 100), number("%.3g", r.Width, 1), digits(r.FitSeconds), digits(r.MicrosPerRow), bytes)
}
