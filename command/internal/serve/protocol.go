package serve

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/raw"
)

// inferRequest is a request of the Open Inference Protocol.
type inferRequest struct {
	ID         string          `json:"id,omitempty"`         // id that the response repeats
	Parameters map[string]any  `json:"parameters,omitempty"` // parameters for all outputs
	Inputs     []inputTensor   `json:"inputs"`               // columns, or one tensor of all inputs
	Outputs    []requestOutput `json:"outputs,omitempty"`    // wanted outputs; none means the usual outputs
}

// inputTensor is an input of a request.
type inputTensor struct {
	Name       string          `json:"name"`                 // name of the column
	Shape      []int           `json:"shape"`                // lengths of the axes; the first axis counts rows
	Datatype   string          `json:"datatype"`             // element type, such as FP64
	Parameters map[string]any  `json:"parameters,omitempty"` // size of binary data
	Data       json.RawMessage `json:"data,omitempty"`       // elements as JSON

	raw   []byte // elements in the binary extension, instead of Data
	typed *cells // elements of gRPC, instead of Data
}

// requestOutput is an output that a request asks for.
type requestOutput struct {
	Name       string         `json:"name"`                 // name of the output
	Parameters map[string]any `json:"parameters,omitempty"` // parameters of this output
}

// inferResponse is a response of the Open Inference Protocol.
type inferResponse struct {
	ModelName    string         `json:"model_name"`    // name of the model
	ModelVersion string         `json:"model_version"` // version that answered
	ID           string         `json:"id,omitempty"`  // id of the request
	Outputs      []outputTensor `json:"outputs"`       // outputs in the order of the request
}

// outputTensor is an output of a response.
type outputTensor struct {
	Name       string         `json:"name"`                 // name of the output
	Shape      []int          `json:"shape"`                // lengths of the axes; the first axis counts rows
	Datatype   string         `json:"datatype"`             // FP64 or BYTES
	Parameters map[string]any `json:"parameters,omitempty"` // size of binary data
	Data       any            `json:"data,omitempty"`       // []float64 or []string
}

// datatype is a type of numbers in the protocol.
type datatype struct {
	width   int                    // bytes of a number
	read    func(b []byte) float64 // returns the little-endian number at the start of b
	least   int64                  // least whole number
	most    uint64                 // largest whole number; 0 for a type of fractions
	largest float64                // largest finite number of a type of fractions
}

// datatypes are the types of numbers. The only other datatype is BYTES.
var datatypes = map[string]datatype{
	"BOOL":   {width: 1, read: func(b []byte) float64 { return float64(b[0]) }, most: 1},
	"UINT8":  {width: 1, read: func(b []byte) float64 { return float64(b[0]) }, most: math.MaxUint8},
	"INT8":   {width: 1, read: func(b []byte) float64 { return float64(int8(b[0])) }, least: math.MinInt8, most: math.MaxInt8},
	"UINT16": {width: 2, read: func(b []byte) float64 { return float64(binary.LittleEndian.Uint16(b)) }, most: math.MaxUint16},
	"INT16":  {width: 2, read: func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) }, least: math.MinInt16, most: math.MaxInt16},
	"UINT32": {width: 4, read: func(b []byte) float64 { return float64(binary.LittleEndian.Uint32(b)) }, most: math.MaxUint32},
	"INT32":  {width: 4, read: func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }, least: math.MinInt32, most: math.MaxInt32},
	"UINT64": {width: 8, read: func(b []byte) float64 { return float64(binary.LittleEndian.Uint64(b)) }, most: math.MaxUint64},
	"INT64":  {width: 8, read: func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }, least: math.MinInt64, most: math.MaxInt64},
	"FP16":   {width: 2, read: func(b []byte) float64 { return float64(raw.Half(binary.LittleEndian.Uint16(b))) }, largest: 65504},
	"FP32":   {width: 4, read: func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }, largest: math.MaxFloat32},
	"FP64":   {width: 8, read: func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }, largest: math.MaxFloat64},
}

// check returns an error about the first number that the datatype called name does not have. A missing value and an
// infinite one pass, because what follows names their column.
func (d datatype) check(name string, numbers []float64) error {
	for i, v := range numbers {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
		case d.most > 0 && !(v == math.Trunc(v) && v >= float64(d.least) && v <= float64(d.most)):
			return fmt.Errorf("element %d is %v, expected %s, a whole number from %d to %d", i, v, name, d.least, d.most)
		case d.most == 0 && math.Abs(v) > d.largest:
			return fmt.Errorf("element %d is %v, expected %s, a number from %v to %v", i, v, name, -d.largest, d.largest)
		}
	}
	return nil
}

// size returns the number of elements, or an error for a shape that no tensor has or that is
// larger than most.
func (t inputTensor) size(most int) (int, error) {
	n, err := raw.Count(t.Shape, most)
	if err != nil {
		return 0, fmt.Errorf("input %q: %w", t.Name, err)
	}
	return n, nil
}

// cells are the elements of a tensor.
type cells struct {
	numbers []float64 // elements of all datatypes except BYTES
	words   []string  // elements of the datatype BYTES; nil for numbers
}

// len returns the number of elements.
func (c cells) len() int { return max(len(c.numbers), len(c.words)) }

// add appends a JSON value, as a CSV file has it. The first value that is no number turns all values
// into words. A list or an object is an error.
func (c *cells) add(v any) error {
	switch v := v.(type) {
	case []any, map[string]any:
		return fmt.Errorf("expected a number, a text, true, false or null, found %s", told(v))
	case float64:
		if c.words == nil {
			c.numbers = append(c.numbers, v)
			return nil
		}
	}
	for _, f := range c.numbers {
		c.words = append(c.words, cellText(f))
	}
	c.words, c.numbers = append(c.words, cellText(v)), nil
	return nil
}

// cells decodes the tensor, which has n elements by its shape.
func (t inputTensor) cells(n int) (cells, error) {
	if _, known := datatypes[t.Datatype]; !known && t.Datatype != "BYTES" {
		return cells{}, fmt.Errorf("input %q: datatype %q, expected BOOL, UINT8 … INT64, FP16, FP32, FP64 or BYTES", t.Name, t.Datatype)
	}
	var c cells
	var err error
	switch {
	case t.typed != nil:
		c = *t.typed
	case t.raw != nil:
		c, err = t.binary(n)
	default:
		c, err = t.json(n)
	}
	if err == nil {
		err = datatypes[t.Datatype].check(t.Datatype, c.numbers)
	}
	if err != nil {
		return c, fmt.Errorf("input %q: %w", t.Name, err)
	}
	if c.len() != n {
		return c, fmt.Errorf("input %q: %d elements, expected %d by its shape %v", t.Name, c.len(), n, t.Shape)
	}
	return c, nil
}

// json decodes Data: a flat list, or lists in lists.
func (t inputTensor) json(n int) (cells, error) {
	var c cells
	null := bytes.Contains(t.Data, []byte("null")) // Unmarshal takes null for 0
	if t.Datatype != "BYTES" && !null && json.Unmarshal(t.Data, &c.numbers) == nil {
		return c, nil
	}
	c.numbers = nil
	var nested []any
	if err := json.Unmarshal(t.Data, &nested); err != nil {
		return c, cmp.Or(tooLarge(t.Data), errors.New("data: expected a list"))
	}
	return c, c.flatten(nested, t.Datatype == "BYTES", n)
}

// flatten appends the elements of nested lists, in order.
func (c *cells) flatten(list []any, words bool, most int) error {
	for _, v := range list {
		switch v := v.(type) {
		case []any:
			if err := c.flatten(v, words, most); err != nil {
				return err
			}
			continue
		case nil: // missing
			if words {
				c.words = append(c.words, "")
			} else {
				c.numbers = append(c.numbers, math.NaN())
			}
			continue
		case float64:
			if !words {
				c.numbers = append(c.numbers, v)
				continue
			}
		case bool:
			if !words {
				c.numbers = append(c.numbers, number(v))
				continue
			}
		case string:
			if words {
				c.words = append(c.words, v)
				continue
			}
		}
		return fmt.Errorf("element %d is %s, expected %s", c.len(), told(v), map[bool]string{true: "a string", false: "a number"}[words])
	}
	if c.len() > most {
		return fmt.Errorf("more than the %d elements of its shape", most)
	}
	return nil
}

// tooLarge returns an error about the first number of nested lists that is beyond the range of numbers, and nil if there is
// none.
func tooLarge(list []byte) error {
	d := json.NewDecoder(bytes.NewReader(list))
	d.UseNumber()
	for element := 0; ; {
		token, err := d.Token()
		if err != nil {
			return nil
		}
		if _, bracket := token.(json.Delim); bracket {
			continue
		}
		if number, ok := token.(json.Number); ok {
			if _, err := number.Float64(); err != nil {
				return fmt.Errorf("element %d is %s, expected a finite number", element, short(number.String()))
			}
		}
		element++
	}
}

// told returns a value of JSON for a message.
func told(v any) string {
	if s, ok := v.(string); ok {
		return short(s)
	}
	text, err := json.Marshal(v)
	if err != nil { // a parameter of gRPC may be NaN
		return short(fmt.Sprint(v))
	}
	return short(string(text))
}

// malformed explains an error of a decoder of JSON where the text has a number that JSON does not have.
func malformed(text []byte, err error) error {
	var wrong *json.SyntaxError
	if !errors.As(err, &wrong) || wrong.Offset < 1 || wrong.Offset > int64(len(text)) {
		return err
	}
	rest := text[wrong.Offset-1:]
	if bytes.HasPrefix(rest, []byte("NaN")) || bytes.HasPrefix(rest, []byte("Infinity")) {
		return fmt.Errorf("byte %d: found NaN or Infinity, which JSON does not have; null stands for a missing value", wrong.Offset)
	}
	return err
}

// number returns 1 for true and 0 for false.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// binary decodes n elements from the raw bytes.
func (t inputTensor) binary(n int) (cells, error) {
	if t.Datatype == "BYTES" {
		return t.binaryWords()
	}
	d := datatypes[t.Datatype]
	if len(t.raw) != n*d.width {
		return cells{}, fmt.Errorf("%d bytes, expected %d for %d elements of %s", len(t.raw), n*d.width, n, t.Datatype)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = d.read(t.raw[i*d.width:])
	}
	return cells{numbers: out}, nil
}

// binaryWords decodes strings, each after its length in four bytes.
func (t inputTensor) binaryWords() (c cells, err error) {
	c.words = []string{}
	for rest := t.raw; len(rest) > 0; {
		if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
			return c, fmt.Errorf("element %d is cut off", len(c.words))
		}
		n := binary.LittleEndian.Uint32(rest)
		c.words = append(c.words, string(rest[4:4+n]))
		rest = rest[4+n:]
	}
	return c, nil
}

// headerLength is the header of the binary extension that has the length of the JSON part.
const headerLength = "Inference-Header-Content-Length"

// parseInfer reads the body of a request. Its first length bytes are JSON; 0 means that all bytes are.
func parseInfer(body []byte, length int) (*inferRequest, error) {
	if length == 0 {
		length = len(body)
	}
	if length < 0 || length > len(body) {
		return nil, fmt.Errorf("%s %d, expected at most the %d bytes of the body", headerLength, length, len(body))
	}
	var r inferRequest
	if err := json.Unmarshal(body[:length], &r); err != nil {
		return nil, fmt.Errorf("the request is no JSON of the inference protocol: %w", malformed(body[:length], err))
	}
	rest := body[length:]
	for i := range r.Inputs {
		t := &r.Inputs[i]
		size, ok := t.Parameters["binary_data_size"].(float64)
		if !ok {
			continue
		}
		if size != math.Trunc(size) || size < 0 || size > float64(len(rest)) {
			return nil, fmt.Errorf("input %q: binary_data_size %v, expected at most the %d bytes that are left", t.Name, size, len(rest))
		}
		t.raw, rest = rest[:int(size):int(size)], rest[int(size):]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes after the last tensor", len(rest))
	}
	return &r, nil
}

// jsonPart returns the JSON of a body whose first length bytes are JSON; 0 means that all bytes are.
func jsonPart(body []byte, length int) []byte {
	if length == 0 || length > len(body) {
		return body
	}
	return body[:length]
}

// decoding returns the memory of the elements that follow the JSON of a request as bytes.
func (r *inferRequest) decoding() (bytes float64) {
	for _, t := range r.Inputs {
		if d, numbers := datatypes[t.Datatype]; numbers {
			bytes += float64(len(t.raw)/d.width) * numberBytes
		} else {
			bytes += float64(len(t.raw)) * (1 + wordBytes/4) // a word has a length in four bytes
		}
	}
	return bytes
}

// flag returns the parameter with the given name, which is true or false; false if it is absent.
func flag(parameters map[string]any, name string) bool {
	v, _ := parameters[name].(bool)
	return v
}
