package command

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/settings"
)

// calibrateCommand is the command line of valla calibrate.
type calibrateCommand struct {
	Method string `set:"method" choice:"temperature vector conformal law abstain" help:"what is corrected, see above"`
	Sets   string `set:"sets" choice:"lac aps raps" auto:"lac for classes" help:"with conformal, classification: the smallest sets, which may be empty (lac), sets that grow where classes are hard to distinguish (aps), or these with fewer improbable classes (raps)"`
	Groups string `set:"groups" help:"with conformal: a column; the intervals or sets then hold their probability in each group of rows by its values"`
	Law    string `set:"law" choice:"auto gaussian student-t mixture" help:"with law: the law of the residuals; with auto the rows choose it"`
	Seed   uint64 `set:"seed" help:"seed of the sets aps and raps"`

	Risk       float64 `set:"risk" above:"0" below:"1" default:"0.05" help:"with abstain: largest share of wrong predictions among the rows that need no look"`
	Confidence float64 `set:"confidence" above:"0" below:"1" default:"0.95" help:"with abstain: probability with which the risk holds"`
	Tolerance  float64 `set:"tolerance" min:"0" auto:"the interval of --level" help:"with abstain, regression: largest distance of a target from its mean that is not wrong"`
	By         string  `set:"by" choice:"auto unfamiliar width probability" help:"with abstain: what makes a row need a look; with auto what accepts most of the rows"`

	Level float64 `set:"level" default:"0.95" above:"0" below:"1" help:"with conformal: the largest probability of later intervals or sets, for which DATA must have enough rows"`
	reading
	out      string      // path of the model to write
	like     string      // path of a table of new rows without targets
	features featureFile // features that are computed once
}

func newCalibrate() *cobra.Command {
	c := &calibrateCommand{}
	cmd := &cobra.Command{
		Use:   "calibrate DATA --model FILE --out FILE",
		Short: "Correct predictions with held-out rows",
		Long:  calibrateHelp,
		Example: `  valla calibrate held.csv --model houses.valla --method conformal --out calibrated.valla
  valla predict new.csv --model calibrated.valla --level 0.9
  valla calibrate held.csv --model houses.valla --method abstain --risk 0.1 --tolerance 50 --out asking.valla`,
		Args: oneTable,
		RunE: running(c.run),
	}
	c.ownFlags(cmd)
	return cmd
}

const calibrateHelp = `Correct the predictions of a model, with or without a posterior, by the rows of DATA, which
neither the training of the network nor the fit may have used. The network and the posterior
stay as they are.

The method temperature finds the number that minimises the negative log-likelihood (NLL) of
these rows when all logits are divided by it or, for a regression, all standard deviations are
multiplied by it. It guarantees nothing.

The method vector is for classification. It finds a scale and a bias for the logits of each class that
minimise the NLL of these rows: 2 numbers for each class, which take many rows. With the logits
the covariance of a posterior is scaled. It may change the most probable class, and guarantees
nothing.

The method conformal makes the intervals of valla predict --level hold their probability, and
gives classifiers a column with a set of classes that does. The guarantee: where new rows and
those of DATA are exchangeable, such as independent draws from one source, a new row lies in
its interval with a probability of at least the level, and of at most the level plus 1/(n+1)
for n rows, whatever the model. It holds on average over rows, not for each of them. It needs
19 rows for the level 0.95 and 99 for 0.99; fewer than --level needs are refused. It may follow on the method temperature or vector,
with other rows. With --groups the guarantee holds in each group of rows by the values of a column: each
category, each of a few numbers, or up to ten ranges, with at least 50 rows. With --like the rows
have weights, so that the probability holds for rows with inputs like those of another table.

The method law is for a regression with Gaussian noise. It fits the law of the residuals, such as
Student's t, to these rows, in place of the law that the fit has chosen. Means stay.

The method abstain chooses a rule for the rows that need a look, such as probability>=0.93, so that
of the other rows at most the share --risk is wrong, with the probability --confidence over the
choice of DATA: another class than the most probable one, or a target outside its interval or, with
--tolerance, further from the mean than that. It comes after the other methods, which end it.
valla predict then has a column abstain, which is 1 for the rows that need a look.

A later valla fit or valla update ends a calibration.`

// ownFlags defines the flags of the command.
func (c *calibrateCommand) ownFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.out, "out", "", "model `FILE` to write")
	cmd.Flags().StringVar(&c.like, "like", "", "with conformal: `FILE` of new rows without targets, by whose inputs the rows of DATA are weighted")
	c.flags(cmd, c)
	c.features.flag(cmd.Flags())
	require(cmd, "out")
}

// newRows reads the inputs of the new rows, nil if the user names none.
func (c *calibrateCommand) newRows(cmd *cobra.Command, m *valla.Model) (*tensor.Dense, error) {
	if c.like == "" {
		return nil, nil
	}
	rows, err := m.Open(c.reader(), data.Part{Path: c.like}, false)
	if err != nil {
		return nil, err
	}
	set, err := allRows(cmd, rows)
	if err != nil {
		return nil, err
	}
	return set.X, nil
}

// methodOf are the methods to which flags belong.
var methodOf = map[string]string{
	"sets": valla.CalibrateConformal, "groups": valla.CalibrateConformal, "like": valla.CalibrateConformal, "law": valla.CalibrateLaw,
	"risk": valla.CalibrateAbstain, "confidence": valla.CalibrateAbstain, "tolerance": valla.CalibrateAbstain, "by": valla.CalibrateAbstain,
}

// checkFlags refuses a flag that belongs to another method.
func (c *calibrateCommand) checkFlags(cmd *cobra.Command) error {
	found := cmp.Or(c.Method, valla.CalibrateTemperature)
	for _, name := range slices.Sorted(maps.Keys(methodOf)) {
		if method := methodOf[name]; cmd.Flags().Changed(name) && method != found {
			return settings.Errorf("--%s goes with --method %s, found --method %s", name, method, found)
		}
	}
	return nil
}

func (c *calibrateCommand) run(cmd *cobra.Command, args []string) error {
	if err := cmp.Or(settings.Complete(c), checkOut(cmd, "out", args, "model"), c.checkFlags(cmd)); err != nil {
		return err
	}
	m, rows, err := c.open(cmd.Context(), args[0], true)
	if err != nil {
		return err
	}
	set, err := allRows(cmd, rows)
	if err != nil {
		return err
	}
	if err := c.features.use(m); err != nil {
		return err
	}
	defer m.CloseFeatures()
	like, err := c.newRows(cmd, m)
	if err != nil {
		return err
	}
	d := c.drawer(cmd)
	o := valla.CalibrateOptions{Like: like, Method: c.Method, Sets: c.Sets, Groups: c.Groups, Level: c.Level, Law: strings.TrimPrefix(c.Law, "auto"),
		Risk: c.Risk, Confidence: c.Confidence, Tolerance: c.Tolerance, By: strings.TrimPrefix(c.By, "auto"), PredictOptions: valla.PredictOptions{Link: task.Link(c.Link), Seed: c.Seed, OnRows: d.predicted(args[0])}}
	calibrated, err := m.Calibrate(cmd.Context(), set, o)
	d.close()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	w := work{out: c.out, asJSON: c.asJSON}
	return w.save(cmd, calibrated, nil)
}
