package command

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers/onnx"
)

// placesCommand is the command line of valla network places.
type placesCommand struct {
	onnx onnx.Options // how the ONNX model is read
	mean []float64    // of the inputs, by channels; nil: 0
	std  []float64    // of the inputs, by channels; nil: 1
	out  string       // path of the archive of features
	head string       // path of the model; "" writes none
}

func newPlaces() *cobra.Command {
	c := &placesCommand{onnx: onnx.Options{Ends: onnx.ClassEnds}}
	cmd := &cobra.Command{
		Use:   "places FILE.onnx DATA.npz --out FILE.npz [--head FILE]",
		Short: "Make a row of each pixel or word for the last layer of a network",
		Long: `Divide an ONNX model with classes of each place, such as pixels or words, before its last layer, which
must be a convolution of 1×1 or a dense layer at each place. DATA has the inputs of the network as
arrays [N,...], X or by their names, and may have a class for each place, y [N,...].

The archive --out has a row of features X [N*P,E] for each of the P places of each example, and the
classes y [N*P]. The rows of an example stand one after the other. --head writes the last layer as a
model of classes, which valla fit takes as --model: its weights are the uncertain ones, and each
place has its own probabilities. valla predict takes the features of other examples, which the
command makes in the same way.`,
		Example: "  valla network places unet.onnx train.npz --out train-places.npz --head head.valla\n  valla fit train-places.npz --model head.valla --method lla --out unet.valla\n  valla network places unet.onnx new.npz --out new-places.npz\n  valla predict new-places.npz --model unet.valla",
		Args:    cobra.ExactArgs(2),
		RunE:    running(c.run),
	}
	f := cmd.Flags()
	f.StringVar(&c.out, "out", "", "`FILE.npz` for the features of the places (required)")
	f.Float64SliceVar(&c.mean, "mean", nil, "`NUMBERS` that are subtracted from the inputs: one for each channel, or one for all")
	f.Float64SliceVar(&c.std, "std", nil, "`NUMBERS` by which the inputs are divided: one for each channel, or one for all")
	f.StringVar(&c.head, "head", "", "`FILE` for the model of the last layer")
	f.StringSliceVar(&c.onnx.Outputs, "output", nil, "`NAME` of the output of an ONNX model that has several")
	f.IntSliceVar(&c.onnx.Input, "input", nil, "`SHAPE` of one example, where an ONNX model leaves it open")
	return cmd
}

// check returns an error if a file cannot be written, or if it would replace another one of the command.
func (c *placesCommand) check(cmd *cobra.Command, args []string) error {
	if c.out == "" {
		return settings.Errorf("no --out, expected the path of an archive for the features")
	}
	return cmp.Or(checkOut(cmd, "out", args), checkOut(cmd, "head", args))
}

func (c *placesCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.check(cmd, args); err != nil {
		return err
	}
	p, err := onnx.ReadPlaces(args[0], c.onnx)
	if err != nil {
		return err
	}
	path := args[1]
	a, err := npy.ReadArchive(path)
	if err != nil {
		return err
	}
	set, err := c.rows(cmd.Context(), p, a)
	if err != nil {
		return inFile(path, err)
	}
	names, arrays := []string{"X"}, []*tensor.Dense{set.X}
	if set.Y != nil {
		names, arrays = append(names, "y"), append(arrays, tensor.New(tensor.WithShape(set.N()), tensor.WithBacking(set.Y.Float64s())))
	}
	if c.head != "" {
		if err := writeHead(p, set, c.head); err != nil {
			return inFile(path, err)
		}
	}
	if err := npy.WriteArchive(c.out, names, arrays); err != nil {
		return err
	}
	places, features := p.Count()
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s: %d rows of %d features, %d places of each of %d examples\n", filepath.Base(c.out), set.N(), features, places, set.N()/places)
	return err
}

// rows returns a row for each place of the examples in an archive.
func (c *placesCommand) rows(ctx context.Context, p *onnx.Places, a *npy.Archive) (*data.Set, error) {
	x, err := c.inputs(p, a)
	if err != nil {
		return nil, err
	}
	net, err := p.Trunk.Network(tensor.Float64)
	if err != nil {
		return nil, err
	}
	v, err := gp.Point{Net: net, Dtype: tensor.Float64}.Mean(ctx, x)
	if err != nil {
		return nil, err
	}
	places, features := p.Count()
	rows := x.Shape()[0] * places
	set := &data.Set{X: tensor.New(tensor.WithShape(rows, features), tensor.WithBacking(p.Rows(v.Float64s()))), Targets: []string{"y"}}
	y, err := examples(a, "y")
	if err != nil {
		return nil, err
	}
	if y != nil {
		classes := data.Float64s(y)
		if len(classes) != rows {
			return nil, fmt.Errorf("classes y of shape %v, expected one for each of %d places of %d examples", y.Shape(), places, x.Shape()[0])
		}
		set.Y = tensor.New(tensor.WithShape(rows, 1), tensor.WithBacking(classes))
	}
	return set, nil
}

// inputs returns the inputs [N,…] of the network, as it takes them.
func (c *placesCommand) inputs(p *onnx.Places, a *npy.Archive) (*tensor.Dense, error) {
	shape := p.Trunk.Form.InputShape()
	in := task.Inputs{Shape: shape}
	if c.mean != nil || c.std != nil {
		in.Mean, in.Std = channels(c.mean, shape[0], 0), channels(c.std, shape[0], 1)
	}
	if err := in.Check(); err != nil {
		return nil, settings.Errorf("%w", err)
	}
	names, _ := valla.InputNames(p.Trunk.Form)
	if names == nil {
		names = []string{"X"}
	}
	x, err := examples(a, names[0])
	if err != nil {
		return nil, err
	}
	if x == nil || len(names) > 1 || x.Dtype() != tensor.Uint8 {
		if x, err = joined(a, names, shape); err != nil {
			return nil, err
		}
	}
	return in.Apply(x, tensor.Float64)
}

// examples returns the array [N,…] of a name; nil if the archive has none.
func examples(a *npy.Archive, name string) (*tensor.Dense, error) {
	x, ok := a.Get(name)
	if ok && x.Dims() == 0 {
		return nil, fmt.Errorf("array %q of shape (), expected [N,...]", name)
	}
	return x, nil
}

// channels returns a number for each of n channels: those given, one for all, or a default.
func channels(v []float64, n int, def float64) []float64 {
	if v == nil {
		v = []float64{def}
	}
	if len(v) == 1 {
		return slices.Repeat(v, n)
	}
	return v
}

// joined returns the examples [N,…] of a shape in the arrays of several names, beside each other.
func joined(a *npy.Archive, names []string, shape []int) (*tensor.Dense, error) {
	var all [][]float64
	n := 0
	for i, name := range names {
		array, err := examples(a, name)
		if err != nil {
			return nil, err
		}
		if array == nil {
			return nil, fmt.Errorf("no array %q", name)
		}
		if i == 0 {
			n = array.Shape()[0]
		} else if array.Shape()[0] != n {
			return nil, fmt.Errorf("array %q has %d examples, expected %d", name, array.Shape()[0], n)
		}
		all = append(all, data.Float64s(array))
	}
	v := make([]float64, 0, n*tensor.Shape(shape).TotalSize())
	for i := range n {
		for _, part := range all {
			w := len(part) / n
			v = append(v, part[i*w:(i+1)*w]...)
		}
	}
	if len(v) != n*tensor.Shape(shape).TotalSize() {
		return nil, fmt.Errorf("%d numbers of %d examples, expected the shape %v for each", len(v), n, shape)
	}
	return tensor.New(tensor.WithShape(append([]int{n}, shape...)...), tensor.WithBacking(v)), nil
}

// writeHead writes the model of the last layer for the classes of a set.
func writeHead(p *onnx.Places, set *data.Set, path string) error {
	if set.Y == nil {
		return fmt.Errorf("no array %q of the classes of places, which the head needs", "y")
	}
	form, net, err := p.Head(tensor.Float64)
	if err != nil {
		return err
	}
	c, err := task.Classes(set)
	if err != nil {
		return err
	}
	outputs := net.Params()[1].Value.Shape().TotalSize()
	for k := range outputs { // also classes that no place has
		if len(c.Classes) <= outputs && !slices.Contains(c.Classes, float64(k)) {
			c.Classes = append(c.Classes, float64(k))
		}
	}
	slices.Sort(c.Classes)
	in := task.Inputs{Shape: form.InputShape()}
	for i := range in.Shape[0] {
		in.Features = append(in.Features, fmt.Sprint("x", i)) // as a table names the columns of X
	}
	m, err := valla.New(form, net, task.Task{Inputs: in, Outputs: c})
	if err != nil {
		return err
	}
	return m.Save(path)
}
