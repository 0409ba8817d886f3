package raw

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// TestHalfOfAll: every binary16 number has the value that the definition of the format gives.
func TestHalfOfAll(t *testing.T) {
	for bits := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(bits>>15), bits>>10&31, float64(bits&1023)/1024
		want := sign * math.Ldexp(1+fraction, exponent-15)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(fraction, -14)
		case exponent == 31 && fraction == 0:
			want = math.Inf(int(sign))
		case exponent == 31:
			want = math.NaN()
		}
		got := float64(Half(uint16(bits)))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != (bits>>15 == 1) {
			t.Fatalf("Half(%#04x) = %g, want %g", bits, got, want)
		}
	}
}

// TestRoundTrip: numbers come back from their little-endian bytes, in any shape with as many elements.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 4).Draw(t, "columns")
		v := rapid.SliceOfN(rapid.Float64(), rows*columns, rows*columns).Draw(t, "numbers")
		var wide, narrow, whole []byte
		for _, x := range v {
			wide = binary.LittleEndian.AppendUint64(wide, math.Float64bits(x))
			narrow = binary.LittleEndian.AppendUint32(narrow, math.Float32bits(float32(x)))
			whole = binary.LittleEndian.AppendUint16(whole, uint16(math.Float64bits(x)))
		}
		for kind, data := range map[Type][]byte{F64: wide, F32: narrow, I16: whole} {
			d, err := Dense(kind, []int{rows, columns}, data)
			if err != nil || !slices.Equal(d.Shape(), []int{rows, columns}) || len(data) != kind.Size()*len(v) {
				t.Fatalf("%s: %v, error %v", kind, d, err)
			}
			for i, x := range v {
				var same bool
				switch got := d.Data().(type) {
				case []float64:
					same = got[i] == x
				case []float32:
					same = got[i] == float32(x)
				case []int64:
					same = got[i] == int64(int16(math.Float64bits(x)))
				}
				if !same {
					t.Fatalf("%s: element %d of %v is not %g", kind, i, d.Data(), x)
				}
			}
			if d, err := Dense(kind, []int{rows, columns + 1}, data); err == nil {
				t.Fatalf("%s: one column more than there are bytes: %v", kind, d)
			}
		}
	})
}

// TestCount: the number of elements is the product of the extents, where it is not above the limit. No product
// runs over.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		shape []int
		limit int
		want  int // −1: an error
	}{
		{nil, 1, 1}, {[]int{2, 3}, 6, 6}, {[]int{2, 3}, 5, -1}, {[]int{0, 9}, 0, 0}, {[]int{0, math.MaxInt}, 9, 0},
		{[]int{-1}, 9, -1}, {[]int{1 << 32, 1 << 32}, math.MaxInt, -1}, {[]int{math.MaxInt, 1}, math.MaxInt, math.MaxInt},
	} {
		n, err := Count(c.shape, c.limit)
		if (err != nil) != (c.want < 0) || err == nil && n != c.want {
			t.Errorf("shape %v with the limit %d: %d, error %v, want %d", c.shape, c.limit, n, err, c.want)
		}
	}
}

// TestArrays: arrays keep their order, and a name is taken once.
func TestArrays(t *testing.T) {
	var all Arrays
	one, two := tensor.New(tensor.WithBacking([]float64{1})), tensor.New(tensor.WithBacking([]float64{2}))
	for _, name := range []string{"b", "a"} {
		if err := all.Add(name, one); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.Add("b", two); err == nil {
		t.Error("a name is taken twice")
	}
	if v, ok := all.Get("b"); !ok || v != one || !slices.Equal(all.Names, []string{"b", "a"}) {
		t.Errorf("array %v of %q", v, all.Names)
	}
	if v, ok := all.Get("c"); ok || v != nil {
		t.Errorf("array %v under a name that nobody has added", v)
	}
}
