package law

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/optimize"
)

// TestMinimized: the search takes the steps of gonum's, so that both find the same point, bit by bit: of quadratic functions, of curved
// valleys, and of functions that are infinite somewhere.
func TestMinimized(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 9))
		d := 2 + int(seed%3)
		start, centre, width := make([]float64, d), make([]float64, d), make([]float64, d)
		for j := range start {
			start[j], centre[j], width[j] = rng.NormFloat64(), rng.NormFloat64(), math.Exp(2*rng.NormFloat64())
		}
		curved, wall := rng.Float64(), 1+3*rng.Float64()
		f := func(x []float64) float64 {
			sum := 0.0
			for j, v := range x {
				if math.Abs(v-start[j]) > wall {
					return math.Inf(1)
				}
				before := curved * x[(j+1)%d]
				sum += width[j] * (v - centre[j] - before*before) * (v - centre[j] - before*before)
			}
			return sum
		}
		want, err := optimize.Minimize(optimize.Problem{Func: f}, start, &optimize.Settings{
			Converger: &optimize.FunctionConverge{Absolute: enough, Iterations: patience}, MajorIterations: mostSteps + 1,
		}, &optimize.NelderMead{SimplexSize: firstEdge})
		if err != nil {
			t.Fatal(err)
		}
		if got := minimized(f, start); got.f != want.F || !slices.Equal(got.x, want.X) {
			t.Errorf("%d: found %g at %v, expected %g at %v", seed, got.f, got.x, want.F, want.X)
		}
	}
}
