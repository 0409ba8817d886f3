package law_test

import (
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/internal/fixture"
)

var near = fixture.Within

// ownScale returns a small h(x) of three features.
func ownScale() *law.OwnScale {
	return &law.OwnScale{
		Mean: []float64{0, 1, 2}, Inverse: []float64{1, 0.5, 0}, Linear: []float64{0.1, -0.2, 3}, Inputs: []int{0, 1, 2, 1, 1, 0},
		Slopes: []float64{1, -1, 0, 0.5, 0, 0}, Bias: []float64{0, 1}, Output: []float64{0.3, -0.4}, Offset: 0.05, Lowest: -1, Highest: 1.5,
	}
}

// numbers returns the numbers of a t, which a Law does not print.
func numbers(l law.Law) []float64 { return []float64{l.DoF, l.Scale, l.Skew} }
