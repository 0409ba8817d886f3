package valla

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// ListOptions say how columns of lists of different lengths in a Parquet file become inputs of a network. Masks and lengths
// are inputs of a network that has several, given by name. A name such as mask=ids also says to which list it belongs,
// which is needed where several would do.
type ListOptions struct {
	Pad     *float64 `set:"pad" auto:"0 with mask or lengths; otherwise lists must have one length" help:"number that stands after the end of lists in a Parquet file that are shorter than the input"`
	Mask    []string `set:"mask" help:"inputs, NAME or NAME=LIST, that are 1 at the elements of such a list and 0 after them"`
	Lengths []string `set:"lengths" help:"inputs, NAME or NAME=LIST, of the number of elements of such a list"`
}

// Paddings returns the paddings of the inputs of a network, for [data.TableReader]; nil if no option is given.
func (o ListOptions) Paddings(form layers.Form) ([]data.Padding, error) {
	if o.Pad == nil && o.Mask == nil && o.Lengths == nil {
		return nil, nil
	}
	lists := data.Padding{}
	if o.Pad != nil {
		lists.Value = *o.Pad
	}
	inputs, filled := inputsOf(form), slices.Concat(o.Mask, o.Lengths)
	if inputs == nil {
		if filled != nil {
			return nil, settings.Errorf("mask or lengths %q of a network of one input, expected inputs of their own", filled)
		}
		lists.Length = tensor.Shape(form.InputShape()).TotalSize()
		return []data.Padding{lists}, nil
	}
	var all []data.Padding
	for _, i := range inputs {
		named := func(given string) bool { name, _, _ := strings.Cut(given, "="); return name == i.Name }
		if len(i.Shape) == 1 && i.Size() > 1 && !slices.ContainsFunc(filled, named) {
			lists.Column, lists.Length = i.Name, i.Size()
			all = append(all, lists)
		}
	}
	for k, given := range filled {
		if err := fill(all, inputs, given, k < len(o.Mask)); err != nil {
			return nil, err
		}
	}
	return all, data.CheckPaddings(all)
}

// fill makes the input NAME of a given NAME or NAME=LIST the mask, or the lengths, of the list that is named, or of the
// only one that it suits.
func fill(lists []data.Padding, inputs []onnx.Input, given string, mask bool) error {
	name, list, named := strings.Cut(given, "=")
	at := slices.IndexFunc(inputs, func(i onnx.Input) bool { return i.Name == name })
	if at < 0 {
		return settings.Errorf("no input %q of the network, which has %s", name, inputsText(inputs))
	}
	var found []*data.Padding
	for k, p := range lists {
		suits := !mask && inputs[at].Size() == 1 || mask && slices.Equal(inputs[at].Shape, []int{p.Length})
		if suits && (!named || p.Column == list) {
			found = append(found, &lists[k])
		}
	}
	switch {
	case len(found) != 1:
		return settings.Errorf("%s suits %d lists of the inputs %s, expected one: a mask has the length of its list, lengths are one number, and %s=LIST names the list", given, len(found), inputsText(inputs), name)
	case mask && found[0].Mask != "", !mask && found[0].Count != "":
		return settings.Errorf("%s: the list of the input %q has the mask %q and the lengths %q already", given, found[0].Column, found[0].Mask, found[0].Count)
	case mask:
		found[0].Mask = name
	default:
		found[0].Count = name
	}
	return nil
}

// inputsText lists inputs with their shapes in a message.
func inputsText(inputs []onnx.Input) string {
	var parts []string
	for _, i := range inputs {
		parts = append(parts, fmt.Sprintf("%s %v", i.Name, i.Shape))
	}
	return strings.Join(parts, ", ")
}
