package data

import (
	"math"
	"math/rand/v2"
)

// The synthetic set of [Toy]: ToySize examples with noise of standard deviation
// ToyNoise.
const (
	ToySize  = 200
	ToyNoise = 0.2
)

// Toy returns a synthetic 1-D regression set of ToySize examples with a gap in
// the middle, where a model should be uncertain. Half of the inputs x are
// uniform on [-4,-1.5], half on [1.5,4], alternating; the targets are
//
//	y = ToyFunction(x) + ToyNoise e,  e ~ N(0,1) independently.
//
// The set is a function of the seed: for each example in turn x, then e, are
// drawn from rand.NewPCG(seed, 0).
func Toy(seed uint64) *Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, ToySize), make([]float64, ToySize)
	for i := range x {
		x[i] = 1.5 + 2.5*rng.Float64()
		if i%2 == 0 {
			x[i] = -x[i]
		}
		y[i] = ToyFunction(x[i]) + ToyNoise*rng.NormFloat64()
	}
	return &Set{
		Features: []string{"x"},
		Targets:  []string{"y"},
		X:        newMatrix(x, ToySize, 1),
		Y:        newMatrix(y, ToySize, 1),
	}
}

// ToyFunction is the noiseless function of [Toy], x sin(x).
func ToyFunction(x float64) float64 { return x * math.Sin(x) }
