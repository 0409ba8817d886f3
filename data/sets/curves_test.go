package sets

import (
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// Neighbours are h = 4/299 apart and lie at ±h/2, ±3h/2 and so on: 37 points on either
// side are nearer than 1/2 = 37.4 h, and 75 are nearer than 1 = 74.7 h. The
// mean square of the noise from 300 values has a relative standard deviation of
// sqrt(2/300) = 0.08; five of those are allowed.
func TestSine(t *testing.T) {
	train, validation, test := sineParts()
	if test.N() != 300 || train.N() != 76 || validation.N() != 74 {
		t.Errorf("%d, %d and %d points, want 76, 74 and 300", train.N(), validation.N(), test.N())
	}
	for i, x := range train.X.Float64s() {
		if a := math.Abs(x); a <= 0.5 || a >= 1 {
			t.Errorf("training input %d is %g", i, x)
		}
	}
	for i, x := range validation.X.Float64s() {
		if math.Abs(x) >= 0.5 {
			t.Errorf("validation input %d is %g", i, x)
		}
	}
	x, squares := test.X.Float64s(), 0.0
	if x[0] != -2 || x[299] != 2 || !slices.IsSorted(x) {
		t.Errorf("inputs from %g to %g, want -2 to 2 in order", x[0], x[299])
	}
	for i, y := range test.Y.Float64s() {
		e := y - math.Sin(4*x[i])
		squares += e * e
	}
	if got := squares / 300; math.Abs(got/0.01-1) > 0.4 {
		t.Errorf("the mean square of the noise is %g, want about 0.01", got)
	}
	if _, _, again := sineParts(); !slices.Equal(again.Y.Float64s(), test.Y.Float64s()) {
		t.Error("a second call gave another set")
	}
}

// The first of 400 points equals the first point of the authors' file.
func TestToy1D(t *testing.T) {
	s := toy1DPoints()
	x, y := s.X.Float64s(), s.Y.Float64s()
	if s.N() != 400 || x[0] != 1.1932435462532847 || y[0] != 0.70640653371810913 {
		t.Errorf("%d points, the first (%v, %v)", s.N(), x[0], y[0])
	}
	for i := range x {
		if !kernel.Finite(x[i]) || !kernel.Finite(y[i]) {
			t.Errorf("point %d is (%g, %g)", i, x[i], y[i])
		}
	}
	y[0] = 100
	if toy1DPoints().Y.Float64s()[0] == 100 {
		t.Error("a caller's change reached the next call")
	}
}

// What the program contains are the numbers of both files beside the module.
func TestFixtureToy1D(t *testing.T) {
	want := toy1DPoints()
	for _, name := range []string{"data.csv", "data.npy"} {
		table, err := data.ReadTable(fixture.Shared(t, "data", "toy1d", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := table.Set()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.X.Float64s(), want.X.Float64s()) || !slices.Equal(got.Y.Float64s(), want.Y.Float64s()) {
			t.Errorf("%s differs", name)
		}
	}
}
