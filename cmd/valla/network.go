package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

func newNetwork() *cobra.Command {
	operators := &cobra.Command{
		Use:   "operators",
		Short: "List the operators that ONNX models may have",
		Args:  cobra.NoArgs,
		RunE: running(func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(onnx.Operators(), "\n"))
			return err
		}),
	}
	show := &cobra.Command{
		Use:   "show FILE",
		Short: "Describe the layers of a network",
		Long: `Describe the network in a model file, in an ONNX model (.onnx) or in a form (.json): for each
layer the shape of its output for one example, its parameters and the names of their arrays.
Rows of the Jacobian are structured where each operation has a rule for them; where one has
none, they are formed densely, by one pass for each example and output, which takes longer.`,
		Example: "  valla network show net.onnx",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("expected the file of one network")
			}
			return nil
		},
		RunE: running(func(cmd *cobra.Command, args []string) error { return showNetwork(cmd.OutOrStdout(), args[0]) }),
	}
	return group("network", "Describe networks", show, operators)
}

// readNetwork returns the network in a file of any kind and its form.
func readNetwork(path string) (layers.Form, layers.Network, error) {
	lower := strings.ToLower(path)
	switch {
	case strings.HasSuffix(lower, ".onnx"):
		f, err := onnx.Read(path, onnx.Options{})
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
		net, err := f.New(tensor.Float32, rand.New(rand.NewPCG(0, 0)))
		return f, net, err
	}
	m, err := valla.Load(path)
	if err != nil {
		return nil, nil, err
	}
	return m.Form, m.Net, nil
}

func showNetwork(to io.Writer, path string) error {
	form, net, err := readNetwork(path)
	if err != nil {
		return err
	}
	rows, err := layers.Summary(form)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"layer", "output", "parameters", "arrays"})
	for _, r := range rows {
		t.AppendRow(table.Row{r.Layer, fmt.Sprint(r.Output), r.Parameters, strings.Join(r.Arrays, " ")})
	}
	fmt.Fprintf(to, "%s\n%s\n", form, t.Render())
	densely, err := formedDensely(form, net)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	_, err = fmt.Fprintf(to, "%d parameters, which take %s in float32 and %s in float64; rows of the Jacobian: %s\n",
		layers.Count(net), graph.Bytes(4*int64(layers.Count(net))), graph.Bytes(8*int64(layers.Count(net))), densely)
	return err
}

// formedDensely says which rows of the Jacobian have no structure.
func formedDensely(form layers.Form, net layers.Network) (string, error) {
	params := net.Params()
	if len(params) == 0 {
		return "none", nil
	}
	b := graph.NewBuilder(params[0].Value.Dtype())
	x := b.Input("x", append([]int{2}, form.InputShape()...)...)
	found := jacobian.NTK{Net: net}.FormedDensely(b, x)
	switch {
	case b.Err() != nil:
		return "", b.Err()
	case len(found) == 0:
		return "structured", nil
	case len(found) == len(params):
		return "dense", nil
	}
	var names []string
	for _, p := range found {
		names = append(names, p.Name)
	}
	return "structured, but dense for " + strings.Join(names, ", "), nil
}
