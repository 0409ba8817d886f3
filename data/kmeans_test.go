package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// sortedRows returns the rows of a matrix in lexical order.
func sortedRows(t *tensor.Dense) [][]float64 {
	rows := slices.Collect(slices.Chunk(t.Float64s(), t.Shape()[1]))
	slices.SortFunc(rows, slices.Compare)
	return rows
}

// Two pairs far apart: the centres are their middles, whatever the start.
func TestKMeansByHand(t *testing.T) {
	x := dense.Of([]float64{0, 0, 0, 2, 100, 10, 100, 14}, 4, 2)
	for _, init := range []KMeansInit{KMeansPlusPlus, RandomPoints} {
		for seed := range uint64(20) {
			c, err := KMeans(x, 2, init, rng(seed))
			if err != nil {
				t.Fatal(err)
			}
			got := sortedRows(c)
			if !c.Shape().Eq(tensor.Shape{2, 2}) || !floats.EqualApprox(got[0], []float64{0, 1}, 1e-12) || !floats.EqualApprox(got[1], []float64{100, 12}, 1e-12) {
				t.Errorf("start %d, seed %d: centres %v", init, seed, got)
			}
		}
	}
}

// k = 1 gives the mean, k = N the rows themselves.
func TestKMeansLimits(t *testing.T) {
	values := gaussians(30, 3, 4, rng(1))
	x := dense.Of(values, 30, 3)
	one, err := KMeans(x, 1, KMeansPlusPlus, rng(2))
	if err != nil {
		t.Fatal(err)
	}
	s, err := FitStandardizer(x)
	if err != nil {
		t.Fatal(err)
	}
	if !floats.EqualApprox(one.Float64s(), s.Mean, 1e-13) {
		t.Errorf("k=1: %v, want the mean %v", one.Data(), s.Mean)
	}
	all, err := KMeans(x, 30, RandomPoints, rng(2))
	if err != nil {
		t.Fatal(err)
	}
	want := sortedRows(x)
	for i, row := range sortedRows(all) {
		if !floats.EqualApprox(row, want[i], 1e-13) {
			t.Errorf("k=N: centre %v, want %v", row, want[i])
		}
	}
}

// startedAt is ready to run from rows as centres.
func startedAt[T kernel.Float](x []T, n, d int, rows []int) *lloyd[T] {
	l := newLloyd(x, n, d, len(rows))
	l.place(rows)
	return l
}

// slowLloyd is the algorithm as the textbook says it, from given centres and
// without empty clusters, which fail it.
func slowLloyd(t rapid.TB, x, centers []float64, d, iterations int) []float64 {
	for range iterations {
		sums, counts := make([]float64, len(centers)), make([]float64, len(centers)/d)
		for i := 0; i < len(x); i += d {
			best, at := math.Inf(1), 0
			for j := range counts {
				if v := floats.Distance(x[i:i+d], centers[j*d:(j+1)*d], 2); v < best {
					best, at = v, j
				}
			}
			floats.Add(sums[at*d:(at+1)*d], x[i:i+d])
			counts[at]++
		}
		for j, c := range counts {
			if c == 0 {
				t.Fatal("an empty cluster: choose another seed")
			}
			floats.Scale(1/c, sums[j*d:(j+1)*d])
		}
		centers = sums
	}
	return centers
}

// The fast iterations agree with the slow ones. There are more rows than one block has, and they
// are far away from the origin, where |x|^2-2x.c+|c|^2 would lose digits.
func TestLloydAgreesWithTheTextbook(t *testing.T) {
	const n, d, k, iterations = 2*blockRows + 77, 5, 7, 15
	for _, offset := range []float64{0, 1e9} {
		x := gaussians(n, d, 1, rng(3))
		floats.AddConst(offset, x)
		// Sums of 1e9 in a cluster of 160 rows round at 160*1e9*2^-53 = 2e-5 at
		// the worst; one row assigned elsewhere moves a centre by about 1e-2.
		agreesWithTheTextbook(t, x, d, k, iterations, 1e-4)
	}
	x := make([]float32, n*d)
	for i, v := range gaussians(n, d, 1, rng(3)) {
		x[i] = float32(v)
	}
	agreesWithTheTextbook(t, x, d, k, iterations, 1e-5)
}

func agreesWithTheTextbook[T kernel.Float](t *testing.T, x []T, d, k, iterations int, tolerance float64) {
	t.Helper()
	n, values := len(x)/d, make([]float64, len(x))
	for i, v := range x {
		values[i] = float64(v)
	}
	start := rng(4).Perm(n)[:k]
	centers := make([]float64, k*d)
	Gather(centers, values, d, start)
	want := slowLloyd(t, values, centers, d, iterations)
	l := startedAt(x, n, d, start)
	if err := l.run(iterations, -1); err != nil {
		t.Fatal(err)
	}
	if diff := floats.Distance(l.result(), want, math.Inf(1)); !(diff <= tolerance) {
		t.Errorf("%T, mean %g: centres differ by %g", x, l.mean, diff)
	}
}

// However the centres move, every row gets a nearest centre, and the sums stay the sums of the
// centres' rows.
func TestAssignFindsTheNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 60).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "d")
		k, random := rapid.IntRange(1, n).Draw(t, "k"), rng(rapid.Uint64().Draw(t, "seed"))
		x, start := gaussians(n, d, 2, random), make([]int, k) // repeats make empty clusters
		for j := range start {
			start[j] = random.IntN(n)
		}
		l := startedAt(x, n, d, start)
		for range 12 {
			l.assign()
			sums := make([]float64, k*d)
			for i, label := range l.label {
				row := floats.SubTo(make([]float64, d), l.row(i), l.mean)
				floats.Add(sums[label*d:(label+1)*d], row)
				own := floats.Distance(row, l.center(label), 2)
				for j := range k {
					if other := floats.Distance(row, l.center(j), 2); own > other+1e-12 {
						t.Fatalf("row %d has centre %d at %g, centre %d is at %g", i, label, own, j, other)
					}
				}
			}
			if !floats.EqualApprox(l.sums, sums, 1e-12) {
				t.Fatalf("sums %v, want %v", l.sums, sums)
			}
			l.refill()
			l.update()
		}
	})
}

// Any number of threads gives the same bits.
func TestKMeansThreads(t *testing.T) {
	defer kernel.SetThreads(0)
	const n, d = 3000, 400
	x := dense.Of(gaussians(n, d, 6, rng(6)), n, d)
	var want []float64
	for _, threads := range []int{1, 2, 5} {
		kernel.SetThreads(threads)
		if parts := kernel.Parts(n, n*d, partWork); threads > 1 && parts == 1 {
			t.Fatal("the test has too little work for threads")
		}
		c, err := KMeans(x, 12, KMeansPlusPlus, rng(7))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = c.Float64s()
		}
		if !slices.Equal(c.Float64s(), want) {
			t.Errorf("%d threads give other centres than one", threads)
		}
	}
}

// Rows of float32 have the centres of the same rows in float64.
func TestKMeansOfFloat32(t *testing.T) {
	values := gaussians(500, 10, 6, rng(6))
	narrow := make([]float32, len(values))
	for i, v := range values {
		narrow[i] = float32(v)
		values[i] = float64(narrow[i])
	}
	for _, init := range []KMeansInit{KMeansPlusPlus, RandomPoints} {
		want, err := KMeans(dense.Of(values, 500, 10), 8, init, rng(7))
		if err != nil {
			t.Fatal(err)
		}
		got, err := KMeans(tensor.New(tensor.WithShape(500, 10), tensor.WithBacking(narrow)), 8, init, rng(7))
		if err != nil {
			t.Fatal(err)
		}
		if !floats.EqualApprox(got.Float64s(), want.Float64s(), 1e-5) {
			t.Errorf("start %d: centres differ by %g", init, floats.Distance(got.Float64s(), want.Float64s(), math.Inf(1)))
		}
	}
}

// Rows on a small grid, so that many coincide and clusters become empty.
func TestInertiaNeverIncreases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(2, 40).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "d")
		x := make([]float64, n*d)
		for i, v := range rapid.SliceOfN(rapid.IntRange(-3, 3), n*d, n*d).Draw(t, "x") {
			x[i] = float64(v)
		}
		k := rapid.IntRange(1, distinctRows(x, d, n)).Draw(t, "k")
		start := rapid.SliceOfN(rapid.IntRange(0, n-1), k, k).Draw(t, "start") // may repeat: empty clusters
		l := startedAt(x, n, d, start)
		before := math.Inf(1)
		for range 10 {
			inertia := l.assign()
			// distances of at most (3*6)^2 per dimension, rounded at 2^-53 each
			if inertia > before+1e-10 {
				t.Fatalf("inertia rose from %g to %g", before, inertia)
			}
			before = inertia
			l.refill()
			l.update()
			if slices.Contains(l.counts, 0) {
				t.Fatalf("empty cluster: counts %v of %d distinct rows", l.counts, distinctRows(x, d, n))
			}
		}
	})
}

// Both kinds of first centres are k distinct rows.
func TestStartsAreDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		x := make([]float64, n)
		for i, v := range rapid.SliceOfN(rapid.IntRange(0, 20), n, n).Draw(t, "x") {
			x[i] = float64(v)
		}
		k := distinctRows(x, 1, n)
		init := rapid.SampledFrom([]KMeansInit{KMeansPlusPlus, RandomPoints}).Draw(t, "init")
		start := start(init, x, n, 1, k, rng(rapid.Uint64().Draw(t, "seed")))
		rows := make([]float64, k)
		Gather(rows, x, 1, start)
		if len(start) != k || distinctRows(rows, 1, k) != k {
			t.Fatalf("start %d: rows %v", init, rows)
		}
	})
}

// From weights 1, 0, 3 the third comes 3 times in 4: of 4000 draws 3000 with a
// standard deviation of sqrt(4000*3/4*1/4) = 27.4; five of those are allowed.
func TestDraw(t *testing.T) {
	counts := make([]int, 3)
	r := rng(5)
	for range 4000 {
		counts[draw([]float64{1, 0, 3}, r)]++
	}
	if counts[1] != 0 || math.Abs(float64(counts[2])-3000) > 5*27.4 {
		t.Errorf("counts %v, want about 1000, 0, 3000", counts)
	}
}

// The parts cover the rows once, whether one or several (GOMAXPROCS decides).
func TestParallelCovers(t *testing.T) {
	for _, c := range []struct{ n, width int }{{0, 1}, {5, 1}, {3, 1 << 20}, {1000, 1 << 14}} {
		seen := make([]int, c.n)
		parallel(c.n, c.width, func(from, to int) {
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		if slices.ContainsFunc(seen, func(v int) bool { return v != 1 }) {
			t.Errorf("parallel(%d, %d) visited %v", c.n, c.width, seen)
		}
	}
}

// The same source gives the same bits; x stays as it was.
func TestKMeansIsDeterministic(t *testing.T) {
	values := gaussians(3000, 10, 6, rng(6))
	x := dense.Of(slices.Clone(values), 3000, 10)
	for _, init := range []KMeansInit{KMeansPlusPlus, RandomPoints} {
		a, err := KMeans(x, 12, init, rng(7))
		if err != nil {
			t.Fatal(err)
		}
		b, err := KMeans(x, 12, init, rng(7))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Float64s(), b.Float64s()) {
			t.Errorf("start %d: two runs differ", init)
		}
	}
	if !slices.Equal(x.Float64s(), values) {
		t.Error("k-means changed its argument")
	}
}

// One iteration from k distinct rows equals one slow iteration.
func TestMaxIterations(t *testing.T) {
	values := gaussians(200, 2, 4, rng(8))
	x := dense.Of(values, 200, 2)
	got, err := kMeansOptions{init: RandomPoints, iterations: 1}.centers(x, 4, rng(9))
	if err != nil {
		t.Fatal(err)
	}
	centers := make([]float64, 8)
	Gather(centers, values, 2, randomPoints(values, 200, 2, 4, rng(9)))
	if want := slowLloyd(t, values, centers, 2, 1); !floats.EqualApprox(got.Float64s(), want, 1e-12) {
		t.Errorf("centres %v, want %v", got.Data(), want)
	}
}

func TestKMeansErrors(t *testing.T) {
	x := dense.Of([]float64{1, 2, 1, 2, 0, 0, math.Copysign(0, -1), 0}, 4, 2)
	for _, c := range []struct {
		x   *tensor.Dense
		k   int
		say string
	}{
		{x, 0, "0 centres of 4 rows"},
		{x, -3, "-3 centres of 4 rows"},
		{x, 5, "5 centres of 4 rows, expected 1 to 4"},
		{x, 3, "3 centres, but only 2 of the 4 rows are distinct"},
		{nil, 1, "found nil"},
		{array([]int{4}, []float64{1, 2, 3, 4}), 1, "shape (4)"},
		{dense.Of([]float64{1, math.NaN()}, 2, 1), 1, "expected finite values"},
		{dense.Of([]float64{1e200, -1e200, 0}, 3, 1), 2, "expected finite values"},
		{dense.Of([]float64{math.MaxFloat64, math.MaxFloat64, 0}, 3, 1), 2, "expected finite values"},
	} {
		for _, init := range []KMeansInit{KMeansPlusPlus, RandomPoints} {
			_, err := KMeans(c.x, c.k, init, rng(1))
			expectError(t, err, "k-means: ", c.say)
		}
	}
}

// If squared distances underflow to zero, k-means returns some centres and does not panic.
func TestKMeansTinyDistances(t *testing.T) {
	x := dense.Of([]float64{0, 1e-200, 2e-200, 3e-200}, 4, 1)
	c, err := KMeans(x, 3, KMeansPlusPlus, rng(1))
	if err != nil || c.Shape()[0] != 3 {
		t.Errorf("centres %v (%v), want three", c, err)
	}
}
