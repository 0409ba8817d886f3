package command

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/go-valla/valla/experiments"
)

func newDemo() *cobra.Command {
	var dir string
	var seed uint64
	var form asJSON
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show error bars on synthetic data",
		Long: `Train a network on synthetic data with a gap, fit the exact linearized Laplace
approximation (LLA) and VaLLA with 20 inducing points to it, score them on fresh data, and
draw their predictive bands. The demo needs no files.`,
		Args: cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			drawn := newDrawer(cmd.ErrOrStderr(), form.JSON)
			res, err := experiments.Demo(cmd.Context(), dir, seed, drawn.step)
			drawn.close()
			if err != nil {
				return err
			}
			return form.print(cmd, res, demoText(res))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", filepath.Join("runs", "demo"), "`FOLDER` for the pictures and the model")
	f.Uint64Var(&seed, "seed", 1, "seed of all random numbers")
	settingsFlags(f, &form, "", nil)
	return cmd
}

// demoText returns the result of the demo as text.
func demoText(r *experiments.DemoResult) string {
	text := fmt.Sprintf(`A network 1-50-50-1 (tanh) was trained on %d points of y = x sin x + noise, with a gap.
Exact LLA's marginal likelihood gave the prior std %.3g and the noise std %.3g (true: 0.2).
VaLLA stands in for LLA with 20 inducing points: its std differs from LLA's by %.2g %% on
average. Scores on %d fresh points:
%s

All methods have the same mean: the output of the network. Their uncertainty differs most
where there are no data. See the picture:
`, r.Points, r.PriorStd, r.NoiseStd, 100*r.StdError, r.Points, demoTable(r.Scores))
	for _, file := range r.Files {
		text += fmt.Sprintln("  wrote", file)
	}
	return text
}

// demoTable returns the table of the scores.
func demoTable(rows []experiments.Score) string {
	t, style := table.NewWriter(), table.StyleRounded
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	header := table.Row{"method"}
	for _, s := range rows[0].Scores.List {
		header = append(header, s.Name)
	}
	t.AppendHeader(append(header, "fit, s"))
	for _, r := range rows {
		cells := table.Row{r.Method}
		for _, s := range r.Scores.List {
			cells = append(cells, strconv.FormatFloat(s.Value, 'f', 4, 64))
		}
		t.AppendRow(append(cells, strconv.FormatFloat(r.Seconds, 'f', 2, 64)))
	}
	return t.Render()
}
