package data

import (
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/internal/dense"
)

// The set of [Toy] has toySize examples, and its noise has the standard deviation toyNoise.
const (
	toySize  = 200
	toyNoise = 0.2
)

// Toy returns a synthetic 1-D regression set of toySize examples with a gap in
// the middle, where a model should be uncertain. The inputs x are uniform, in turn on
// [-4,-1.5] and on [1.5,4]; the targets are
//
//	y = toyFunction(x) + toyNoise e,  e ~ N(0,1) independently.
//
// The set depends on the seed alone: for each example in turn x, then e, are drawn from
// rand.NewPCG(seed, 0).
func Toy(seed uint64) *Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, toySize), make([]float64, toySize)
	for i := range x {
		x[i] = 1.5 + 2.5*rng.Float64()
		if i%2 == 0 {
			x[i] = -x[i]
		}
		y[i] = toyFunction(x[i]) + toyNoise*rng.NormFloat64()
	}
	return curve(x, y)
}

// toyFunction is the noiseless function of [Toy], x sin(x).
func toyFunction(x float64) float64 { return x * math.Sin(x) }

// curve returns a set with the single feature x and the target y.
func curve(x, y []float64) *Set {
	return &Set{Features: []string{"x"}, Targets: []string{"y"}, X: dense.Of(x, len(x), 1), Y: dense.Of(y, len(y), 1)}
}
