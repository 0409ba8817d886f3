package data

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// A KMeansInit is a way to choose the first centres of k-means.
type KMeansInit int

const (
	// KMeansPlusPlus draws each centre from the rows with probabilities
	// proportional to the squared distance from the centres so far (Arthur and
	// Vassilvitskii 2007).
	KMeansPlusPlus KMeansInit = iota
	// RandomPoints draws k distinct rows uniformly.
	RandomPoints
)

// KMeans returns k centres [k,D], float64, of the rows of x [N,D], float32 or float64, by Lloyd's
// algorithm (1982): every row goes to its nearest centre, every centre moves to
// the mean of its rows. The algorithm ends after 100 iterations, or once an iteration reduces the
// sum of squared distances by no more than 0.01 %. The first centres are chosen by init.
// A centre without rows moves to the row that is farthest
// from its own. The same x, k and state of rng give the same centres, on any number of threads.
//
// Many rows of many values are first grouped by their coordinates in the main directions of a
// sample of rows. The means of these groups are the first centres of all values. The bounds of
// iterations hold for both.
//
// It is an error if k is not between 1 and the number of distinct rows, and if
// values are not finite or so large that squared distances overflow.
func KMeans(x *tensor.Dense, k int, init KMeansInit, rng *rand.Rand) (*tensor.Dense, error) {
	return kMeansOptions{init, 100, 1e-4}.centers(x, k, rng)
}

// kMeansOptions says how to run k-means.
type kMeansOptions struct {
	init       KMeansInit // how the first centres are chosen
	iterations int        // bounds the number of Lloyd's iterations
	// tolerance ends the iterations once one reduces the sum of squared
	// distances by no more than this fraction.
	tolerance float64
}

// centers is KMeans with any options.
func (o kMeansOptions) centers(x *tensor.Dense, k int, rng *rand.Rand) (*tensor.Dense, error) {
	if x != nil && x.Dtype() == tensor.Float32 {
		return lloydCenters[float32](o, x, k, rng)
	}
	return lloydCenters[float64](o, x, k, rng)
}

func lloydCenters[T kernel.Float](o kMeansOptions, x *tensor.Dense, k int, rng *rand.Rand) (*tensor.Dense, error) {
	if err := checkMatrix("k-means", x, tensor.Dtype{Type: reflect.TypeFor[T]()}); err != nil {
		return nil, err
	}
	values, n, d := x.Data().([]T), x.Shape()[0], x.Shape()[1]
	if k < 1 || k > n {
		return nil, fmt.Errorf("k-means: %d centres of %d rows, expected 1 to %d centres", k, n, n)
	}
	if distinct := distinctRows(values, d, k); distinct < k {
		return nil, fmt.Errorf("k-means: %d centres, but only %d of the %d rows are distinct", k, distinct, n)
	}
	l := newLloyd(values, n, d, k)
	if label := labels(o, values, d, k, rng); label != nil {
		l.relabel(label)
		l.update()
	} else {
		l.place(start(o.init, values, n, d, k, rng))
	}
	if err := l.run(o.iterations, o.tolerance); err != nil {
		return nil, err
	}
	return dense.Of(l.result(), k, d), nil
}

// start returns the rows that are the first centres.
func start[T kernel.Float](init KMeansInit, x []T, n, d, k int, rng *rand.Rand) []int {
	if init == RandomPoints {
		return randomPoints(x, n, d, k, rng)
	}
	return plusPlus(x, n, d, k, rng)
}

// randomPoints returns the first k distinct rows in a random order. At least k rows must
// be distinct.
func randomPoints[T kernel.Float](x []T, n, d, k int, rng *rand.Rand) []int {
	rows, seen := make([]int, 0, k), newRowSet[T]()
	for _, i := range rng.Perm(n) {
		if seen.add(x[i*d : (i+1)*d]) {
			rows = append(rows, i)
		}
		if len(rows) == k {
			break
		}
	}
	return rows
}

// plusPlus returns k rows chosen as k-means++ does.
func plusPlus[T kernel.Float](x []T, n, d, k int, rng *rand.Rand) []int {
	rows := []int{rng.IntN(n)}
	nearest := make([]float64, n) // squared distance to the nearest chosen row
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	for len(rows) < k {
		last := rows[len(rows)-1]
		c := x[last*d : (last+1)*d]
		parallel(n, d, func(from, to int) {
			room := make([]T, kernel.DistanceRoom(d))
			for i := from; i < to; i++ {
				nearest[i] = min(nearest[i], kernel.SquaredDistance(x[i*d:(i+1)*d], c, room))
			}
		})
		rows = append(rows, draw(nearest, rng))
	}
	return rows
}

// draw returns an index with a probability proportional to its weight. It returns an index
// of weight zero only if all weights are zero.
func draw(weights []float64, rng *rand.Rand) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	left, last := rng.Float64()*total, 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = i // where rounding leaves a rest at the end
		if left -= w; left < 0 {
			break
		}
	}
	return last
}

// Distinct counts the different rows of x [N,D], float32 or float64. It stops at limit.
func Distinct(x *tensor.Dense, limit int) int {
	if v, ok := x.Data().([]float32); ok {
		return distinctRows(v, x.Shape()[1], limit)
	}
	return distinctRows(x.Float64s(), x.Shape()[1], limit)
}

// distinctRows counts the different rows of x, which have d values each. It stops at limit.
func distinctRows[T kernel.Float](x []T, d, limit int) int {
	seen := newRowSet[T]()
	for i := 0; i < len(x) && len(seen.rows) < limit; i += d {
		seen.add(x[i : i+d])
	}
	return len(seen.rows)
}

// A rowSet holds different rows.
type rowSet[T kernel.Float] struct {
	rows map[string]struct{} // the rows' bits
	key  []byte              // memory for the bits of a row
}

func newRowSet[T kernel.Float]() *rowSet[T] { return &rowSet[T]{rows: map[string]struct{}{}} }

// add puts row into the set and says whether it is new. -0 equals 0.
func (s *rowSet[T]) add(row []T) bool {
	s.key = s.key[:0]
	for _, v := range row {
		s.key = binary.LittleEndian.AppendUint64(s.key, math.Float64bits(float64(v)+0))
	}
	if _, ok := s.rows[string(s.key)]; ok {
		return false
	}
	s.rows[string(s.key)] = struct{}{}
	return true
}
