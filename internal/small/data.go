package small

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
)

// Wave returns n examples of y = 5 + 2 sin(a) + b/50 + noise of standard deviation 0.2 (in
// units of y), with b in hundreds, so that scaling matters.
func Wave(n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, 2*n), make([]float64, n)
	for i := range y {
		a, b := 6*rng.Float64()-3, 100+50*rng.NormFloat64()
		x[2*i], x[2*i+1] = a, b
		y[i] = 5 + 2*math.Sin(a) + b/50 + 0.2*rng.NormFloat64()
	}
	return &data.Set{Features: []string{"a", "b"}, Targets: []string{"y"}, X: dense.Of(x, n, 2), Y: dense.Of(y, n, 1)}
}

// Thirds returns Wave with a class for each third of the values: 1, 2 and 4.
func Thirds(n int, seed uint64) *data.Set {
	set := Wave(n, seed)
	y := set.Y.Float64s()
	sorted := slices.Sorted(slices.Values(y))
	for i, v := range y {
		switch {
		case v < sorted[n/3]:
			y[i] = 1
		case v < sorted[2*n/3]:
			y[i] = 2
		default:
			y[i] = 4
		}
	}
	return set
}
