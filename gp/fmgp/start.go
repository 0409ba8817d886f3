package fmgp

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

const (
	// inducingStream, pairStream and splitStream are the random streams of a seed.
	inducingStream = 2
	pairStream     = 3
	splitStream    = 8
	// maxPairs are the pairs of rows whose distances make the first length scale.
	maxPairs = 50_000
)

// inducing returns the first inducing inputs [M,…] and their outputs.
func (f *fitting) inducing() (z *tensor.Dense, class []int, err error) {
	rng := rand.New(rand.NewPCG(f.r.Seed, inducingStream))
	if f.s.Init != initRandomRows {
		return gp.KMeans(f.p, f.s.Inducing, kMeansInits[f.s.Init], rng)
	}
	rows := rng.Perm(f.p.Train.N())[:min(f.s.Inducing, f.p.Train.N())]
	some := f.p.Train.Rows(rows)
	if _, classes := f.p.Likelihood.(likelihood.Softmax); classes {
		return some.X, some.Labels(), nil
	}
	class = make([]int, len(rows))
	for i := range class {
		class[i] = i % f.p.Outputs()
	}
	return some.X, class, nil
}

// located returns inducing locations [M, D+E]: the inputs z [M,…] with the network's features
// there, so that both are of one point.
func (f *fitting) located(ctx context.Context, z *tensor.Dense) (*tensor.Dense, error) {
	at, err := f.post.network.points(ctx, z, f.r.Memory)
	if err != nil {
		return nil, err
	}
	return graph.Convert(at.wide(0, at.n()), f.p.Dtype()), nil
}

// lengthScale is the median heuristic √(median |x − x'|²/2) over random pairs of rows of
// x [N,…] that differ; 1 where none do.
func lengthScale(x *tensor.Dense, rng *rand.Rand) float64 {
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
	w, u, v := width(a), graph.Floats(a), graph.Floats(b)
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
