package layers

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Layer describes one layer as data: its settings, which are its exported fields, and
// what the settings mean. A new layer is one type with this method and one call of
// [RegisterLayer]; layertest.Conform checks it.
type Layer interface {
	// Make checks the settings for examples of shape in, asks m for the arrays of the
	// layer and returns the layer and the shape of one example of its output. m may only
	// count arrays: they have no values then, and Make must not look at these.
	Make(m *Maker, in []int) (Network, []int, error)
}

// Numbering is a layer that takes some of its inputs for whole numbers, such as numbers of tokens.
type Numbering interface {
	// Whole says which elements of an example of shape in are whole numbers; nil if none is.
	Whole(in []int) []bool
}

// WholeInputs says which elements of an example the network of a form takes for whole numbers; nil if none is.
func WholeInputs(f Form) []bool {
	list, err := f.Structure()
	if err != nil {
		return nil
	}
	return list.Whole(f.InputShape())
}

// Whole implements [Numbering] by the first layer.
func (l Layers) Whole(in []int) []bool {
	if len(l) == 0 {
		return nil
	}
	if n, ok := l[0].(Numbering); ok {
		return n.Whole(in)
	}
	return nil
}

var layerKinds = newRegistry[Layer]("layer")

// RegisterLayer gives the layers of type L the kind that names them in files. L is decoded
// from JSON by its exported fields. RegisterLayer is called from an init function; it panics
// if kind is empty, or if kind or L is registered already.
func RegisterLayer[L Layer](kind string) {
	layerKinds.register(kind, reflect.TypeFor[L](), func(fields []byte) (Layer, error) { return decodeStrict[L](fields) })
}

// Layers describes a network of layers that are applied one after the other. In JSON it
// is a list of objects {"kind": …} with the layers' settings.
type Layers []Layer

// MarshalJSON implements json.Marshaler.
func (l Layers) MarshalJSON() ([]byte, error) {
	list := make([]json.RawMessage, len(l))
	for i, layer := range l {
		var settings any = layer
		if _, ok := layer.(Activation); ok {
			settings = struct{}{} // its kind says all
		}
		var err error
		if list[i], err = layerKinds.marshal(KindOf(layer), settings); err != nil {
			return nil, fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Layers) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*l = nil
	for i, item := range list {
		layer, err := layerKinds.unmarshal(item)
		if err != nil {
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
		*l = append(*l, layer)
	}
	return nil
}

// KindOf returns the kind under which the type of a [Layer] or of a [Form] is registered. The
// kind of an activation is its name. A type that is not registered has its Go name for a kind.
func KindOf(of any) string {
	if of == nil {
		return "nothing"
	}
	if a, ok := of.(Activation); ok {
		return string(a)
	}
	for _, names := range []map[reflect.Type]string{layerKinds.names, forms.names} {
		if kind, ok := names[reflect.TypeOf(of)]; ok {
			return kind
		}
	}
	return fmt.Sprintf("%T", of)
}

// dims writes a shape as 3×32×32.
func dims(shape []int) string { return joinInts(shape, "×") }

func joinInts(v []int, between string) string {
	text := make([]string, len(v))
	for i, n := range v {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, between)
}

// expectImages returns an error unless in is the shape of an image, [C,H,W].
func expectImages(in []int) error {
	if len(in) != 3 {
		return fmt.Errorf("inputs of shape %v, expected images [C,H,W]", in)
	}
	return nil
}

// ResidualLayer describes a [Residual]: the outputs of Inner and of Shortcut for the same inputs
// are added.
type ResidualLayer struct {
	Inner    Layers `json:"inner"`              // what the shortcut goes around
	Shortcut Layers `json:"shortcut,omitempty"` // empty: the identity
}

func init() { RegisterLayer[ResidualLayer]("residual") }

// Make implements Layer.
func (r ResidualLayer) Make(m *Maker, in []int) (Network, []int, error) {
	inner, out, err := m.Sequence(r.Inner, in)
	if err != nil {
		return nil, nil, fmt.Errorf("inner: %w", err)
	}
	short := in
	res := Residual{Inner: inner}
	if len(r.Shortcut) > 0 {
		var s Sequential
		if s, short, err = m.Sequence(r.Shortcut, in); err != nil {
			return nil, nil, fmt.Errorf("shortcut: %w", err)
		}
		res.Shortcut = s
	}
	if !slices.Equal(out, short) {
		return nil, nil, fmt.Errorf("the inner layers give shape %v, the shortcut %v", out, short)
	}
	return res, out, nil
}
