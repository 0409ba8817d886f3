package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/raw"
)

// unknownSize stands for the size of a stream whose length is not known.
const unknownSize = -1

// chunkBytes is the number of bytes that are read or written at a time. It is also the
// largest allocation before any data of a stream have been read.
const chunkBytes = 1 << 20

// A codec reads and writes the elements of one dtype.
type codec struct {
	descr string // the type's name in a file's header, such as <f8
	width int    // bytes per element
	// read returns the n elements of an array as a slice, allocating room for
	// at most hint elements ahead of the data.
	read  func(r io.Reader, n, hint int, order binary.ByteOrder) (any, error)
	write func(w io.Writer, t *tensor.Dense) error // writes the elements of t
	// order returns src, a slice from read, as a row-major copy.
	order func(src any, shape, strides []int) any
}

type element interface {
	float32 | float64 | int64 | int32 | int16 | int8 | uint64 | uint32 | uint16 | uint8
}

func codecOf[T element](descr string) codec {
	return codec{
		descr: descr,
		width: reflect.TypeFor[T]().Bits() / 8,
		read: func(r io.Reader, n, hint int, order binary.ByteOrder) (any, error) {
			return readElements[T](r, n, hint, order)
		},
		write: writeDense[T],
		order: func(src any, shape, strides []int) any { return raw.Gather(src.([]T), shape, strides, 0, 1) },
	}
}

// widened returns the codec for reading elements F as elements T, which hold them. A number that T does not hold is an error.
func widened[F, T element](descr string, as func(F) (T, bool)) codec {
	c := codecOf[T](descr)
	c.width = reflect.TypeFor[F]().Bits() / 8
	c.read = func(r io.Reader, n, hint int, order binary.ByteOrder) (any, error) {
		from, err := readElements[F](r, n, hint, order)
		if err != nil {
			return nil, err
		}
		out := make([]T, n)
		for i, v := range from {
			ok := false
			if out[i], ok = as(v); !ok {
				return nil, fmt.Errorf("%w: element %d is %v, more than %T holds", ErrUnsupported, i, v, out[i])
			}
		}
		return out, nil
	}
	return c
}

const (
	readable = "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1"
	writable = "float64 float32 int64 int32 int8 uint8"
)

var byType = map[reflect.Type]codec{
	reflect.TypeFor[float64](): codecOf[float64]("<f8"),
	reflect.TypeFor[float32](): codecOf[float32]("<f4"),
	reflect.TypeFor[int64]():   codecOf[int64]("<i8"),
	reflect.TypeFor[int32]():   codecOf[int32]("<i4"),
	reflect.TypeFor[int8]():    codecOf[int8]("|i1"),
	reflect.TypeFor[uint8]():   codecOf[uint8]("|u1"),
}

// byDescr holds the codecs for reading.
var byDescr = func() map[string]codec {
	m := map[string]codec{
		"<f2": widened("<f2", func(v uint16) (float32, bool) { return raw.Half(v), true }),
		"<i2": widened("<i2", func(v int16) (int32, bool) { return int32(v), true }),
		"<u2": widened("<u2", func(v uint16) (int32, bool) { return int32(v), true }),
		"<u4": widened("<u4", func(v uint32) (int64, bool) { return int64(v), true }),
		"<u8": widened("<u8", func(v uint64) (int64, bool) { return int64(v), v <= math.MaxInt64 }),
	}
	for _, c := range byType {
		m[c.descr] = c
	}
	m["|b1"] = m["|u1"] // NumPy stores a bool as the byte 0 or 1
	return m
}()

// decode reads the array that fills r. size is the number of bytes in r, or unknownSize.
func decode(r io.Reader, size int64, name string) (*tensor.Dense, error) {
	t, err := decodeArray(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func decodeArray(r io.Reader, size int64) (*tensor.Dense, error) {
	h, used, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	shape := h.Descr.Shape
	little, order := h.Descr.Type, binary.ByteOrder(binary.LittleEndian)
	if rest, big := strings.CutPrefix(little, ">"); big {
		little, order = "<"+rest, binary.BigEndian
	}
	c, ok := byDescr[little]
	if !ok {
		return nil, fmt.Errorf("%w: dtype %q, expected one of %s", ErrUnsupported, h.Descr.Type, readable)
	}
	n, err := elements(shape, c.width)
	if err != nil {
		return nil, err
	}
	hint := chunkBytes / c.width
	if size != unknownSize {
		if int64(n)*int64(c.width) > max(size-int64(used), 0) {
			return nil, fmt.Errorf("%w: expected %d bytes of data, found %d (dtype %s, shape %v)", ErrFormat, n*c.width, max(size-int64(used), 0), h.Descr.Type, shape)
		}
		if err := fits(int64(n) * int64(c.width)); err != nil {
			return nil, err
		}
		hint = n
	}
	data, err := c.read(r, n, hint, order)
	if err != nil {
		return nil, fmt.Errorf("%w (dtype %s, shape %v)", err, h.Descr.Type, shape)
	}
	if err := expectEnd(r, shape); err != nil {
		return nil, err
	}
	if h.Descr.Fortran && len(shape) > 1 {
		data = c.order(data, shape, columnMajor(shape))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data)), nil
}

// expectEnd makes sure that r ends here. For a zip member, reaching the end also makes the
// reader verify the checksum.
func expectEnd(r io.Reader, shape []int) error {
	var one [1]byte
	switch _, err := io.ReadFull(r, one[:]); err {
	case io.EOF:
		return nil
	case nil:
		return fmt.Errorf("%w: more bytes than an array of shape %v needs", ErrFormat, shape)
	default:
		return err
	}
}

// readElements reads n elements.
func readElements[T element](r io.Reader, n, hint int, order binary.ByteOrder) ([]T, error) {
	width := reflect.TypeFor[T]().Bits() / 8
	out := make([]T, 0, min(n, hint))
	buf := make([]byte, min(n*width, chunkBytes))
	for len(out) < n {
		start := len(out)
		k := min(n-start, len(buf)/width)
		got, err := io.ReadFull(r, buf[:k*width])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("%w: expected %d bytes of data, found %d", ErrFormat, n*width, start*width+got)
		}
		if err != nil {
			return nil, err
		}
		out = slices.Grow(out, k)[:start+k]
		if _, err := binary.Decode(buf, order, out[start:]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writeDense writes the elements of t, little-endian and in row-major order.
func writeDense[T element](w io.Writer, t *tensor.Dense) error {
	data := backing[T](t)
	width := reflect.TypeFor[T]().Bits() / 8
	buf := make([]byte, 0, min(len(data)*width, chunkBytes))
	for part := range slices.Chunk(data, chunkBytes/width) {
		var err error
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, part); err != nil {
			return err
		}
		if _, err = w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// backing returns the elements of t in row-major order. It returns the memory of t if that
// is in this order, and a copy for views, transposed and column-major tensors.
func backing[T element](t *tensor.Dense) []T {
	if t.IsScalar() {
		return []T{t.ScalarValue().(T)}
	}
	data := t.Data().([]T)
	if t.RequiresIterator() || t.DataOrder().IsColMajor() {
		return raw.Gather(data, t.Shape(), t.Strides(), 0, 1)
	}
	return data
}

// columnMajor returns the strides of an array in Fortran order.
func columnMajor(shape []int) []int {
	strides := make([]int, len(shape))
	step := 1
	for i, d := range shape {
		strides[i] = step
		step *= d
	}
	return strides
}
