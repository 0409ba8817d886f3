package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/compare"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/tablefile"
)

// compareCommand is the command line of valla compare.
type compareCommand struct {
	Methods []string `set:"methods" auto:"all" help:"methods to compare with the network alone, by the names above"`                                                                                                                     // names of contenders
	Folds   int      `set:"folds" auto:"2; 1 for 2,000 or more held-out rows" min:"1" help:"folds of the held-out rows, each of which judges what the other folds have chosen; with 1 fold, one half judges and the other half chooses"` // number of folds
	Level   float64  `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the intervals, or of the sets of classes"`                                                                                                     // probability
	Seed    uint64   `set:"seed" help:"seed of all random numbers"`                                                                                                                                                                      // seed
	Shift   bool     `set:"shift" help:"judge by the tenth of the rows of DATA that is farthest out along the first principal component, with a network trained again on the others"`
	header
	asJSON

	model      string        // path of the model
	validation string        // path of held-out rows; may be ""
	budget     time.Duration // wall time of everything
	memory     memory        // bytes for data and fits
	features   featureFile   // features that are computed once
}

func newCompare() *cobra.Command {
	c := &compareCommand{}
	cmd := &cobra.Command{
		Use:   "compare DATA --model FILE",
		Short: "Find the method that suits a network and its data",
		Long: fmt.Sprintf(`Compare ways to put error bars on the network of a model: calibrations of the network alone, and
the methods of valla method list with their defaults. DATA is the table on which the network was
trained. All methods are scored on the same rows: the rows of --validation, which the network must not have
seen; or else the rows that the training held out; or else a tenth of DATA. The network may have seen this
tenth, and the table then says so. No row judges what it has chosen or calibrated.

The table shows for each method the negative log-likelihood (NLL) with its standard error, and the distance
to the smallest NLL with the standard error of the differences by row. For a regression it also shows the
continuous ranked probability score (CRPS), and the coverage and the mean width of the intervals. For a
classification it also shows the accuracy (ACC), the expected calibration error (ECE), the Brier score, and the
coverage and the mean size of conformal sets. The last columns are the time of the fit, the time of a prediction per
row, and the peak memory of the fit. The last line recommends the default method, a method that is better by two
standard errors, or a simpler one of which the rows say that it loses at most 0.02 nats.

With --shift the tenth of DATA farthest out along the first principal component judges a network trained without it.

Methods are fitted one after the other, the cheapest first, until the --budget is spent. A method that is left out has a
line with the reason. Ctrl-C ends the comparison and prints the finished methods.

%s`, wrap("The names of --methods are "+strings.Join(compare.Names(), ", ")+".", 0)),
		Example: `  valla compare houses.csv --model map.valla
  valla compare houses.csv --model map.valla --validation held.csv --methods temperature,lla,valla --budget 2m`,
		Args: oneTable,
		RunE: running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.model, "model", "", "model `FILE` with the network")
	f.DurationVar(&c.budget, "budget", 5*time.Minute, "wall time for the whole comparison, such as `5m` or 90s")
	f.StringVar(&c.validation, "validation", "", "`FILE` of rows for the scores, which the network has not seen")
	settingsFlags(f, c, "", nil)
	f.Var(&c.memory, "memory", "memory for the data, and for a fit beside the data, such as 4GiB (default: the available memory of the machine, and the default of the method)")
	c.features.flag(f)
	require(cmd, "model")
	return cmd
}

func (c *compareCommand) run(cmd *cobra.Command, args []string) error {
	m, err := valla.Load(c.model)
	if err != nil {
		return err
	}
	set, err := readFile(cmd, m, c.reader(), args[0], c.memory)
	if err != nil {
		return err
	}
	held, err := readFile(cmd, m, c.reader(), c.validation, c.memory)
	if err != nil {
		return err
	}
	if err := c.features.use(m); err != nil {
		return err
	}
	defer m.CloseFeatures()
	d := newDrawer(cmd.ErrOrStderr(), c.JSON)
	out, runErr := compare.Run(cmd.Context(), m, set, compare.Options{
		Methods: c.Methods, Budget: c.budget, Held: held, Folds: c.Folds, Level: c.Level, Shift: c.Shift, Memory: int64(c.memory), Seed: c.Seed, OnProgress: d.step,
	})
	d.close()
	if out == nil {
		return runErr
	}
	err = c.print(cmd, out, comparisonText(out))
	if runErr != nil {
		return errors.Join(interruption("interrupted; the comparison has the finished methods"), err)
	}
	return err
}

// comparisonText returns a comparison as text.
func comparisonText(c *compare.Comparison) string {
	out := comparisonHead(c)
	if len(c.Results) > 0 {
		out += comparisonTable(c) + "\n"
	}
	if c.Intervals != nil {
		out += intervalsLine(c) + "\n"
	}
	for _, l := range c.LeftOut {
		out += fmt.Sprintf("left out: %s: %s\n", l.Label, l.Reason)
	}
	return out + c.Advice + "\n"
}

// intervalsLine says how a contender has done that has intervals and no likelihood, beside the recommended one.
func intervalsLine(c *compare.Comparison) string {
	q := c.Intervals
	line := fmt.Sprintf("%s, no likelihood: %g %% hold %.1f %%, width %.3g, interval score %.3g, fit %s s", q.Label, 100*c.Level, 100*q.Coverage, q.Width, q.Score, digits(q.FitSeconds))
	for _, r := range c.Results {
		if r.Name == c.Recommended && r.IntervalScore != nil {
			line += fmt.Sprintf(" (%s: %.1f %%, %.3g, %.3g)", r.Label, 100**r.Coverage, *r.Width, *r.IntervalScore)
		}
	}
	return line
}

// comparisonTable returns the table with a line for each result.
func comparisonTable(c *compare.Comparison) string {
	var scores []string
	for _, v := range c.Results[0].Scores.List {
		if !slices.Contains([]string{"NLL", "RMSE", "CQM"}, v.Name) && len(c.Targets) == 1 {
			scores = append(scores, v.Name)
		}
	}
	width := "width"
	if isClasses(c.Results[0].Scores) {
		width = "classes"
	}
	header := table.Row{"", "NLL", "± s.e.", "behind", "± s.e."}
	for _, s := range scores {
		header = append(header, s)
	}
	header = append(header, fmt.Sprintf("%g %% hold", 100*c.Level), width, "fit s", "µs/row", "memory")
	w := newTable(header)
	alignRight(w, len(header))
	for _, r := range c.Results {
		w.AppendRow(comparedRow(r, scores))
	}
	return w.Render()
}

// isClasses says whether s are the scores of a classification, which have no PIT.
func isClasses(s valla.Scores) bool { return s.PIT == nil }

// comparisonHead returns a line about the rows that judge.
func comparisonHead(c *compare.Comparison) string {
	how := fmt.Sprintf("%d other rows choose", c.Rows)
	if c.Folds > 1 {
		how = fmt.Sprintf("in %d folds", c.Folds)
	}
	if c.Shift {
		return fmt.Sprintf("scores of %s on %d rows that lie outside along the first principal component, the network trained again and posteriors fitted to %d of the others\n", tablefile.Listed(c.Targets), c.Rows, c.Train)
	}
	seen := ""
	if c.Seen {
		seen = "; the network may have seen these rows: --validation gives others"
	}
	return fmt.Sprintf("scores of %s on %d rows held out (%s), posteriors fitted to %d rows%s\n", tablefile.Listed(c.Targets), c.Rows, how, c.Train, seen)
}

// digits returns the text of a time, with two significant digits below 100.
func digits(v float64) string {
	switch {
	case v >= 99.5:
		return fmt.Sprintf("%.0f", v)
	case v < 0.095:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// comparedRow returns the line of a result.
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
