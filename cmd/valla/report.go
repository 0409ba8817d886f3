package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/cmd/valla/internal/assess"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/settings"
)

// reportCommand is the command line of valla report.
type reportCommand struct {
	Level float64 `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the intervals or sets in the summary"`
	reading
	memory memory
	out    string
}

func newReportPage() *cobra.Command {
	c := &reportCommand{}
	cmd := &cobra.Command{
		Use:   "report DATA --model FILE --out FILE.html",
		Short: "Write a page on how good the error bars are",
		Long: `Write one HTML page, which needs no other file, on the predictions of a model for rows with
known targets. They should be rows that neither training nor fit has used.

The page compares the model with the network alone (MAP) and with a temperature, which each half
of the rows chooses for the other. For numbers it shows the coverage of intervals by level, how
large the standard deviations are, residuals against them, and the rows with the largest
surprises. For classes it shows how often answers of a probability are right, how accurate the
sure ones are, confusions, and the rows whose class had the smallest probability.`,
		Example: "  valla report test.csv --model houses.valla --out report.html",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	cmd.Flags().StringVar(&c.out, "out", "", "`FILE` to write")
	cmd.Flags().Var(&c.memory, "memory", "memory that the table may need, such as 4GiB (default: what the machine has left)")
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
	m, rows, err := c.open(args[0], true)
	if err != nil {
		return err
	}
	defer rows.Close()
	set, err := rows.All(int64(c.memory))
	if err != nil {
		return err
	}
	d := c.drawer(cmd)
	page, err := assess.New(cmd.Context(), m, set, assess.Options{
		Data: args[0], Model: c.model, Level: c.Level, Notes: rows.Notes(), PredictOptions: valla.PredictOptions{Link: task.Link(c.Link), OnRows: d.predicted(args[0])}})
	d.close()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	html, err := page.HTML()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error { _, err := w.Write(html); return err }); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(cmd.OutOrStdout(), map[string]any{"out": c.out, "rows": page.Rows, "targets": page.Targets, "summary": page.Summary, "notes": page.Notes})
	}
	printNotes(cmd, page.Notes)
	for _, s := range page.Summary {
		fmt.Fprintln(cmd.OutOrStdout(), s)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote a page on %d rows to %s\n", page.Rows, c.out)
	return err
}
