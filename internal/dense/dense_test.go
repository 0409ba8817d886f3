package dense

import (
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
