package sets

import (
	"bytes"
	_ "embed" // the points of toy1DPoints
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/npy"
)

// sineParts returns the synthetic set on which the VaLLA paper shows early stopping: 300 inputs
// x that are evenly spaced on [-2,2], with targets
//
//	y = sin(4x) + 0.1 e,  e ~ N(0,1) independently,
//
// where e is drawn from rand.NewPCG(0, 8) in the order of x. Examples with ½ < |x| < 1 are
// for training, examples with |x| < ½ for validation, and all examples for testing.
func sineParts() (train, validation, test *data.Set) {
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
var toy1DFile []byte

// toy1DPoints returns the 400 points of the one-dimensional regression of Izmailov, Maddox,
// Kirichenko, Garipov, Vetrov and Wilson (2019), in the order of their file. The program
// contains them; the file toy1d/LICENSE holds their licence (BSD-2-Clause).
func toy1DPoints() *data.Set {
	points, err := npy.Decode(bytes.NewReader(toy1DFile), "toy1d/data.npy")
	if err != nil {
		panic(fmt.Sprintf("sets: %v", err)) // the file is part of the program
	}
	values, n := points.Float64s(), points.Shape()[0]
	x, y := make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], y[i] = values[2*i], values[2*i+1]
	}
	return curve(x, y)
}

// curve returns a set with the single feature x and the target y.
func curve(x, y []float64) *data.Set {
	return &data.Set{Features: []string{"x"}, Targets: []string{"y"}, X: dense.Of(x, len(x), 1), Y: dense.Of(y, len(y), 1)}
}
