package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// file builds a .npy file by hand: version major.0, the dictionary and data.
func file(major byte, dict string, data ...byte) []byte {
	out := []byte{0x93, 'N', 'U', 'M', 'P', 'Y', major, 0}
	text := dict + "\n"
	if major == 1 {
		out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	} else {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	}
	return append(append(out, text...), data...)
}

func dict(descr, fortran, shape string) string {
	return "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }"
}

func dense(shape []int, backing any) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
}

// same fails unless got has the type, shape and values of want.
func same(t *testing.T, got, want *tensor.Dense) {
	t.Helper()
	if got.Dtype() != want.Dtype() || !reflect.DeepEqual(dims(got), dims(want)) {
		t.Fatalf("got %v of shape %v, want %v of shape %v", got.Dtype(), got.Shape(), want.Dtype(), want.Shape())
	}
	if !reflect.DeepEqual(got.Data(), want.Data()) {
		t.Errorf("got %v, want %v", got.Data(), want.Data())
	}
}

func dims(t *tensor.Dense) []int { return append([]int{}, t.Shape()...) }

// samples holds a tensor of every type and of every number of dimensions.
func samples() map[string]*tensor.Dense {
	return map[string]*tensor.Dense{
		"float64": dense([]int{2, 3}, []float64{1, -2.5, math.Pi, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(-1)}),
		"float32": dense([]int{4}, []float32{1, -2.5, math.MaxFloat32, math.SmallestNonzeroFloat32}),
		"int64":   dense([]int{1, 2}, []int64{math.MinInt64, math.MaxInt64}),
		"int32":   dense([]int{2, 1, 2}, []int32{math.MinInt32, math.MaxInt32, 0, -1}),
		"int8":    dense([]int{3}, []int8{-128, 127, 0}),
		"uint8":   dense([]int{2, 2}, []uint8{0, 255, 1, 128}),
		"scalar":  tensor.New(tensor.FromScalar(2.75)),
		"scalar8": tensor.New(tensor.FromScalar(uint8(9))),
		"one":     dense([]int{1}, []float64{5}),
	}
}

func TestRoundTrip(t *testing.T) {
	for name, want := range samples() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.npy")
			if err := Write(path, want); err != nil {
				t.Fatal(err)
			}
			got, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
			var buf bytes.Buffer
			if err := Encode(&buf, want); err != nil {
				t.Fatal(err)
			}
			again, err := Decode(&buf, name)
			if err != nil {
				t.Fatal(err)
			}
			same(t, again, want)
		})
	}
}

// An array of more than one chunk, of a length that is no multiple of it.
func TestRoundTripLarge(t *testing.T) {
	values := make([]float32, 3*chunkBytes/4+17)
	for i := range values {
		values[i] = float32(i)
	}
	want := dense([]int{len(values)}, values)
	var buf bytes.Buffer
	if err := Encode(&buf, want); err != nil {
		t.Fatal(err)
	}
	got, err := Decode(&buf, "large")
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
}

// The bytes are those that numpy.save writes (NumPy 1.26, format 1.0): header
// padded with spaces to 128 bytes in all, closed by a newline.
func TestEncodeBytes(t *testing.T) {
	var buf bytes.Buffer
	if err := Encode(&buf, dense([]int{2, 1}, []float32{1, -2})); err != nil {
		t.Fatal(err)
	}
	text := "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }"
	want := "\x93NUMPY\x01\x00\x76\x00" + text + strings.Repeat(" ", 117-len(text)) + "\n" +
		"\x00\x00\x80\x3f\x00\x00\x00\xc0"
	if buf.String() != want {
		t.Errorf("got  %q\nwant %q", buf.String(), want)
	}
}

func TestHeaderShapes(t *testing.T) {
	for _, c := range []struct {
		shape tensor.Shape
		tuple string
	}{{nil, "()"}, {tensor.Shape{5}, "(5,)"}, {tensor.Shape{2, 3, 4}, "(2, 3, 4)"}} {
		h := header("<f8", c.shape)
		if !strings.Contains(string(h), "'shape': "+c.tuple+", }") || len(h)%64 != 0 {
			t.Errorf("header %q of %d bytes, want the shape %s and a multiple of 64", h, len(h), c.tuple)
		}
	}
}

func TestDecodeHandBuilt(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		want *tensor.Dense
	}{
		"int64 version 2": {file(2, dict("'<i8'", "False", "(1,)"), 0xfe, 255, 255, 255, 255, 255, 255, 255),
			dense([]int{1}, []int64{-2})},
		"0-d": {file(1, dict("'<f8'", "False", "()"), 0, 0, 0, 0, 0, 0, 0xf8, 0x3f),
			tensor.New(tensor.FromScalar(1.5))},
		"bool": {file(1, dict("'|b1'", "False", "(3,)"), 1, 0, 1),
			dense([]int{3}, []uint8{1, 0, 1})},
		"float16": {file(1, dict("'<f2'", "False", "(2,)"), 0x00, 0x3c, 0x00, 0xc1),
			dense([]int{2}, []float32{1, -2.5})},
		"int16":   {file(1, dict("'<i2'", "False", "(2,)"), 0xfe, 0xff, 1, 1), dense([]int{2}, []int32{-2, 257})},
		"uint16":  {file(1, dict("'<u2'", "False", "(2,)"), 0xfe, 0xff, 1, 1), dense([]int{2}, []int32{65534, 257})},
		"uint32":  {file(1, dict("'<u4'", "False", "(1,)"), 0xfe, 0xff, 0xff, 0xff), dense([]int{1}, []int64{1<<32 - 2})},
		"uint64":  {file(1, dict("'<u8'", "False", "(1,)"), 1, 2, 0, 0, 0, 0, 0, 0), dense([]int{1}, []int64{513})},
		"big f8":  {file(1, dict("'>f8'", "False", "(1,)"), 0x3f, 0xf8, 0, 0, 0, 0, 0, 0), dense([]int{1}, []float64{1.5})},
		"big i4":  {file(1, dict("'>i4'", "True", "(1, 2)"), 0, 0, 1, 2, 255, 255, 255, 254), dense([]int{1, 2}, []int32{258, -2})},
		"big f16": {file(1, dict("'>f2'", "False", "(1,)"), 0xc1, 0x00), dense([]int{1}, []float32{-2.5})},
		"Fortran 0-d": {file(1, dict("'|u1'", "True", "()"), 7),
			tensor.New(tensor.FromScalar(uint8(7)))},
		"Fortran 1-d": {file(1, dict("'|u1'", "True", "(3,)"), 1, 2, 3),
			dense([]int{3}, []uint8{1, 2, 3})},
		"Fortran 2-d": {file(1, dict("'|u1'", "True", "(2, 3)"), 1, 4, 2, 5, 3, 6),
			dense([]int{2, 3}, []uint8{1, 2, 3, 4, 5, 6})},
		// a[i,j,k] = 100i+10j+k, stored with i fastest
		"Fortran 3-d": {file(1, dict("'|u1'", "True", "(2, 2, 3)"),
			0, 100, 10, 110, 1, 101, 11, 111, 2, 102, 12, 112),
			dense([]int{2, 2, 3}, []uint8{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112})},
		"Fortran float16": {file(1, dict("'<f2'", "True", "(1, 1)"), 0x00, 0x3c),
			dense([]int{1, 1}, []float32{1})},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(bytes.NewReader(c.file), name)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want)
		})
	}
}

// Tensors that are not contiguous are written in their logical order.
func TestEncodeLayouts(t *testing.T) {
	base := func() *tensor.Dense { return dense([]int{2, 3}, []float64{1, 2, 3, 4, 5, 6}) }
	transposed := base()
	if err := transposed.T(); err != nil {
		t.Fatal(err)
	}
	cut := func(s ...tensor.Slice) *tensor.Dense {
		v, err := base().Slice(s...)
		if err != nil {
			t.Fatal(err)
		}
		return v.(*tensor.Dense)
	}
	columns := cut(nil, tensor.S(1, 3))
	turned := cut(nil, tensor.S(1, 3))
	if err := turned.T(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ in, want *tensor.Dense }{
		"transposed":     {transposed, dense([]int{3, 2}, []float64{1, 4, 2, 5, 3, 6})},
		"columns":        {columns, dense([]int{2, 2}, []float64{2, 3, 5, 6})},
		"turned columns": {turned, dense([]int{2, 2}, []float64{2, 5, 3, 6})},
		"one column":     {cut(nil, tensor.S(1)), dense([]int{2}, []float64{2, 5})},
		"one row":        {cut(tensor.S(1)), dense([]int{3}, []float64{4, 5, 6})},
		"one element":    {cut(tensor.S(1), tensor.S(2)), tensor.New(tensor.FromScalar(6.0))},
		"column-major":   {tensor.New(tensor.WithShape(2, 3), tensor.AsFortran([]float64{1, 2, 3, 4, 5, 6})), base()},
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := Encode(&buf, c.in); err != nil {
				t.Fatal(err)
			}
			got, err := Decode(&buf, name)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.want)
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, in := range map[string]*tensor.Dense{
		"int":       dense([]int{1}, []int{1}),
		"complex":   dense([]int{1}, []complex128{1}),
		"bool":      dense([]int{1}, []bool{true}),
		"nil":       nil,
		"empty":     dense([]int{0, 3}, []float64{}),
		"uint64 0d": tensor.New(tensor.FromScalar(uint64(1))),
	} {
		var buf bytes.Buffer
		if err := Encode(&buf, in); !errors.Is(err, ErrUnsupported) || buf.Len() > 0 {
			t.Errorf("%s: error %v after %d bytes, want %v and none", name, err, buf.Len(), ErrUnsupported)
		}
	}
}

func TestWriteFailureLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, dense([]int{1}, []int{1})); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one naming %s", err, path)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("file holds %q (%v), want the old content", got, err)
	}
}

func TestReadMissing(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "none.npy")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
}
