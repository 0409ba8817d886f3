package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/internal/listing"
	"github.com/go-valla/valla/internal/settings"
)

// acquireCommand is the command line of valla acquire.
type acquireCommand struct {
	By         string `set:"by" choice:"variance bald posterior" help:"what makes a row worth a label: the variance of the prediction (variance), what its label tells about the function (bald), or the variance that its label takes away from all rows (posterior)"`
	Candidates int    `set:"candidates" min:"0" auto:"4000, divided by the outputs" help:"largest number of rows to compare; of more rows a random choice is compared"`
	Seed       uint64 `set:"seed" help:"seed of the random choice"`
	header
	asJSON

	model string // path of the model
	rows  int    // number of rows to choose
	out   string // path of the table to write
}

func newAcquire() *cobra.Command {
	c := &acquireCommand{}
	cmd := &cobra.Command{
		Use:     "acquire DATA --model FILE",
		Short:   "Choose the rows to label next",
		Long:    fmt.Sprintf(acquireHelp, strings.Join(jointMethods(), ", ")),
		Example: "  valla acquire pool.csv --model houses.valla -n 20 --by posterior",
		Args:    oneTable,
		RunE:    running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.model, "model", "", "model `FILE`")
	f.IntVarP(&c.rows, "rows", "n", 10, "number of rows to choose")
	settingsFlags(f, c, "", nil)
	f.StringVar(&c.out, "out", "", "`FILE` to write: .csv (default: the standard output)")
	require(cmd, "model")
	return cmd
}

const acquireHelp = `Choose the rows of a table without targets whose targets the model should have
next. The columns are row, the number of the row from 1, the columns that name the rows, and
score; the best row comes first. Each row is the best one given the targets of the rows
before it, whatever they are, so that the rows are not all of one kind. Rows that have almost the
same function value as a chosen row come last. The score is a variance in the units of the
network's outputs, for classes of their probabilities (variance), a number of nats (bald), or the
mean of a variance over the rows (posterior). With --by bald the rows are the greedy choice of
BatchBALD with Gaussian errors.

All candidates and their joint covariance are held in memory. These methods know it:
%s.`

func (c *acquireCommand) run(cmd *cobra.Command, args []string) error {
	if err := settings.Complete(c); err != nil {
		return err
	}
	if err := checkCSV(cmd, args); err != nil {
		return err
	}
	m, err := valla.Load(c.model)
	if err != nil {
		return err
	}
	rows, err := m.Open(c.reader(), data.Part{Path: args[0]}, false)
	if err != nil {
		return err
	}
	set, err := allRows(cmd, rows)
	if err != nil {
		return err
	}
	chosen, err := m.Acquire(cmd.Context(), set.X, valla.AcquireOptions{Rows: c.rows, By: gp.Criterion(c.By), Candidates: c.Candidates, Seed: c.Seed})
	if err != nil {
		return fmt.Errorf("%s: %w", rows.Path, err)
	}
	return c.write(cmd.OutOrStdout(), acquired(chosen, listing.IDs(rows)))
}

// acquired returns the chosen rows as columns. The columns ids name all rows.
func acquired(chosen []gp.Choice, ids []listing.Column) *listing.Predictions {
	number, scores := listing.Column{Name: "row"}, listing.Column{Name: "score"}
	for _, row := range chosen {
		number.Texts = append(number.Texts, strconv.Itoa(row.Row+1))
		scores.Values = append(scores.Values, row.Score)
	}
	p := &listing.Predictions{Rows: len(chosen), Columns: []listing.Column{number}}
	for _, id := range ids {
		of := listing.Column{Name: id.Name, ID: true}
		for _, row := range chosen {
			of.Texts = append(of.Texts, id.Texts[row.Row])
		}
		p.Columns = append(p.Columns, of)
	}
	p.Columns = append(p.Columns, scores)
	return p
}

// write writes the chosen rows to the file or to stdout.
func (c *acquireCommand) write(stdout io.Writer, p *listing.Predictions) error {
	if c.out != "" {
		if err := atomicfile.Write(c.out, 0o644, func(w io.Writer) error { return writeTable(w, p) }); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		return printJSON(stdout, map[string]any{"by": c.By, "rows": acquiredLists(p)})
	case c.out == "":
		return writeTable(stdout, p)
	}
	_, err := fmt.Fprintf(stdout, "wrote %d rows to label to %s\n", p.Rows, c.out)
	return err
}

// acquiredLists are the columns of acquired for --json.
func acquiredLists(p *listing.Predictions) []map[string]any {
	list := make([]map[string]any, p.Rows)
	names, last := listing.Names(p.Columns), len(p.Columns)-1
	for i := range list {
		list[i] = map[string]any{"row": json.Number(p.Columns[0].Texts[i]), "score": p.Columns[last].Values[i]}
		for k := 1; k < last; k++ {
			list[i][names[k]] = p.Columns[k].Texts[i]
		}
	}
	return list
}
