package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

func newNetwork() *cobra.Command {
	var c showCommand
	show := &cobra.Command{
		Use:   "show FILE",
		Short: "Describe the layers of a network",
		Long: `Describe the network in a model file, in an ONNX model (.onnx) or in a form (.json): for each
layer the shape of its output for one example, its parameters and the names of their arrays.
Rows of the Jacobian are structured where each operation has a rule for them; where one has
none, the rows are dense and take one pass for each example and output, which takes longer. The last
line says how much memory a step of VaLLA takes for a whole mini-batch at once, and for one row at a
time. A fit computes as many rows at a time as its limit of memory allows.`,
		Example: "  valla network show net.onnx\n  valla network show net.onnx --weights last-layer --inducing 20",
		Args:    one("the file of one network"),
		RunE: running(func(cmd *cobra.Command, args []string) error {
			text, err := interruptible(cmd.Context(), func() ([]byte, error) {
				var b bytes.Buffer
				err := c.show(&b, args[0])
				return b.Bytes(), err
			})
			if err == nil {
				_, err = cmd.OutOrStdout().Write(text)
			}
			return err
		}),
	}
	f := show.Flags()
	f.StringSliceVar(&c.weights, "weights", []string{layers.AllWeights}, "uncertain weights: all, last-layer, or names of parameters, where * stands for any letters")
	f.StringSliceVar(&c.onnx.Outputs, "output", nil, "`NAME`s of the outputs of an ONNX model that has several")
	f.IntSliceVar(&c.onnx.Input, "input", nil, "`SHAPE` of one example, where an ONNX model leaves it open")
	f.IntVar(&c.inducing, "inducing", 100, "`NUMBER` of inducing points")
	f.IntVar(&c.batch, "batch-size", 100, "`NUMBER` of rows in a mini-batch")
	return group("network", "Describe networks", show, newOperators(), newPlaces())
}

func newOperators() *cobra.Command {
	return &cobra.Command{
		Use:   "operators",
		Short: "List the operators of ONNX and how far they are supported",
		Long: `List the operators of ONNX up to opset 24. A name alone is an operator that is supported with its
derivatives. An operator that is frozen computes its outputs, but has no derivative or takes constants alone:
weights before it stay certain. An operator that is refused comes with the reason.`,
		Args: cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			for _, o := range onnx.Supported() {
				line := o.Name
				if o.Support != onnx.Whole {
					line = fmt.Sprintf("%s: %s: %s", o.Name, o.Support, o.Reason)
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

// interruptible returns the results of f, or ctx's error as soon as ctx ends. f, which cannot be interrupted, then goes
// on until the program ends.
func interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		return *new(T), ctx.Err()
	}
}

// readNetwork returns the network in a file of any kind and its form.
func readNetwork(path string, o onnx.Options) (layers.Form, layers.Network, error) {
	lower := strings.ToLower(path)
	switch {
	case strings.HasSuffix(lower, ".onnx"):
		f, err := onnx.Read(path, o)
		if err != nil {
			return nil, nil, err
		}
		net, err := f.Network(tensor.Float32)
		return f.Form, net, err
	case strings.HasSuffix(lower, ".json"):
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		f, err := layers.UnmarshalForm(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		net, err := layers.Build(f, tensor.Float32, rand.New(rand.NewPCG(0, 0)))
		return f, net, err
	}
	m, err := valla.Load(path)
	if err != nil {
		return nil, nil, err
	}
	return m.Form, m.Net, nil
}

// showCommand is the command line of valla network show.
type showCommand struct {
	weights  []string // names of the uncertain parameters, or all or last-layer
	inducing int      // number of inducing points
	batch    int      // rows of a mini-batch
	onnx     onnx.Options
}

// show describes the network in the file at path.
func (c showCommand) show(to io.Writer, path string) error {
	form, net, err := readNetwork(path, c.onnx)
	if err != nil {
		return err
	}
	rows, err := layers.Summary(form)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	chosen, err := layers.Choose(net, c.weights...)
	if err != nil {
		return settings.Errorf("--weights: %w", err)
	}
	all, part := layers.Count(net), layers.Part{Network: net, Chosen: chosen}
	dense, err := formedDensely(form, part)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"layer", "output", "parameters", "arrays", "Jacobian"})
	for _, r := range rows {
		between := " "
		if len(r.Arrays) > 3 { // the arrays of a block
			between = "\n"
		}
		t.AppendRow(table.Row{r.Layer, fmt.Sprint(r.Output), r.Parameters, strings.Join(r.Arrays, between), jacobianOf(r, chosen, dense)})
	}
	_, err = fmt.Fprintf(to, "%s\n%s\n%d parameters, which take %s in float32 and %s in float64; %d of them are uncertain\n",
		form, t.Render(), all, graph.Bytes(4*int64(all)), graph.Bytes(8*int64(all)), layers.Count(part))
	if err != nil || len(chosen) == 0 {
		return err
	}
	return c.memory(to, form, part)
}

// memory prints how much memory a step of VaLLA takes.
func (c showCommand) memory(to io.Writer, form layers.Form, net layers.Network) error {
	whole, err := vallagp.StepMemory(net, form.InputShape(), c.inducing, c.batch)
	if err != nil {
		return err
	}
	one, err := vallagp.StepMemory(net, form.InputShape(), c.inducing, 1)
	if err == nil {
		_, err = fmt.Fprintf(to, "a step of VaLLA with %d inducing points takes %s in %v for %d rows at a time, %s for one\n",
			c.inducing, graph.Bytes(whole), net.Params()[0].Value.Dtype(), c.batch, graph.Bytes(one))
	}
	return err
}

// jacobianOf says how the rows of the Jacobian by a layer's arrays are represented.
func jacobianOf(r layers.Row, chosen, dense []*graph.Param) string {
	has := func(list []*graph.Param) bool {
		return slices.ContainsFunc(list, func(p *graph.Param) bool { return slices.Contains(r.Arrays, p.Name) })
	}
	switch {
	case len(r.Arrays) == 0:
		return ""
	case !has(chosen):
		return "none"
	case has(dense):
		return "dense"
	}
	return "structured"
}

// formedDensely returns the parameters for which the rows of the Jacobian have no structure.
func formedDensely(form layers.Form, net layers.Network) ([]*graph.Param, error) {
	params := net.Params()
	if len(params) == 0 {
		return nil, nil
	}
	b := graph.NewBuilder(params[0].Value.Dtype())
	x := b.Input("x", append([]int{2}, form.InputShape()...)...)
	return jacobian.NTK{Net: net}.FormedDensely(b, x), b.Err()
}
