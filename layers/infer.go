package layers

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// InferMLP returns the form of the perceptron whose weights the file at path holds, under
// names that [Load] accepts. The widths follow from the shapes of the arrays; the caller states
// the activation. With the Layout Auto, the length of each bias shows which axis of the weights
// is the output.
func InferMLP(path string, activation Activation, o LoadOptions) (MLP, error) {
	m, err := inferMLP(path, o)
	if err != nil {
		return MLP{}, fmt.Errorf("layers: architecture from weights: %w", err)
	}
	m.Activation = activation
	if len(m.Hidden) > 0 {
		err = activation.Check()
	}
	return m, err
}

func inferMLP(path string, o LoadOptions) (MLP, error) {
	f, err := readWeights(path)
	if err != nil {
		return MLP{}, err
	}
	return f.mlp(o.Layout)
}

// mlp returns the perceptron whose weights the file holds, without its activation.
func (f *weightFile) mlp(l Layout) (MLP, error) {
	layers, err := f.denseLayers()
	if err != nil {
		return MLP{}, err
	}
	var seen evidence
	for _, l := range layers {
		if err := f.seek(l, &seen); err != nil {
			return MLP{}, err
		}
	}
	// Where all weights are square, both layouts give the same widths.
	layout, err := l.resolve(InOut, seen)
	if err != nil {
		return MLP{}, fmt.Errorf("%s: %w", f.path, err)
	}
	return f.chain(layers, layout)
}

// denseLayers returns the dense layers of a file that holds nothing else.
func (f *weightFile) denseLayers() ([]denseNames, error) {
	for _, find := range []layerFinder{torchLayers, numberedLayers} {
		layers, err := find(f)
		if err != nil {
			return nil, err
		}
		if len(layers) > 0 {
			return layers, f.check(flatten(layers))
		}
	}
	return nil, fmt.Errorf("%s: no arrays called K.weight and K.bias, nor W1 and b1; there are %d arrays: %s",
		f.path, len(f.names), list(f.names))
}

// seek notes which layout fits the shapes of the weights and the bias of a layer.
func (f *weightFile) seek(l denseNames, seen *evidence) error {
	w, b := f.arrays[l.weight].Shape(), f.arrays[l.bias].Shape()
	if len(w) != 2 {
		return fmt.Errorf("%s: shape %v, expected two axes", f.at(l.weight), w)
	}
	switch {
	case slices.Equal(b, tensor.Shape{w[1]}):
		seen.add(l.weight, w, w)
	case slices.Equal(b, tensor.Shape{w[0]}):
		seen.add(l.weight, w, OutIn.stored(w))
	default:
		return fmt.Errorf("%s: shape %v, expected (%d) or (%d) beside %q of shape %v", f.at(l.bias), b, w[0], w[1], l.weight, w)
	}
	return nil
}

// chain returns the perceptron with these layers, if each takes what the one
// before it gives.
func (f *weightFile) chain(layers []denseNames, l Layout) (MLP, error) {
	var m MLP
	for i, names := range layers {
		stored := f.arrays[names.weight].Shape()
		w, b := l.stored(stored), f.arrays[names.bias].Shape() // w is [in, out]
		switch {
		case !slices.Equal(b, tensor.Shape{w[1]}):
			return MLP{}, fmt.Errorf("%s: shape %v, expected (%d) for the layout %q", f.at(names.bias), b, w[1], l)
		case i == 0:
			m.Inputs = w[0]
		case w[0] != m.Outputs:
			return MLP{}, fmt.Errorf("%s: shape %v, expected %d inputs, the outputs of %q",
				f.at(names.weight), stored, m.Outputs, layers[i-1].weight)
		default:
			m.Hidden = append(m.Hidden, m.Outputs)
		}
		m.Outputs = w[1]
	}
	return m, nil
}
