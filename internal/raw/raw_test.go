package raw

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float32{
		0x0000: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125,
		0x7bff: 65504, 0x0400: 0x1p-14, 0x0001: 0x1p-24, 0x83ff: -0x3ffp-24,
		0x7c00: float32(math.Inf(1)), 0xfc00: float32(math.Inf(-1)),
	} {
		if got := Half(bits); got != want {
			t.Errorf("Half(%#04x) = %g, want %g", bits, got, want)
		}
	}
	if got := Half(0x7e00); got == got {
		t.Errorf("Half(0x7e00) = %g, want NaN", got)
	}
	if !math.Signbit(float64(Half(0x8000))) {
		t.Error("-0 lost its sign")
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		t    Type
		data []byte
		want any
	}{
		{F64, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, []float64{1.5}},
		{F32, []byte{0, 0, 0xc0, 0xbf}, []float32{-1.5}},
		{F16, []byte{0, 0x3e, 0, 0xbe}, []float32{1.5, -1.5}},
		{BF16, []byte{0xc0, 0x3f, 0xc0, 0xbf}, []float32{1.5, -1.5}},
		{I64, []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []int64{-2}},
		{I32, []byte{0xfe, 0xff, 0xff, 0xff}, []int64{-2}},
		{I16, []byte{0xfe, 0xff, 2, 1}, []int64{-2, 258}},
		{I8, []byte{0xfe}, []int64{-2}},
		{U8, []byte{0xfe}, []int64{254}},
		{Bool, []byte{0, 1}, []int64{0, 1}},
	} {
		if got, err := Decode(c.t, c.data); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v and error %v, want %v", c.t, got, err, c.want)
		}
	}
	for _, bad := range []struct {
		t Type
		n int
	}{{F64, 7}, {"F8_E4M3", 4}} {
		if v, err := Decode(bad.t, make([]byte, bad.n)); err == nil {
			t.Errorf("%d bytes of %s: %v", bad.n, bad.t, v)
		}
	}
}

func TestDense(t *testing.T) {
	d, err := Dense(BF16, []int{2, 1}, []byte{0xc0, 0x3f, 0xc0, 0xbf})
	if err != nil || !slices.Equal(d.Float32s(), []float32{1.5, -1.5}) || !slices.Equal(d.Shape(), []int{2, 1}) {
		t.Errorf("%v, error %v", d, err)
	}
	if d, err := Dense(I64, nil, make([]byte, 8)); err != nil || d.Dims() != 0 {
		t.Errorf("a scalar: %v, error %v", d, err)
	}
	for _, shape := range [][]int{{3}, {0}, {-1}, {math.MaxInt, 2}, {2, math.MaxInt}} {
		if d, err := Dense(F32, shape, make([]byte, 8)); err == nil {
			t.Errorf("shape %v of 8 bytes: %v", shape, d.Shape())
		}
	}
}
