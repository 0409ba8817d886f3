package kernel

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// Mean and StandardError equal gonum's. The standard error of one number is the number's size.
func TestMeanAndStandardError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 40).Draw(t, "v")
		mean, std := stat.MeanStdDev(v, nil)
		if math.Abs(Mean(v)-mean) > 1e-10 {
			t.Errorf("mean %g, want %g", Mean(v), mean)
		}
		want := std / math.Sqrt(float64(len(v)))
		if len(v) == 1 {
			want = math.Abs(v[0])
		}
		if math.Abs(StandardError(v)-want) > 1e-10 {
			t.Errorf("standard error %g, want %g", StandardError(v), want)
		}
	})
}

// TestMeanDifference: the mean difference does not depend on what both vectors share, and its error falls with the
// root of the number of rows.
func TestMeanDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		a := rapid.SliceOfN(rapid.Float64Range(-5, 5), n, n).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Float64Range(-5, 5), n, n).Draw(t, "b")
		shift := rapid.Float64Range(-9, 9).Draw(t, "shift")
		mean, by := MeanDifference(a, b)
		for i := range a {
			a[i], b[i] = a[i]+shift, b[i]+shift
		}
		again, same := MeanDifference(a, b)
		back, mirrored := MeanDifference(b, a)
		if math.Abs(again-mean) > 1e-9 || math.Abs(same-by) > 1e-9 || math.Abs(back+again) > 1e-12 || math.Abs(mirrored-same) > 1e-12 {
			t.Errorf("%g ± %g, shifted %g ± %g, mirrored %g ± %g", mean, by, again, same, back, mirrored)
		}
		_, twice := MeanDifference(slices.Concat(a, a), slices.Concat(b, b))
		if n := float64(n); math.Abs(twice*math.Sqrt((2*n-1)/(n-1))-same) > 1e-9 {
			t.Errorf("error %g of all rows twice, %g of the rows", twice, same)
		}
	})
}

// TestLeast: NaN is never the smallest number, wherever it stands.
func TestLeast(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		v    []float64
		want int
	}{{[]float64{3, 1, 2}, 1}, {[]float64{nan, 2, 1}, 2}, {[]float64{2, nan}, 0}, {[]float64{nan, nan}, 0}, {[]float64{inf, -inf, nan}, 1}} {
		if got := Least(c.v); got != c.want {
			t.Errorf("least of %v at %d, want %d", c.v, got, c.want)
		}
	}
}
