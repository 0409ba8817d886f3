package data

import (
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/floats"
)

// flat returns n rows of d values that vary in few directions.
func flat(n, d, directions int) []float64 {
	r := rng(11)
	weights, basis := gaussians(n, directions, 5, r), gaussians(directions, d, 1, r)
	x := make([]float64, n*d)
	kernel.Gemm(false, false, n, d, directions, 1, weights, directions, basis, d, 0, x, d)
	return x
}

// Directions are orthonormal, and where rows vary in no others their coordinates have the same
// distances as the rows.
func TestDirectionsKeepDistances(t *testing.T) {
	const n, d, rank = 2 * sketchRows, 2*sketchValues + 5, 20
	x := flat(n, d, rank)
	q, ok := directions(x, n, d, rng(1))
	if !ok {
		t.Fatal("no directions")
	}
	y, room := make([]float64, n*sketchValues), make([]float64, 7)
	kernel.Gemm(false, false, n, sketchValues, d, 1, x, d, q, sketchValues, 0, y, sketchValues)
	for i := range n - 1 {
		got := kernel.SquaredDistance(y[i*sketchValues:(i+1)*sketchValues], y[(i+1)*sketchValues:(i+2)*sketchValues], room)
		want := kernel.SquaredDistance(x[i*d:(i+1)*d], x[(i+1)*d:(i+2)*d], room)
		if math.Abs(got-want) > 1e-9*want {
			t.Fatalf("rows %d and %d: squared distance %g of the sketch, %g of the rows", i, i+1, got, want)
		}
	}
	qq := make([]float64, sketchValues*sketchValues)
	kernel.Gemm(true, false, sketchValues, sketchValues, d, 1, q, sketchValues, q, sketchValues, 0, qq, sketchValues)
	for i, v := range qq {
		want := 0.0
		if i%sketchValues == i/sketchValues && i%sketchValues >= sketchValues-rank {
			want = 1
		}
		if math.Abs(v-want) > 1e-9 {
			t.Fatalf("product %d of directions is %g, want %g", i, v, want)
		}
	}
}

// K-means by a sketch ends where one more of the textbook's iterations changes nothing, and as low
// as without the sketch.
func TestKMeansBySketch(t *testing.T) {
	const n, d, k = 2 * sketchRows, 2 * sketchValues, 9
	x := gaussians(n, d, k, rng(3))
	o := kMeansOptions{iterations: 100, tolerance: 1e-12}
	if labels(o, x, d, k, rng(4)) == nil {
		t.Fatal("no sketch")
	}
	c, err := o.centers(dense.Of(slices.Clone(x), n, d), k, rng(4))
	if err != nil {
		t.Fatal(err)
	}
	if next := slowLloyd(t, x, c.Float64s(), d, 1); !floats.EqualApprox(next, c.Float64s(), 1e-10) {
		t.Errorf("one more iteration moves the centres by %g", floats.Distance(next, c.Float64s(), math.Inf(1)))
	}
	inertia := func(l *lloyd[float64]) float64 {
		if err := l.run(100, 1e-12); err != nil {
			t.Fatal(err)
		}
		return l.assign()
	}
	by := newLloyd(x, n, d, k)
	by.relabel(labels(o, x, d, k, rng(4)))
	by.update()
	plain := startedAt(x, n, d, start(KMeansPlusPlus, x, n, d, k, rng(4)))
	if got, want := inertia(by), inertia(plain); got > 1.01*want {
		t.Errorf("inertia %g by a sketch, %g without", got, want)
	}
}

// Where the sample misses what tells rows apart there is no sketch, and k-means finds it all the same.
func TestSketchMissesRows(t *testing.T) {
	const n, d, k = 20 * sketchRows, 2 * sketchValues, 4
	for _, init := range []KMeansInit{KMeansPlusPlus, RandomPoints} {
		x := make([]float64, n*d)
		for j := range k - 1 {
			x[(100*j+7)*d+j] = float64(j + 1)
		}
		if labels(kMeansOptions{init, 100, 1e-4}, x, d, k, rng(5)) != nil {
			t.Fatal("the sample has the rows: choose another seed")
		}
		c, err := KMeans(dense.Of(x, n, d), k, init, rng(5))
		if err != nil {
			t.Fatal(err)
		}
		if got := distinctRows(c.Float64s(), d, k); got != k || slices.Max(c.Float64s()) < k-1-1e-9 {
			t.Errorf("start %d: %d different centres, the largest value %g", init, got, slices.Max(c.Float64s()))
		}
	}
	x := dense.Of(slices.Repeat([]float64{1e200, -1e200}, n*d/2), n, d)
	x.Float64s()[0] = 0
	_, err := KMeans(x, 2, KMeansPlusPlus, rng(1))
	expectError(t, err, "k-means: ", "expected finite values")
}
