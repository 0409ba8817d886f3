package data

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

const (
	sketchValues = 64               // of a row of a sketch
	sketchRows   = 4 * sketchValues // of the sample from which it gets its directions
	leastPart    = 1e-10            // eigenvalue over the largest one below which there is no direction
)

// labels groups the rows of x by k-means of a sketch of x. In the sketch a row consists of its
// coordinates in a few directions. labels returns nil if the rows are too few or too short for a
// sketch, and if the sketch has fewer than k groups.
func labels[T kernel.Float](o kMeansOptions, x []T, d, k int, rng *rand.Rand) []int {
	n := len(x) / d
	if n < 2*sketchRows || d < 2*sketchValues {
		return nil
	}
	q, ok := directions(x, n, d, rng)
	if !ok {
		return nil
	}
	y := make([]T, n*sketchValues)
	kernel.Gemm(false, false, n, sketchValues, d, 1, x, d, q, sketchValues, 0, y, sketchValues)
	if distinctRows(y, sketchValues, k) < k {
		return nil
	}
	l := newLloyd(y, n, sketchValues, k)
	l.place(start(o.init, y, n, sketchValues, k, rng))
	if l.run(o.iterations, o.tolerance) != nil || slices.Contains(l.counts, 0) {
		return nil
	}
	return l.label
}

// directions returns orthonormal directions in the columns of a matrix [d,sketchValues]: those
// in which a random sample of the rows varies most, its principal components. They are
// eigenvectors of the sample's Gram matrix, turned back by the sample. Where the sample varies
// in fewer directions the last columns are 0. ok is false where values overflow.
func directions[T kernel.Float](x []T, n, d int, rng *rand.Rand) (q []T, ok bool) {
	some := sample(x, d, rng.Perm(n)[:sketchRows])
	gram := make([]float64, sketchRows*sketchRows)
	kernel.Syrk(false, sketchRows, d, 1, some, d, 0, gram, sketchRows)
	if !kernel.Finite(kernel.Sum(gram)) {
		return nil, false
	}
	values, vectors, err := eigen.Largest(sketchRows, sketchValues, gram)
	if err != nil {
		return nil, false
	}
	for i := range vectors {
		if v := values[i%sketchValues]; v > leastPart*values[sketchValues-1] {
			vectors[i] /= math.Sqrt(v)
		} else {
			vectors[i] = 0
		}
	}
	wide := make([]float64, d*sketchValues)
	kernel.Gemm(true, false, d, sketchValues, sketchRows, 1, some, d, vectors, sketchValues, 0, wide, sketchValues)
	q = make([]T, len(wide))
	for i, v := range wide {
		q[i] = T(v)
	}
	return q, true
}

// sample returns rows of x [N,d] relative to their mean.
func sample[T kernel.Float](x []T, d int, rows []int) []float64 {
	out, mean := make([]float64, 0, len(rows)*d), make([]float64, d)
	for _, i := range rows {
		for j, v := range x[i*d : (i+1)*d] {
			out = append(out, float64(v))
			mean[j] += float64(v) / float64(len(rows))
		}
	}
	for row := range slices.Chunk(out, d) {
		kernel.Sub(row, row, mean)
	}
	return out
}
