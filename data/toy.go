package data

import (
	"bytes"
	_ "embed" // the points of Toy1D
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/data/npy"
)

// The set of [Toy] has ToySize examples, and its noise has the standard deviation ToyNoise.
const (
	ToySize  = 200
	ToyNoise = 0.2
)

// Toy returns a synthetic 1-D regression set of ToySize examples with a gap in
// the middle, where a model should be uncertain. The inputs x are uniform, in turn on
// [-4,-1.5] and on [1.5,4]; the targets are
//
//	y = ToyFunction(x) + ToyNoise e,  e ~ N(0,1) independently.
//
// The set depends on the seed alone: for each example in turn x, then e, are drawn from
// rand.NewPCG(seed, 0).
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
	return curve(x, y)
}

// ToyFunction is the noiseless function of [Toy], x sin(x).
func ToyFunction(x float64) float64 { return x * math.Sin(x) }

// Sine returns the synthetic set on which the VaLLA paper shows early stopping: 300 inputs
// x that are evenly spaced on [-2,2], with targets
//
//	y = sin(4x) + 0.1 e,  e ~ N(0,1) independently,
//
// where e is drawn from rand.NewPCG(0, 8) in the order of x. Examples with ½ < |x| < 1 are
// for training, those with |x| < ½ for validation, and all of them for testing.
func Sine() (train, validation, test *Set) {
	const n = 300
	rng := rand.New(rand.NewPCG(0, 8))
	x, y := make([]float64, n), make([]float64, n)
	var inner, outer []int
	for i := range x {
		x[i] = -2 + 4*float64(i)/(n-1)
		y[i] = math.Sin(4*x[i]) + 0.1*rng.NormFloat64()
		switch a := math.Abs(x[i]); {
		case a < 0.5:
			inner = append(inner, i)
		case a < 1:
			outer = append(outer, i)
		}
	}
	test = curve(x, y)
	return test.Rows(outer), test.Rows(inner), test
}

//go:embed toy1d/data.npy
var toy1D []byte

// Toy1D returns the 400 points of the one-dimensional regression of Izmailov, Maddox,
// Kirichenko, Garipov, Vetrov and Wilson (2019), in the order of their file. The program
// contains them; the file toy1d/LICENSE holds their licence (BSD-2-Clause).
func Toy1D() *Set {
	points, err := npy.Decode(bytes.NewReader(toy1D), "toy1d/data.npy")
	if err != nil {
		panic(fmt.Sprintf("data: %v", err)) // the file is part of the program
	}
	values, n := points.Float64s(), points.Shape()[0]
	x, y := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], y[i] = values[2*i], values[2*i+1]
	}
	return curve(x, y)
}

// curve returns a set with the single feature x and the target y.
func curve(x, y []float64) *Set {
	return &Set{Features: []string{"x"}, Targets: []string{"y"}, X: newMatrix(x, len(x), 1), Y: newMatrix(y, len(y), 1)}
}
