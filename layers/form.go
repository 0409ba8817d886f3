package layers

import (
	"fmt"
	"reflect"
)

// Form describes a network as data: it can be printed, written to a file and read back,
// and it builds the network with new random weights. [MLP], [CNN], [ResNet] and
// [SequentialForm] are forms. A form from another package calls [Register].
type Form interface {
	// InputShape is the shape of one example, without the batch: [D] or [C,H,W].
	InputShape() []int
	// Structure lists the layers from the inputs to the outputs, or says in one line
	// which setting is impossible. It makes no arrays.
	Structure() (Layers, error)
	// String is one short line, such as "1-50-50-1 tanh".
	String() string
}

// maxNumbers is the largest number of elements that all arrays of a network may have
// together: they take 4 GiB in float64 and 2 GiB in float32. No example and no layer's
// output for one example may have more elements either.
const maxNumbers = 1 << 29

var forms = newRegistry[Form]("form")

// Register gives the forms of type F the kind that names them in files. F is decoded from
// JSON by its exported fields. Register is called from an init function; it panics if kind
// is empty, or if kind or F is registered already.
func Register[F Form](kind string) {
	forms.register(kind, reflect.TypeFor[F](), func(fields []byte) (Form, error) { return decodeStrict[F](fields) })
}

// MarshalForm returns f as a JSON object: {"kind": …} and the exported fields of f.
// A form that [Check] refuses, or whose kind is not registered, is refused.
func MarshalForm(f Form) ([]byte, error) {
	if err := Check(f); err != nil {
		return nil, err
	}
	data, err := forms.marshal(KindOf(f), f)
	if err != nil {
		return nil, fmt.Errorf("layers: %w", err)
	}
	return data, nil
}

// UnmarshalForm reads a form that [MarshalForm] has written. It refuses unknown kinds,
// unknown fields and forms that [Check] refuses, with one line.
func UnmarshalForm(data []byte) (Form, error) {
	if err := checkNesting(data); err != nil {
		return nil, fmt.Errorf("layers: form: %w", err)
	}
	f, err := forms.unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("layers: %w", err)
	}
	if err := Check(f); err != nil {
		return nil, err
	}
	return f, nil
}

// maxNesting is the depth of brackets in the JSON of a form: some thirty residual layers
// inside each other.
const maxNesting = 64

// checkNesting bounds the depth, because every level is decoded anew.
func checkNesting(data []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > maxNesting {
			return fmt.Errorf("nested more than %d deep", maxNesting)
		}
	}
	return nil
}

func init() {
	Register[MLP]("mlp")
	Register[CNN]("cnn")
	Register[ResNet]("resnet")
	Register[SequentialForm]("sequential")
}

// SequentialForm describes a network as a list of layers with their settings. It is the
// form of networks for which no other form exists.
type SequentialForm struct {
	Input  []int  `json:"input"`  // shape of one example, [D] or [C,H,W]
	Layers Layers `json:"layers"` // from the inputs to the outputs
}

// InputShape implements Form.
func (s SequentialForm) InputShape() []int { return s.Input }

// Structure implements Form.
func (s SequentialForm) Structure() (Layers, error) { return s.Layers, nil }

// String implements Form: the kinds of the first layers.
func (s SequentialForm) String() string {
	const most = 6
	text := "sequential " + dims(s.Input) + ":"
	for _, l := range s.Layers[:min(len(s.Layers), most)] {
		text += " " + KindOf(l)
	}
	if more := len(s.Layers) - most; more > 0 {
		text += fmt.Sprintf(" … (%d more)", more)
	}
	return fmt.Sprintf("%s, %d outputs", text, OutputSize(s))
}
