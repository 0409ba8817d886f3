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

// errType is the error about a tensor of a type that is not read, of which readTensor returns the name.
var errType = errors.New("elements of ONNX's type")

// readTensor reads a TensorProto. Data outside the message are read from other files.
func readTensor(f fields, from *files) (*Tensor, error) {
	t := &Tensor{Name: f.text(8), Type: types[f.int(2)]}
	if t.Type == "" {
		return t, fmt.Errorf("tensor %q: %w %d, expected floating-point numbers, integers or booleans", t.Name, errType, f.int(2))
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
		t.Data, err = elements(f, t.Type, n, from)
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
func elements(f fields, t raw.Type, n int, from *files) ([]byte, error) {
	if f.int(14) == 1 {
		return from.external(f, n*t.Size())
	}
	if f.has(9) {
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

// files are the files in the folder of a model, and below, that hold data of its tensors.
type files struct {
	dir   string           // the folder
	parts map[part][]byte  // what has been read
	taken map[string]int64 // bytes that have been read of each file
}

// part is a part of a file.
type part struct {
	name         string // of the file
	offset, size int64  // the first byte, and the number of bytes
}

// external reads size bytes from another file of the same folder.
func (from *files) external(f fields, size int) ([]byte, error) {
	at := map[string]string{}
	for e, err := range f.messages(13) {
		if err != nil {
			return nil, err
		}
		at[e.text(1)] = e.text(2)
	}
	p := part{name: filepath.Clean(at["location"]), size: int64(size)}
	if !filepath.IsLocal(p.name) {
		return nil, fmt.Errorf("data in the file %q, expected one in the folder of the model or below it", p.name)
	}
	if text := at["offset"]; text != "" {
		var err error
		if p.offset, err = strconv.ParseInt(text, 10, 64); err != nil || p.offset < 0 {
			return nil, fmt.Errorf("data of the file %q from byte %q on", p.name, text)
		}
	}
	if data, ok := from.parts[p]; ok {
		return data, nil
	}
	data, err := from.section(p)
	from.parts[p] = data
	return data, err
}

// section reads a part of a regular file. All different parts together must not be larger than the file.
func (from *files) section(p part) ([]byte, error) {
	root, err := os.OpenRoot(from.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(p.name)
	if err == nil && !info.Mode().IsRegular() { // to open a pipe would wait for a writer
		return nil, fmt.Errorf("data in %q, expected a regular file", p.name)
	}
	var file *os.File
	if err == nil {
		file, err = root.Open(p.name)
	}
	if err != nil {
		if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
			err = cause.Err // without the name, which may have several lines
		}
		return nil, fmt.Errorf("data in the file %q: %w", p.name, err)
	}
	defer file.Close()
	if p.size > info.Size()-p.offset {
		return nil, fmt.Errorf("%d bytes from byte %d on of the file %q, which has %d", p.size, p.offset, p.name, info.Size())
	}
	if from.taken[p.name] += p.size; from.taken[p.name] > info.Size() {
		return nil, fmt.Errorf("the tensors take more bytes of the file %q than its %d", p.name, info.Size())
	}
	return io.ReadAll(io.NewSectionReader(file, p.offset, p.size))
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
