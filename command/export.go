package command

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/tablefile"
)

// exportCommand is the command line of valla export.
type exportCommand struct {
	Level     float64   `set:"level" default:"0.95" above:"0" below:"1" help:"probability of the interval from lower to upper, or of the set of classes"`
	Quantiles []float64 `set:"quantiles" above:"0" below:"1" help:"regression: probabilities of the output quantiles, such as 0.05,0.5,0.95"`
	Link      string    `set:"link" choice:"probit own" auto:"the posterior's own probabilities, if it has any, else probit" help:"classification: how Gaussian logits become probabilities"`
	Bytes     bool      `set:"bytes" help:"the inputs are bytes, such as pixels, which the file divides by 255"`
	Encoded   bool      `set:"encoded" help:"the inputs are the encoded features in place of the columns, for tables with categories, dates or gaps"`
	Check     bool      `set:"check" help:"compare the file as ONNX Runtime computes it, too"`
	header
	asJSON

	out     string // path of the file to write
	data    string // path of rows at which the file is compared; "" means random ones
	ortPath string // path of ONNX Runtime; "" means where it usually is
}

// comparedRows is the most rows of the data at which a file is compared.
const comparedRows = 100

func newExport() *cobra.Command {
	c := &exportCommand{}
	cmd := &cobra.Command{
		Use:   "export MODEL --out FILE",
		Short: "Write a model with its error bars as ONNX",
		Long: `Write a model with its posterior as one ONNX file, which ONNX Runtime and other engines compute: in
Python, Java, C#, browsers or Triton. The input is one array, a row for each example, in the units of the
data. The outputs of a regression are mean, std, epistemic_std, aleatoric_std, lower, upper and, with
--quantiles, quantiles, each with a column for each target. The outputs of a classification are
probabilities, logit_std and, after valla calibrate --method conformal, set: 1 for each class of the set. The
file has the scaling of inputs and targets, the noise, the laws of residuals and the calibration.

The file is read and compared with valla predict before it stands at its place, at the first rows of --data
or at random rows. The largest difference of each output is printed, relative to the number or to the size of the output.
More than 1e-5 with a network of float32, or 1e-9 with float64, is an error. Where float32 has too few digits for a
variance, the file computes the network in float64, and says so.

Counts, Student's t and mixtures as observation models have no quantiles. What has no form in ONNX is an error that
names it: Yeo-Johnson's transform with residuals of Student's t, sets of the kind aps, the links mc and bridge, and some
methods.`,
		Example: `  valla export houses.valla --out houses.onnx --data houses-test.csv --encoded --quantiles 0.05,0.5,0.95
  valla export digits.valla --out digits.onnx --bytes`,
		Args: one("the file of one model"),
		RunE: running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.out, "out", "", "`FILE` to write, .onnx")
	f.StringVar(&c.data, "data", "", "`DATA` with rows at which the file is compared")
	f.StringVar(&c.ortPath, "onnxruntime", "", "`PATH` of the library of ONNX Runtime, for --check (default: VALLA_ONNXRUNTIME, or where the system finds it)")
	settingsFlags(f, c, "", nil)
	require(cmd, "out")
	return cmd
}

func (c *exportCommand) run(cmd *cobra.Command, args []string) error {
	if err := checkOut(cmd, "out", args); err != nil {
		return err
	}
	m, err := valla.Load(args[0])
	if err != nil {
		return err
	}
	o := valla.ExportOptions{Level: c.Level, Quantiles: c.Quantiles, Link: task.Link(c.Link), Bytes: c.Bytes, Encoded: c.Encoded, Check: c.Check, Library: c.ortPath}
	if c.data != "" {
		if o.Rows, err = c.rows(m); err != nil {
			return err
		}
	}
	e, err := m.Export(cmd.Context(), c.out, o)
	if err != nil {
		return err
	}
	return c.print(cmd, e, describeExport(e))
}

// rows returns the first rows of the data.
func (c *exportCommand) rows(m *valla.Model) (*tensor.Dense, error) {
	rows, err := m.Open(c.reader(), data.Part{Path: c.data}, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set, err := rows.Next(comparedRows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.data, err)
	}
	return set.X, nil
}

// describeExport returns a text about a file.
func describeExport(e *valla.Export) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %d bytes, compared with the model at %d rows\n", strings.Join(e.Files, ", "), e.Bytes, e.Rows)
	if e.Wide {
		b.WriteString("float32 has too few digits for the variances: the file computes the network in float64\n")
	}
	if e.Runtime != "" {
		fmt.Fprintf(&b, "compared by ONNX Runtime %s, too\n", e.Runtime)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	columns := ""
	if e.Input.Axis != nil {
		columns = tablefile.Listed(e.Input.Axis)
	}
	fmt.Fprintf(w, "input\t%s\t%s %v\t%s\n", e.Input.Name, e.Input.Type, shapeText(e.Input.Shape), columns)
	for _, out := range e.Outputs {
		fmt.Fprintf(w, "output\t%s\t%s %v\tlargest difference %.1g\n", out.Name, out.Type, shapeText(out.Shape), out.Difference)
	}
	w.Flush()
	return b.String()
}

// shapeText is the shape of any number of examples.
func shapeText(shape []int) string {
	text := "[N"
	for _, n := range shape {
		text += fmt.Sprint(",", n)
	}
	return text + "]"
}
