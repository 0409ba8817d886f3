package gp

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// maxCentred bounds the rows of which k-means takes the centres.
const maxCentred = 50_000

// KMeans returns first inducing points for a problem by k-means of its training inputs:
// locations z [M,…] of the problem's element type, and the one output that each of them
// carries, class [M].
//
// With classes, each of the C classes has its share of the m points, centres of its own
// rows. With C numbers each output has its share of the points, centres of all rows. A share
// is at least one point. Where there are fewer different inputs than points asked for, M is
// smaller than m.
func KMeans(p Problem, m int, init data.KMeansInit, rng *rand.Rand) (z *tensor.Dense, class []int, err error) {
	if m < 1 {
		return nil, nil, fmt.Errorf("gp: %d inducing points, expected at least 1", m)
	}
	rows, c := groups(p), p.Outputs()
	var centres []float64
	for k := range c {
		if rows(k) == nil {
			continue // the training rows have none of this class
		}
		of, err := centred(p.Train.X, rows(k), max(1, (m+c-1-k)/c), init, rng)
		if err != nil {
			return nil, nil, fmt.Errorf("gp: inducing points of output %d: %w", k, err)
		}
		centres = append(centres, of.Float64s()...)
		class = append(class, slices.Repeat([]int{k}, of.Shape()[0])...)
	}
	shape := p.Train.X.Shape().Clone()
	shape[0] = len(class)
	return graph.Convert(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(centres)), p.Dtype()), class, nil
}

// groups returns the training rows of which the points of an output are centres.
func groups(p Problem) func(output int) []int {
	all := make([]int, p.Train.N())
	for i := range all {
		all[i] = i
	}
	if _, ok := p.Likelihood.(likelihood.Softmax); !ok {
		return func(int) []int { return all }
	}
	of := make([][]int, p.Outputs())
	for i, k := range p.Train.Labels() {
		of[k] = append(of[k], i)
	}
	return func(k int) []int { return of[k] }
}

// centred returns m centres [m,D] of some rows of x [N,…], or as many as there are
// different rows.
func centred(x *tensor.Dense, rows []int, m int, init data.KMeansInit, rng *rand.Rand) (*tensor.Dense, error) {
	if n := len(rows); n > maxCentred {
		some := make([]int, maxCentred)
		for i, k := range rng.Perm(n)[:maxCentred] {
			some[i] = rows[k]
		}
		rows = some
	}
	part := graph.Convert(data.TakeRows(x, rows), tensor.Float64)
	if err := part.Reshape(len(rows), part.Shape().TotalSize()/len(rows)); err != nil {
		return nil, err
	}
	return data.KMeans(part, distinct(part, m), init, rng)
}

// distinct counts the different rows of x [N,D], up to limit.
func distinct(x *tensor.Dense, limit int) int {
	seen := map[string]bool{}
	var key []byte
	for row := range slices.Chunk(x.Float64s(), x.Shape()[1]) {
		key = key[:0]
		for _, v := range row {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v+0)) // -0 is 0
		}
		if seen[string(key)] = true; len(seen) == limit {
			break
		}
	}
	return len(seen)
}

// SampleRows returns rows of x [N,…] drawn without repetition: most of them at most, all in
// their order where there are no more.
func SampleRows(x *tensor.Dense, most int, rng *rand.Rand) *tensor.Dense {
	n := x.Shape()[0]
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	if n > most {
		rows = rng.Perm(n)[:most]
	}
	return data.TakeRows(x, rows)
}
