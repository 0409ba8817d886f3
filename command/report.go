package command

import (
	"fmt"
	"io"
	"maps"
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
	Require []string `set:"require" help:"rules that the predictions must keep, such as coverage95>=0.93,nll<=map, see above"`

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
class had the smallest probability. It names faults of the rows and of the predictions with their
likely cause: slices whose intervals do not hold, inputs that are not as in the training, exchanged
columns, other units, copied rows, ids that the model uses, shifted targets, heavy tails and others.

--require judges rules. A rule is a measure, >= or <=, and a number: coverage95 (any level),
worst_slice (the smallest coverage of a slice of at least 200 rows; worst_slice90 for another level),
width95, psi (the largest change of an input), findings (the number of faults), and all scores of
valla eval with --json. nll<=map and nll<=scalar compare with the network alone, as it is or with
the temperature. A line for each rule has the value, its bounds, and holds, fails or cannot tell,
which is said where the limit lies between the bounds. The command ends with the code 3 if a rule
fails, and with 4 if none fails and one cannot be told.`,
		Example: `  valla report test.csv --model houses.valla --out report.html
  valla report test.csv --model houses.valla --out report.html --require 'coverage95>=0.93,worst_slice>=0.9,nll<=map'`,
		Args: oneTable,
		RunE: running(c.run),
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
	if err := checkOut(cmd, "out", args); err != nil {
		return err
	}
	if err := settings.Complete(c); err != nil {
		return err
	}
	rules, err := assess.ParseRules(c.Require, c.Level)
	if err != nil {
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
		Data: args[0], Model: c.model, Level: c.Level, Rules: rules, Notes: rows.Notes(), PredictOptions: valla.PredictOptions{Link: task.Link(c.Link), OnRows: d.predicted(args[0])}})
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
	if err := c.print(cmd, c.document(page), c.text(page)); err != nil {
		return err
	}
	return decided(page)
}

// document returns the page for JSON.
func (c *reportCommand) document(page *assess.Page) map[string]any {
	doc := page.Document()
	maps.Copy(doc, map[string]any{"out": c.out, "rows": page.Rows, "targets": page.Targets, "summary": page.Summary, "notes": page.Notes})
	return doc
}

// text returns the summary, the faults and the rules.
func (c *reportCommand) text(page *assess.Page) string {
	lines := slices.Clone(page.Summary)
	for _, f := range page.Audit.Findings {
		lines = append(lines, fmt.Sprintf("fault: %s: %s", f.Kind, f.Text))
	}
	for _, j := range page.Judged {
		lines = append(lines, j.String())
	}
	return strings.Join(append(lines, fmt.Sprintf("wrote a page on %d rows to %s\n", page.Rows, c.out)), "\n")
}

// decision is the error of rules that do not hold. It has an exit code of its own.
type decision struct {
	text string // what the rules are like
	code int    // exit code
}

// Error implements error.
func (d decision) Error() string { return d.text }

// Exit codes of a decision.
const (
	codeFails      = 3
	codeCannotTell = 4
)

// decided returns a decision if rules fail, or if nobody can tell; nil otherwise.
func decided(page *assess.Page) error {
	named := func(verdict string) string {
		var rules []string
		for _, j := range page.Judged {
			if j.Verdict == verdict {
				rules = append(rules, j.Rule)
			}
		}
		return strings.Join(rules, ", ")
	}
	switch page.Verdict() {
	case assess.Fails:
		return decision{named(assess.Fails) + ": fails", codeFails}
	case assess.CannotTell:
		text := ": cannot tell"
		if slices.ContainsFunc(page.Judged, func(j assess.Judged) bool { return j.Verdict == assess.CannotTell && j.Value != nil }) {
			text += ", more rows would"
		}
		return decision{named(assess.CannotTell) + text, codeCannotTell}
	}
	return nil
}
