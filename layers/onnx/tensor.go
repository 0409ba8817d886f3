package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-valla/valla/internal/raw"
)

// Tensor is an array in a file, with its elements little-endian.
type Tensor struct {
	Name  string   `json:"name,omitempty"` // empty for the value of an attribute
	Type  raw.Type `json:"type"`           // of the elements
	Shape []int    `json:"shape"`          // extents of the axes
	Data  []byte   `json:"data"`           // elements, row-major
}

// types are the types of elements by ONNX's numbers.
var types = map[int64]raw.Type{
	1: raw.F32, 2: raw.U8, 3: raw.I8, 5: raw.I16, 6: raw.I32, 7: raw.I64, 9: raw.Bool, 10: raw.F16, 11: raw.F64, 16: raw.BF16,
}

func isFloat(t raw.Type) bool { return t == raw.F64 || t == raw.F32 || t == raw.F16 || t == raw.BF16 }

// readTensor reads a TensorProto. Data outside the message are read from files of the folder dir.
func readTensor(f fields, dir string) (*Tensor, error) {
	t := &Tensor{Name: f.text(8), Type: types[f.int(2)]}
	if t.Type == "" {
		return nil, fmt.Errorf("tensor %q: elements of ONNX's type %d, expected floating-point numbers, integers or booleans", t.Name, f.int(2))
	}
	dims, err := f.ints(1)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	t.Shape = []int{}
	for _, d := range dims {
		t.Shape = append(t.Shape, int(d))
	}
	n, err := raw.Count(t.Shape, math.MaxInt32)
	if err == nil {
		t.Data, err = elements(f, t.Type, n, dir)
	}
	if err == nil && len(t.Data) != n*t.Type.Size() {
		err = fmt.Errorf("%d bytes for shape %v of %s", len(t.Data), t.Shape, t.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return t, nil
}

// elements returns the bytes of n elements, which stand in one of several fields.
func elements(f fields, t raw.Type, n int, dir string) ([]byte, error) {
	if f.int(14) == 1 {
		return external(f, n*t.Size(), dir)
	}
	if f[9] != nil {
		return f.last(9).bytes, nil
	}
	le := binary.LittleEndian
	var out []byte
	switch t {
	case raw.F32:
		v, err := f.floats(4)
		for _, x := range v {
			out = le.AppendUint32(out, math.Float32bits(float32(x)))
		}
		return out, err
	case raw.F64:
		v, err := f.doubles(10)
		out, _ = binary.Append(nil, le, v) // fails for no slice of numbers
		return out, err
	case raw.I64:
		v, err := f.ints(7)
		out, _ = binary.Append(nil, le, v)
		return out, err
	}
	v, err := f.ints(5) // all smaller types, halves by their bits
	for _, x := range v {
		out = append(out, le.AppendUint64(nil, uint64(x))[:t.Size()]...)
	}
	return out, err
}

// external reads size bytes from another file of the same folder.
func external(f fields, size int, dir string) ([]byte, error) {
	entries, err := f.messages(13)
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	for _, e := range entries {
		at[e.text(1)] = e.text(2)
	}
	name := at["location"]
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("data in the file %q, expected one in the folder of the model or below it", name)
	}
	offset := int64(0)
	if text := at["offset"]; text != "" {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil || offset < 0 {
			return nil, fmt.Errorf("data of the file %q from byte %q on", name, text)
		}
	}
	return section(dir, name, offset, int64(size))
}

// section reads size bytes of a file of the folder dir from the byte offset on.
func section(dir, name string, offset, size int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(name)
	if err != nil {
		if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
			err = cause.Err // without the name, which may have several lines
		}
		return nil, fmt.Errorf("data in the file %q: %w", name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if size > info.Size()-offset {
		return nil, fmt.Errorf("%d bytes from byte %d on of the file %q, which has %d", size, offset, name, info.Size())
	}
	return io.ReadAll(io.NewSectionReader(file, offset, size))
}

// host returns a tensor as numbers.
func (t *Tensor) host() (*host, error) {
	n, err := raw.Count(t.Shape, maxHost)
	if err != nil {
		return nil, err
	}
	v, err := raw.Decode(t.Type, t.Data)
	if err != nil {
		return nil, err
	}
	h := &host{shape: t.Shape, whole: !isFloat(t.Type)}
	switch v := v.(type) {
	case []float64:
		h.v = v
	case []float32:
		h.v = widened(v)
	case []int64:
		h.v = widened(v)
	}
	if len(h.v) != n {
		return nil, fmt.Errorf("tensor %q: %d elements for shape %v", t.Name, len(h.v), t.Shape)
	}
	return h, nil
}

func widened[T float32 | int | int64](v []T) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}
