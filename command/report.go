package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/command/internal/assess"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
)

// reportCommand is the command line of valla report.
type reportCommand struct {
	Level float64 `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the intervals, or of the sets of classes, in the summary"`
	reading
	memory memory // bytes that the table may need
	out    string // path of the page
}

func newReportPage() *cobra.Command {
	c := &reportCommand{}
	cmd := &cobra.Command{
		Use:   "report DATA --model FILE --out FILE.html",
		Short: "Write a page on how good the error bars are",
		Long: `Write one HTML page, which needs no other file, about the predictions of a model for rows with
known targets. Use rows that neither the training nor the fit has used.

The page compares the model with the network alone (MAP), and with a temperature that each half of
the rows chooses for the other half. For a regression the page shows the coverage of the intervals
by level, the sizes of the standard deviations, the residuals against the standard deviations, and
the rows with the largest surprises. For a classification the page shows the accuracy of answers by
their probability, the accuracy of the most probable answers, the confusions, and the rows whose
class had the smallest probability.`,
		Example: "  valla report test.csv --model houses.valla --out report.html",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	cmd.Flags().StringVar(&c.out, "out", "", "`FILE.html` to write")
	cmd.Flags().Var(&c.memory, "memory", "memory that the table may take, such as 4GiB (default: the available memory of the machine)")
	c.flags(cmd, c)
	require(cmd, "out")
	return cmd
}

func (c *reportCommand) run(cmd *cobra.Command, args []string) error {
	if e := strings.ToLower(filepath.Ext(c.out)); e != ".html" && e != ".htm" {
		return settings.Errorf("--out %s, expected a file called .html", c.out)
	}
	if err := checkOut("--out", c.out, args[0], c.model); err != nil {
		return err
	}
	if err := settings.Complete(c); err != nil {
		return err
	}
	m, rows, err := c.open(cmd.Context(), args[0], true)
	if err != nil {
		return err
	}
	defer rows.Close()
	set, err := rows.All(int64(c.memory))
	if err != nil {
		return err
	}
	d := c.drawer(cmd)
	defer d.close()
	page, err := assess.New(cmd.Context(), m, set, assess.Options{
		Data: args[0], Model: c.model, Level: c.Level, Notes: rows.Notes(), PredictOptions: valla.PredictOptions{Link: task.Link(c.Link), OnRows: d.predicted(args[0])}})
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	d.close()
	return c.write(cmd, page)
}

// write writes the page to the file and prints its summary.
func (c *reportCommand) write(cmd *cobra.Command, page *assess.Page) error {
	html, err := page.HTML()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error { _, err := w.Write(html); return err }); err != nil {
		return err
	}
	if !c.JSON { // the document has the notes
		printNotes(cmd, page.Notes)
	}
	lines := append(slices.Clone(page.Summary), fmt.Sprintf("wrote a page on %d rows to %s\n", page.Rows, c.out))
	return c.print(cmd, map[string]any{"out": c.out, "rows": page.Rows, "targets": page.Targets, "summary": page.Summary, "notes": page.Notes}, strings.Join(lines, "\n"))
}
