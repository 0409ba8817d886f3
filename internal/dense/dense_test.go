package dense

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// TestConversions: both element types give the same float64 numbers, from any place on.
func TestConversions(t *testing.T) {
	wide := Of([]float64{1, 2, 3, 4, 5, 6}, 3, 2)
	narrow := tensor.New(tensor.WithShape(3, 2), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	if Bytes(wide) != 48 || Bytes(narrow) != 24 {
		t.Errorf("%d and %d bytes, want 48 and 24", Bytes(wide), Bytes(narrow))
	}
	for _, x := range []*tensor.Dense{wide, narrow} {
		got := make([]float64, 3)
		Copy(got, x, 2)
		if !slices.Equal(got, []float64{3, 4, 5}) {
			t.Errorf("%v: copied %v", x.Dtype(), got)
		}
		if got := AppendRows([]float64{9}, x, 2); !slices.Equal(got, []float64{9, 1, 2, 3, 4}) {
			t.Errorf("%v: appended %v", x.Dtype(), got)
		}
		part := Rows(x, 1, 3)
		if got := AppendRows(nil, part, 2); !part.Shape().Eq(tensor.Shape{2, 2}) || !slices.Equal(got, []float64{3, 4, 5, 6}) {
			t.Errorf("%v: rows of shape %v: %v", x.Dtype(), part.Shape(), got)
		}
	}
	Rows(wide, 1, 2).Float64s()[0] = 7
	if wide.Float64s()[2] != 7 {
		t.Error("rows are a copy, want the memory of the tensor")
	}
}

// TestPut: rows go to their place, in both element types, and the others stay.
func TestPut(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		src, dst := tensor.New(tensor.Of(dt), tensor.WithShape(4, 2)), tensor.New(tensor.Of(dt), tensor.WithShape(3, 2))
		for i := range 8 {
			if dt == tensor.Float32 {
				src.Float32s()[i] = float32(i)
			} else {
				src.Float64s()[i] = float64(i)
			}
		}
		Put(dst, 1, src, 2, 2)
		if got := AppendRows(nil, dst, 3); !slices.Equal(got, []float64{0, 0, 4, 5, 6, 7}) {
			t.Errorf("%v: %v", dt, got)
		}
	}
}

func TestIndices(t *testing.T) {
	if got := Indices(3); !slices.Equal(got, []int{0, 1, 2}) || len(Indices(0)) != 0 {
		t.Errorf("Indices(3) is %v and Indices(0) %v", got, Indices(0))
	}
}

func TestSpaced(t *testing.T) {
	for _, c := range []struct {
		n, most int
		want    []int
	}{{10, 5, []int{0, 2, 4, 6, 8}}, {3, 5, []int{0, 1, 2}}, {7, 2, []int{0, 3}}, {0, 3, []int{}}} {
		if got := Spaced(c.n, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%d of %d: %v, want %v", c.most, c.n, got, c.want)
		}
	}
	if got := UpTo(3, 2); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("%v", got)
	}
}

func TestOnes(t *testing.T) {
	if got := Ones([]bool{true, false, true}); !slices.Equal(got, []float64{1, 0, 1}) {
		t.Errorf("%v", got)
	}
}

// TestEpsilon: 1 + ε is the next number after 1, and 1 + ε/2 is 1.
func TestEpsilon(t *testing.T) {
	one, wide := float32(1), 1.0
	if e := float32(Epsilon(tensor.Float32)); math.Nextafter32(1, 2) != one+e {
		t.Errorf("float32: %g", e)
	}
	if e := Epsilon(tensor.Float64); math.Nextafter(1, 2) != wide+e {
		t.Errorf("float64: %g", e)
	}
}
