package valla

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
	"gorgonia.org/tensor"
)

// Network describes a network; the data say how many inputs and outputs it has. The zero
// value of a field means its default. A field that the Form does not have, such as Filters
// of a perceptron, must stay zero.
type Network struct {
	Form       string    `set:"form" default:"mlp" help:"form of the network: mlp, cnn, resnetN with N = 8, 14, 20, 32, 44, 56 for small and 18, 34, 50, 101, 152 for large images, or a FILE.json or FILE.onnx that describes it"`
	Hidden     []int     `set:"hidden" default:"50,50" min:"1" help:"widths of the hidden dense layers"`
	Filters    []int     `set:"filters" default:"16,32" min:"1" help:"numbers of filters of a cnn's convolutions"`
	Activation string    `set:"activation" default:"tanh" choice:"elu erf gelu hard-swish leaky-relu mish relu selu sigmoid silu sin softplus tanh" help:"function after each hidden layer"`
	Shortcut   string    `set:"shortcut" choice:"projection zero-pad" help:"shortcut around the blocks of a resnet that change the shape"`
	Input      []int     `set:"input" min:"1" help:"shape of one example, where a FILE.onnx leaves it open; of several inputs one length for all open axes, such as words"`
	Frozen     []string  `set:"frozen" help:"names of weights of a FILE.onnx that are not trained, with * for any letters, such as tables of fixed positions"`
	Output     []string  `set:"output" help:"names of the outputs of a FILE.onnx that has several; those that are named become the outputs of the network, one after the other"`
	Dtype      string    `set:"dtype" choice:"float64 float32" help:"element type of the weights and of all computations with them"`
	Mean       []float64 `set:"mean" help:"mean of the inputs, which is subtracted from them: one number for each column or channel, or one for all; pixels count from 0 to 1"`
	Std        []float64 `set:"std" above:"0" help:"standard deviation of the inputs, by which they are divided: one number for each column or channel, or one for all"`

	// Own is the form of the network in place of Form and the settings of a form; nil: Form names it. A form of a
	// package outside this module needs layers.Register, so that a file can hold the model.
	Own layers.Form

	ends []string  // operators at the end that are left out, see linkEnds
	half onnx.Half // of the outputs, where the others tell the scale of the noise
}

// dtypes are the element types by name.
var dtypes = map[string]tensor.Dtype{"": tensor.Float64, "float64": tensor.Float64, "float32": tensor.Float32}

// shaping are the settings that shape a network, and shapes names those that each kind of form
// has. A form that is read from a file has none of them.
var (
	shaping = []string{"hidden", "filters", "activation", "shortcut", "input", "frozen", "output"}
	shapes  = map[string][]string{
		"mlp": {"hidden", "activation"}, "cnn": {"hidden", "filters", "activation"}, "resnet": {"shortcut"}, "json": {},
		"onnx": {"input", "frozen", "output"}, own: {},
	}
)

// own is the kind of a form that is given as such.
const own = "own"

// kind returns the kind of the form, which is a key of shapes if it is known.
func (n Network) kind() string {
	switch {
	case n.Own != nil:
		return own
	case n.Form == "":
		return "mlp"
	case strings.HasSuffix(n.Form, ".json"):
		return "json"
	case isONNX(n.Form):
		return "onnx"
	case strings.HasPrefix(n.Form, "resnet"):
		return "resnet"
	}
	return n.Form
}

// complete fills in the defaults of the settings that the form has, and refuses others.
func (n Network) complete() (Network, error) {
	if n.Own != nil && n.Form != "" {
		return n, settings.Errorf("form %q beside a form of one's own, expected one of the two", n.Form)
	}
	has, known := shapes[n.kind()]
	if !known {
		return n, settings.Errorf("form %q of the network, expected mlp, cnn, resnet and a number such as 20, FILE.json or FILE.onnx%s", n.Form, settings.Nearest(n.Form, []string{"mlp", "cnn", "resnet20"}))
	}
	foreign := func(f *settings.Field) bool {
		return slices.Contains(shaping, f.Name) && !slices.Contains(has, f.Name)
	}
	for _, f := range settings.Of(&n) {
		if f.Given() && foreign(f) {
			return n, settings.Errorf("%s for a network of the form %s, which does not have this setting", f.Name, cmp.Or(n.Form, n.kind()))
		}
	}
	if err := settings.Complete(&n); err != nil {
		return n, err
	}
	for _, f := range settings.Of(&n) {
		if foreign(f) || n.Own != nil && f.Name == "form" {
			f.Reset()
		}
	}
	return n, nil
}

// Reshaped returns n with another form. Settings that this form does not have are dropped.
func (n Network) Reshaped(form string) Network {
	n.Form = form
	has, known := shapes[n.kind()]
	for _, f := range settings.Of(&n) {
		if known && slices.Contains(shaping, f.Name) && !slices.Contains(has, f.Name) {
			f.Reset()
		}
	}
	return n
}

// Describe returns the form of the network for examples of a shape, [D] or [C,H,W], and a
// number of outputs. A form that is read from a file has shapes of its own.
func (n Network) Describe(input []int, outputs int) (layers.Form, error) {
	n, err := n.complete()
	if err != nil {
		return nil, err
	}
	form, err := n.form(input, outputs)
	if err != nil {
		return nil, err
	}
	if err := layers.Check(form); err != nil {
		return nil, err
	}
	return form, nil
}

// maxForm bounds the file of a form in bytes. A layer takes some 100.
const maxForm = 1 << 20

// readForm returns the text of a file that describes a network.
func readForm(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxForm+1))
	if err == nil && len(text) > maxForm {
		err = fmt.Errorf("%s: more than %d bytes, expected a list of layers", path, maxForm)
	}
	return text, err
}

func isONNX(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".onnx") }

// linkEnds returns the operators by which the observation model turns outputs into probabilities or counts. An ONNX model that
// ends with one of them gives the outputs before it.
func linkEnds(classes bool, s likelihood.Settings) []string {
	if classes {
		return onnx.ClassEnds
	}
	if s == nil {
		return nil
	}
	l, err := s.Start(1, nil)
	if err != nil {
		return nil // the targets say what is wrong
	}
	return map[likelihood.Kind][]string{likelihood.Binary: {"Sigmoid"}, likelihood.Count: {"Exp"}}[l.Kind()]
}

// onnx reads the file that is the form.
func (n Network) onnx() (*onnx.File, error) {
	return onnx.Read(n.Form, onnx.Options{Input: n.Input, Frozen: n.Frozen, Ends: n.ends, Outputs: n.Output, Half: n.half})
}

// described reads the form from the file that describes it.
func (n Network) described() (layers.Form, error) {
	text, err := readForm(n.Form)
	if err != nil {
		return nil, fmt.Errorf("form of the network: %w", err)
	}
	form, err := layers.UnmarshalForm(text)
	return form, fault.In(n.Form, err)
}

// form returns the form that complete settings describe, for examples of a shape and a number of outputs.
func (n Network) form(input []int, outputs int) (layers.Form, error) {
	if n.Own != nil {
		return n.Own, nil
	}
	if strings.HasSuffix(n.Form, ".json") {
		return n.described()
	}
	if isONNX(n.Form) {
		f, err := n.onnx()
		if err != nil {
			return nil, err
		}
		return f.Form, nil
	}
	if n.Form == "mlp" {
		return layers.MLP{Inputs: tensor.Shape(input).TotalSize(), Hidden: n.Hidden, Outputs: outputs, Activation: layers.Activation(n.Activation)}, nil
	}
	if len(input) != 3 {
		return nil, settings.Errorf("form %q takes images of channels, rows and columns, found examples of shape %v", n.Form, input)
	}
	if n.Form == "cnn" {
		return layers.CNN{Channels: input[0], Height: input[1], Width: input[2], Filters: n.Filters, Hidden: n.Hidden, Outputs: outputs, Activation: layers.Activation(n.Activation)}, nil
	}
	digits, ok := strings.CutPrefix(n.Form, "resnet")
	depth, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return nil, settings.Errorf("form %q of the network, expected mlp, cnn, resnet and a number such as 20, FILE.json or FILE.onnx", n.Form)
	}
	form, err := layers.NewLargeResNet(depth, outputs)
	if err != nil {
		form, err = layers.NewResNet(depth, layers.Shortcut(n.Shortcut), outputs)
	}
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	form.Shortcut = layers.Shortcut(n.Shortcut)
	form.Channels, form.Height, form.Width = input[0], input[1], input[2]
	return form, nil
}
