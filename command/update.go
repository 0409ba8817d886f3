package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/command/internal/serve"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
)

// updateCommand is the command line of valla update.
type updateCommand struct {
	asJSON
	model  string // path of the model with a posterior
	out    string // path of the model to write
	memory memory // bytes for the update
}

func newUpdate() *cobra.Command {
	c := &updateCommand{}
	cmd := &cobra.Command{
		Use:   "update DATA --model FILE --out FILE",
		Short: "Add rows to a fitted posterior",
		Long: `Add the rows of DATA to the posterior of a model without a new fit. The result is exactly
the posterior of a fit to the old and the new rows with the same hyper-parameters. The
network, the scaling, the noise and, where the method has them, the inducing points stay.

The methods sfr, ella, lla and gp-subset take rows. Exceptions are ella with early stopping
and lla with the structure lowrank. The method valla takes rows after a fit of a regression with
--alpha 0. The error bars shrink near the new rows. The mean changes after a fit with --own-mean
or --corrected-mean; otherwise it remains the output of the network.

DATA may be a file .jsonl of labels that valla serve --outcomes has collected for this version of
the model.

The report has the negative log-likelihood (NLL) of the new rows before they were added, and
after.`,
		Example: `  valla fit houses.csv --model map.valla --method sfr --own-mean --out houses.valla
  valla update new.csv --model houses.valla --out houses2.valla`,
		Args: oneTable,
		RunE: running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.model, "model", "", "model `FILE` with a posterior")
	f.StringVar(&c.out, "out", "", "model `FILE` to write")
	f.Var(&c.memory, "memory", "memory for the update beside the data, such as 4GiB (default: the default of the fit)")
	settingsFlags(f, &c.asJSON, "", nil)
	require(cmd, "model", "out")
	return cmd
}

func (c *updateCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkOut(cmd, "out", args, "model"); err != nil {
		return err
	}
	m, err := valla.Load(c.model)
	if err != nil {
		return err
	}
	set, err := c.rows(cmd, m, args[0])
	if err != nil {
		return err
	}
	d := newDrawer(cmd.ErrOrStderr(), c.JSON)
	updated, err := m.Update(cmd.Context(), set, gp.Run{Memory: int64(c.memory), OnProgress: d.steps(m.String())})
	d.close()
	if err != nil {
		return fmt.Errorf("%s: %w", c.model, err)
	}
	w := work{out: c.out, asJSON: c.asJSON}
	return w.save(cmd, updated, nil)
}

// rows returns the rows of a table, or of a file of labels that valla serve has collected.
func (c *updateCommand) rows(cmd *cobra.Command, m *valla.Model, path string) (*data.Set, error) {
	if serve.IsOutcomes(path) {
		return serve.OutcomeRows(path, m, c.model)
	}
	return readFile(cmd, m, data.TableReader{}, path, 0)
}
