package data

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/dense"
)

// Columns 1,3,5,7 (mean 4, variance (9+1+1+9)/4 = 5) and the constant 0.1.
func TestStandardizerByHand(t *testing.T) {
	s, err := FitStandardizer(dense.Of([]float64{1, 0.1, 3, 0.1, 5, 0.1, 7, 0.1}, 4, 2))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Mean, []float64{4, 0.1}) || !slices.Equal(s.Std, []float64{math.Sqrt(5), 1}) {
		t.Errorf("mean %v, std %v, want [4 0.1], [sqrt(5) 1]", s.Mean, s.Std)
	}
}

// The mean of many equal numbers is often not that number: 0.1 added up ten
// times is 0.9999999999999999. Their mean must still be that number, so that the column becomes exactly 0.
func TestConstantColumns(t *testing.T) {
	for _, c := range []float64{0, 0.1, -1e-300, 1e300} {
		values := slices.Repeat([]float64{c}, 10)
		s, err := FitStandardizer(dense.Of(values, 10, 1))
		if err != nil {
			t.Fatal(err)
		}
		if s.Mean[0] != c || s.Std[0] != 1 {
			t.Errorf("constant %g: mean %g, std %g", c, s.Mean[0], s.Std[0])
		}
	}
}

// A column of any scale is a column, also where its squares underflow or overflow.
func TestScales(t *testing.T) {
	for _, scale := range []float64{5e-324, 1e-300, 1e-170, 1e-140, 1, 1e140, 1e170, 1e300} {
		values := []float64{-3 * scale, -scale, scale, 3 * scale}
		s, err := FitStandardizer(dense.Of(values, 4, 1))
		if err != nil {
			t.Fatal(err)
		}
		if want := math.Sqrt(5) * scale; math.Abs(s.Std[0]-want) > 1e-15*want+5e-324 {
			t.Errorf("scale %g: std %g, want %g", scale, s.Std[0], want)
		}
		if z := (values[3] - s.Mean[0]) / s.Std[0]; scale > 1e-310 && math.Abs(z-3/math.Sqrt(5)) > 1e-15 {
			t.Errorf("scale %g: the last value becomes %g", scale, z)
		}
	}
}

func TestStandardizerJSON(t *testing.T) {
	want := Standardizer{Mean: []float64{0.1, -2}, Std: []float64{1, 1.0 / 3}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); got != `{"mean":[0.1,-2],"std":[1,0.3333333333333333]}` {
		t.Errorf("JSON %s", got)
	}
	var got Standardizer
	if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Std, want.Std) {
		t.Errorf("back from JSON %v (%v), want %v", got, err, want)
	}
}

func TestStandardizerErrors(t *testing.T) {
	view, err := dense.Of([]float64{1, 2, 3, 4, 5, 6}, 2, 3).Slice(nil, tensor.S(0, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		x   *tensor.Dense
		say string
	}{
		{nil, "found nil"},
		{array([]int{2}, []float64{1, 2}), "found float64 of shape (2)"},
		{array([]int{1, 2}, []int32{1, 2}), "found int32 of shape (1, 2)"},
		{array([]int{2}, []float32{1, 2}), "expected a [N,D] float32 tensor, found float32 of shape (2)"},
		{view.(*tensor.Dense), "found a view"},
		{dense.Of([]float64{math.MaxFloat64, math.MaxFloat64, 0}, 3, 1), "column 0: mean +Inf"},
		{dense.Of([]float64{0, math.NaN()}, 2, 1), "column 0: mean NaN"},
	} {
		_, err := FitStandardizer(c.x)
		expectError(t, err, "standardize: ", c.say)
	}
}
