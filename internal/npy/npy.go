// Package npy reads and writes NumPy's .npy files and .npz archives as dense
// tensors.
//
// Arrays of float32, float64, int64, int32, int8 and uint8 keep their type;
// bool is read as uint8 and float16 as float32. Everything else (big-endian,
// complex, strings, objects, structures, arrays without elements) is refused
// with [ErrUnsupported].
// Tensors that are read are always row-major: arrays in Fortran order are
// transposed during reading. An array without dimensions has the shape ().
//
// The format is documented at
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
package npy

import (
	"errors"
	"fmt"
	"io"
	"os"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/atomicfile"
)

var (
	// ErrFormat is wrapped by errors about content that is no valid NumPy
	// file: a wrong magic number, a malformed header, too little or too much
	// data, a broken zip archive.
	ErrFormat = errors.New("malformed NumPy data")
	// ErrUnsupported is wrapped by errors about valid arrays that this package
	// does not handle, such as big-endian or object arrays.
	ErrUnsupported = errors.New("unsupported NumPy data")
)

// Read returns the array in the .npy file at path.
func Read(path string) (*tensor.Dense, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if !info.Mode().IsRegular() {
		size = unknownSize
	}
	return decode(f, size, path)
}

// Decode reads one array in the .npy format from r. It reads r to the end, and bytes after the
// array are an error. Errors start with name.
//
// The memory depends on the data that r delivers and not on the size that the header claims.
func Decode(r io.Reader, name string) (*tensor.Dense, error) {
	return decode(r, unknownSize, name)
}

// Write writes t to the .npy file at path and replaces that atomically.
func Write(path string, t *tensor.Dense) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error { return Encode(w, t) })
}

// Encode writes t in the .npy format to w, row-major and little-endian. Views
// and transposed or column-major tensors are written in their logical order.
// The package comment names the element types. Other types and tensors without
// elements are refused with [ErrUnsupported] before anything is written.
func Encode(w io.Writer, t *tensor.Dense) error {
	if t == nil || t.Size() == 0 {
		return fmt.Errorf("%w: tensor without elements", ErrUnsupported)
	}
	c, ok := byType[t.Dtype().Type]
	if !ok {
		return fmt.Errorf("%w: tensor of %v, expected one of %s", ErrUnsupported, t.Dtype(), writable)
	}
	if _, err := w.Write(header(c.descr, t.Shape())); err != nil {
		return err
	}
	return c.write(w, t)
}
