package gp

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// maxPairs are the pairs of rows whose distances make a length scale.
const maxPairs = 50_000

// LengthScale is the median heuristic √(median |x − x'|²/2) over random pairs of rows of x
// [N,…] that differ; 1 where none do.
func LengthScale(x *tensor.Dense, rng *rand.Rand) float64 {
	n := x.Shape()[0]
	if n < 2 {
		return 1
	}
	const block = 500
	var squares []float64
	rows, others := make([]int, block), make([]int, block)
	for range maxPairs / block {
		for i := range rows {
			rows[i], others[i] = rng.IntN(n), rng.IntN(n-1)
			if others[i] >= rows[i] {
				others[i]++
			}
		}
		squares = append(squares, distances(data.TakeRows(x, rows), data.TakeRows(x, others))...)
	}
	return medianScale(squares)
}

// distances are the squared distances of the rows of a and b [n,…].
func distances(a, b *tensor.Dense) []float64 {
	u, v := graph.Floats(a), graph.Floats(b)
	w := len(u) / a.Shape()[0]
	out := make([]float64, len(u)/w)
	for i := range u {
		out[i/w] += (u[i] - v[i]) * (u[i] - v[i])
	}
	return out
}

// medianScale is √(median/2) of the squares that are not 0, of which an even number has the
// lower median; 1 where there are none.
func medianScale(squares []float64) float64 {
	squares = slices.DeleteFunc(slices.Clone(squares), func(v float64) bool { return v == 0 })
	if len(squares) == 0 {
		return 1
	}
	slices.Sort(squares)
	return math.Sqrt(squares[(len(squares)-1)/2] / 2)
}
