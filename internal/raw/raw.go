// Package raw makes arrays of the little-endian bytes that files of weights hold.
package raw

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"gorgonia.org/tensor"
)

// Type is the type of the elements in a file, as safetensors calls it.
type Type string

// The types. F16 and BF16 become float32, and integers and booleans become int64.
const (
	F64  Type = "F64"
	F32  Type = "F32"
	F16  Type = "F16"
	BF16 Type = "BF16"
	I64  Type = "I64"
	I32  Type = "I32"
	I16  Type = "I16"
	I8   Type = "I8"
	U8   Type = "U8"
	Bool Type = "BOOL"
)

// sizes are the bytes of an element.
var sizes = map[Type]int{F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I16: 2, I8: 1, U8: 1, Bool: 1}

// Size returns the number of bytes of an element; 0 for an unknown type.
func (t Type) Size() int { return sizes[t] }

// Count returns the number of elements of a shape. A negative extent, or more elements than
// limit, is an error.
func Count(shape []int, limit int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > limit/d {
			return 0, fmt.Errorf("shape %v, expected at most %d elements", shape, limit)
		}
		n *= d
	}
	return n, nil
}

// Decode returns the elements in data, whose length is a multiple of the element's, as
// []float64, []float32 or []int64.
func Decode(t Type, data []byte) (any, error) {
	le := binary.LittleEndian
	size := t.Size()
	if size == 0 || len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes of type %q, expected elements of F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL", len(data), t)
	}
	switch t {
	case F64:
		return each(data, size, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) }), nil
	case F32:
		return each(data, size, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) }), nil
	case F16:
		return each(data, size, func(b []byte) float32 { return Half(le.Uint16(b)) }), nil
	case BF16:
		return each(data, size, func(b []byte) float32 { return math.Float32frombits(uint32(le.Uint16(b)) << 16) }), nil
	case I64:
		return each(data, size, func(b []byte) int64 { return int64(le.Uint64(b)) }), nil
	case I32:
		return each(data, size, func(b []byte) int64 { return int64(int32(le.Uint32(b))) }), nil
	case I16:
		return each(data, size, func(b []byte) int64 { return int64(int16(le.Uint16(b))) }), nil
	case I8:
		return each(data, size, func(b []byte) int64 { return int64(int8(b[0])) }), nil
	default: // U8, Bool
		return each(data, size, func(b []byte) int64 { return int64(b[0]) }), nil
	}
}

// each returns the elements of size bytes in data, each decoded by one.
func each[T any](data []byte, size int, one func(b []byte) T) []T {
	out := make([]T, len(data)/size)
	for i := range out {
		out[i] = one(data[i*size:])
	}
	return out
}

// Dense returns the array of a shape whose elements, row-major, are in data. An array without
// elements is an error.
func Dense(t Type, shape []int, data []byte) (*tensor.Dense, error) {
	n, err := Count(shape, len(data))
	if err != nil {
		return nil, err
	}
	if n == 0 || n*t.Size() != len(data) {
		return nil, fmt.Errorf("%d bytes for shape %v of type %q", len(data), shape, t)
	}
	v, err := Decode(t, data)
	if err != nil {
		return nil, err
	}
	if len(shape) == 0 {
		return tensor.New(tensor.FromScalar(reflect.ValueOf(v).Index(0).Interface())), nil
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v)), nil
}

// IsMask says whether the floating-point elements in data are infinite or 0, and some are infinite.
func IsMask(t Type, data []byte) (inf bool) {
	size := t.Size()
	for at := 0; at+size <= len(data); at += size {
		v, le := 0.0, binary.LittleEndian
		switch t {
		case F64:
			v = math.Float64frombits(le.Uint64(data[at:]))
		case F32:
			v = float64(math.Float32frombits(le.Uint32(data[at:])))
		case F16:
			v = float64(Half(le.Uint16(data[at:])))
		case BF16:
			v = float64(math.Float32frombits(uint32(le.Uint16(data[at:])) << 16))
		}
		if !math.IsInf(v, 0) && v != 0 {
			return false
		}
		inf = inf || v != 0
	}
	return inf
}

// Gather returns, row-major, the elements of an array of a shape that lies in src. The element of an index is number
// from + Σ index·strides, and an element is width numbers of src.
func Gather[T any](src []T, shape, strides []int, from, width int) []T {
	n := width
	for _, d := range shape {
		n *= d
	}
	out, index, at := make([]T, 0, n), make([]int, len(shape)), from
	for len(out) < n {
		out = append(out, src[at*width:(at+1)*width]...)
		for d := len(index) - 1; d >= 0; d-- { // the next index, as on an odometer
			at += strides[d]
			if index[d]++; index[d] < shape[d] {
				break
			}
			at -= shape[d] * strides[d]
			index[d] = 0
		}
	}
	return out
}

// Half returns the value of an IEEE 754 binary16 number, exactly.
func Half(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent := uint32(h>>10) & 0x1f
	fraction := uint32(h) & 0x3ff
	switch exponent {
	case 0: // zero and subnormal: fraction * 2^-24
		v := float32(fraction) * 0x1p-24
		return math.Float32frombits(sign | math.Float32bits(v))
	case 0x1f: // infinity and NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	default: // the biases are 15 and 127
		return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
	}
}

// Arrays are the named arrays of a file.
type Arrays struct {
	Names  []string                 // in the order of the file
	byName map[string]*tensor.Dense // arrays by their names
}

// Get returns the array of a name, and whether there is one.
func (a *Arrays) Get(name string) (*tensor.Dense, bool) {
	v, ok := a.byName[name]
	return v, ok
}

// Add adds an array. A name that is taken is an error.
func (a *Arrays) Add(name string, v *tensor.Dense) error {
	if a.byName[name] != nil {
		return fmt.Errorf("two arrays are called %q", name)
	}
	if a.byName == nil {
		a.byName = map[string]*tensor.Dense{}
	}
	a.Names = append(a.Names, name)
	a.byName[name] = v
	return nil
}
