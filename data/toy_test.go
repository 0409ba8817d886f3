package data

import (
	"math"
	"slices"
	"testing"
)

func TestToy(t *testing.T) {
	s, again, other := Toy(1), Toy(1), Toy(2)
	if !slices.Equal(s.X.Float64s(), again.X.Float64s()) || !slices.Equal(s.Y.Float64s(), again.Y.Float64s()) {
		t.Error("the same seed gave another set")
	}
	if slices.Equal(s.X.Float64s(), other.X.Float64s()) {
		t.Error("another seed gave the same set")
	}
	left, squares := 0, 0.0
	for i, x := range s.X.Float64s() {
		if a := math.Abs(x); a < 1.5 || a > 4 {
			t.Errorf("input %g, want it in [-4,-1.5] or [1.5,4]", x)
		}
		if x < 0 {
			left++
		}
		e := s.Y.Float64s()[i] - toyFunction(x)
		squares += e * e
	}
	if s.N() != toySize || left != toySize/2 {
		t.Errorf("%d of %d inputs on the left", left, s.N())
	}
	// The estimate of the noise from 200 values has a relative standard
	// deviation of 1/sqrt(400) = 0.05; five of those are allowed.
	if got := math.Sqrt(squares / toySize); math.Abs(got/toyNoise-1) > 0.25 {
		t.Errorf("noise %g, want about %g", got, toyNoise)
	}
	if got := toyFunction(math.Pi / 2); got != math.Pi/2 {
		t.Errorf("toyFunction(pi/2) = %g, want pi/2", got)
	}
}
