package laplace

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestUnits: the sum by the formula for unit vectors is the sum of the outer products, for weights and means of every kind.
func TestUnits(t *testing.T) {
	const count, c = 3, 5
	rng, l := rand.New(rand.NewPCG(1, 2)), &lambda{make([]float64, count*c), make([]float64, count*c)}
	rows, want := make([]float64, count*c*c), make([]float64, c*c)
	for i := range l.weights {
		l.weights[i], l.mean[i] = rng.Float64(), rng.NormFloat64()
	}
	for n := range count {
		for k := range c {
			rows[(n*c+k)*c+k] = 1
			for i := range c {
				for j := range c {
					a, b := rows[(n*c+k)*c+i]-l.mean[n*c+i], rows[(n*c+k)*c+j]-l.mean[n*c+j]
					want[i*c+j] += l.weights[n*c+k] * a * b
				}
			}
		}
	}
	if !units(rows, c, c) || units(rows, c, c+1) {
		t.Error("unit vectors are not found")
	}
	got := make([]float64, c*c)
	addUnits(got, make([]float64, 4*count*c), l, count, c)
	for i := range c {
		for j := range i + 1 {
			if math.Abs(got[i*c+j]-want[i*c+j]) > 1e-12 {
				t.Errorf("element %d, %d is %g, expected %g", i, j, got[i*c+j], want[i*c+j])
			}
		}
	}
	for _, at := range []int{0, 1, len(rows) - 1} {
		other := append([]float64(nil), rows...)
		other[at] += 0.5
		if units(other, c, c) {
			t.Errorf("rows with another element %d are taken for unit vectors", at)
		}
	}
}
