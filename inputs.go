package valla

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// A network of an ONNX model may have several inputs. Its examples are vectors, which hold the inputs one after the
// other, so that everything but the network sees one input.

// inputsOf returns the inputs of a form that has several, and nil for other forms.
func inputsOf(form layers.Form) []onnx.Input {
	if f, ok := form.(layers.SequentialForm); ok && len(f.Layers) > 0 {
		if g, ok := f.Layers[0].(onnx.Graph); ok {
			return g.Inputs
		}
	}
	return nil
}

// InputNames returns the names of the inputs of a network that has several, and the names of the columns of a table
// that hold their elements, in the order of the network's inputs: the name of an input of one number, and otherwise the
// name with the place of the element, such as x.0. Both are nil for other networks.
func InputNames(form layers.Form) (inputs, columns []string) {
	for _, i := range inputsOf(form) {
		inputs, columns = append(inputs, i.Name), append(columns, i.Columns()...)
	}
	return inputs, columns
}

// checkOrder returns an error if features have the names of a network's columns in another order. Features that have
// other names are taken in their order.
func checkOrder(form layers.Form, features []string) error {
	_, columns := InputNames(form)
	for i, name := range features {
		if at := slices.Index(columns, name); at >= 0 && at != i {
			return fmt.Errorf("the feature %q has the place %d, the network takes it at the place %d (counting from 0)", name, i, at)
		}
	}
	return nil
}

// inputNote says which features are which inputs of a network of several; "" where the names say so.
func inputNote(form layers.Form, features []string) string {
	_, columns := InputNames(form)
	if columns == nil || len(features) != len(columns) || slices.Equal(features, columns) {
		return ""
	}
	var parts []string
	for _, i := range inputsOf(form) {
		own := features[:i.Size()]
		text := strings.Join(own, ", ")
		if len(own) > 4 {
			text = fmt.Sprintf("%s to %s", own[0], own[len(own)-1])
		}
		parts, features = append(parts, fmt.Sprintf("%s is %s", i.Name, text)), features[i.Size():]
	}
	return "The columns are the inputs of the network in their order: " + strings.Join(parts, "; ") + "."
}
