package experiments

import (
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"gorgonia.org/tensor"
)

// newRand is the random source of one purpose, given by stream.
func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// column is v as a matrix [n,1].
func column(v []float64) *tensor.Dense {
	return tensor.New(tensor.WithShape(len(v), 1), tensor.WithBacking(v))
}

// linspace returns n points from a to b, both included.
func linspace(a, b float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = a + (b-a)*float64(i)/float64(n-1)
	}
	return out
}

// around is a grid over the data's range and a fraction of it on either side.
func around(x []float64, fraction float64, n int) []float64 {
	low, high := slices.Min(x), slices.Max(x)
	room := fraction * (high - low)
	return linspace(low-room, high+room, n)
}

// someRows returns x, or so many of its rows at random.
func someRows(x *tensor.Dense, most int, rng *rand.Rand) *tensor.Dense {
	n := x.Shape()[0]
	if n <= most {
		return data.TakeRows(x, iota(n))
	}
	return data.TakeRows(x, rng.Perm(n)[:most])
}

// iota is 0 … n−1.
func iota(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}
