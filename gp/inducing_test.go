package gp

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// drawn is a problem of n random rows of a shape. Row i is of class i mod c.
func drawn(n, c int, dt tensor.Dtype, shape ...int) Problem {
	rng := rand.New(rand.NewPCG(3, 4))
	x, y := make([]float64, n*tensor.Shape(shape).TotalSize()), make([]float64, n*c)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range n {
		y[i*c+i%c] = 1
	}
	return Problem{
		Likelihood: likelihood.Softmax{},
		Train:      Examples{graph.Convert(floats(x, append([]int{n}, shape...)...), dt), graph.Convert(floats(y, n, c), dt)},
	}
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(5, 6)) }

// counts are the points of each output.
func counts(class []int) (n []int) {
	for _, k := range class {
		for len(n) <= k {
			n = append(n, 0)
		}
		n[k]++
	}
	return n
}

// The points are shared out equally among the outputs. The first outputs have one more where
// the number does not divide, and every output has at least one.
func TestKMeansShares(t *testing.T) {
	for _, c := range []struct {
		m, outputs int
		want       []int
	}{{6, 3, []int{2, 2, 2}}, {7, 3, []int{3, 2, 2}}, {8, 3, []int{3, 3, 2}}, {2, 3, []int{1, 1, 1}}, {5, 1, []int{5}}} {
		for _, l := range []likelihood.Likelihood{likelihood.Softmax{}, likelihood.NewGaussian(1, tensor.Float64)} {
			p := drawn(60, c.outputs, tensor.Float64, 2)
			p.Likelihood = l
			z, class, err := KMeans(p, c.m, false, data.KMeansPlusPlus, newRand())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(counts(class), c.want) || !slices.IsSorted(class) || !z.Shape().Eq(tensor.Shape{len(class), 2}) {
				t.Errorf("%d points for %d outputs: classes %v, locations %v", c.m, c.outputs, class, z.Shape())
			}
		}
	}
}

// TestKMeansManyOutputs: fewer points than the outputs of a regression, or than the classes of a coupled kernel, lie on
// outputs at even distances; other classes have one each.
func TestKMeansManyOutputs(t *testing.T) {
	p := drawn(300, 150, tensor.Float64, 2)
	if _, class, err := KMeans(p, 3, false, data.RandomPoints, newRand()); err != nil || len(class) != 150 || len(InducingPoints(p, 3, false)) != 150 {
		t.Errorf("classes: points of %v (%v)", class, err)
	}
	if _, class, err := KMeans(p, 3, true, data.RandomPoints, newRand()); err != nil || !slices.Equal(class, []int{49, 99, 149}) {
		t.Errorf("classes of a coupled kernel: points of %v (%v)", class, err)
	}
	p.Likelihood = likelihood.NewGaussian(1, tensor.Float64)
	if _, class, err := KMeans(p, 3, false, data.RandomPoints, newRand()); err != nil || !slices.Equal(class, []int{49, 99, 149}) || !slices.Equal(InducingPoints(p, 3, false), class) {
		t.Errorf("regression: points of %v (%v)", class, err)
	}
}

// In classification the centres are data.KMeans's centres of the rows of the class. In regression
// the centres are data.KMeans's centres of all rows. Inputs keep their shape and element type.
func TestKMeansCentres(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		p := drawn(40, 2, dt, 1, 2, 3)
		z, class, err := KMeans(p, 6, false, data.RandomPoints, newRand())
		if err != nil {
			t.Fatal(err)
		}
		if z.Dtype() != dt || !z.Shape().Eq(tensor.Shape{6, 1, 2, 3}) {
			t.Errorf("locations of shape %v and type %v", z.Shape(), z.Dtype())
		}
		rng, want := newRand(), []float64(nil)
		for k := range 2 {
			var rows []int
			for i := k; i < 40; i += 2 {
				rows = append(rows, i)
			}
			of := data.TakeRows(p.Train.X, rows)
			if err := of.Reshape(20, 6); err != nil {
				t.Fatal(err)
			}
			centres, err := data.KMeans(of, 3, data.RandomPoints, rng)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, centres.Float64s()...)
		}
		if got := graph.Floats(graph.Convert(floats(want, 36), dt)); !slices.Equal(graph.Floats(z), got) || !slices.Equal(class, []int{0, 0, 0, 1, 1, 1}) {
			t.Errorf("%v: locations %v of %v, want %v", dt, z, class, got)
		}
		again, _, err := KMeans(p, 6, false, data.RandomPoints, newRand())
		if err != nil || !slices.Equal(graph.Floats(again), graph.Floats(z)) {
			t.Errorf("the same seed gives other locations (%v)", err)
		}
	}
	p := drawn(40, 1, tensor.Float64, 2)
	p.Likelihood = likelihood.NewGaussian(1, tensor.Float64)
	z, class, err := KMeans(p, 5, false, data.KMeansPlusPlus, newRand())
	if err != nil {
		t.Fatal(err)
	}
	want, err := data.KMeans(p.Train.X, 5, data.KMeansPlusPlus, newRand())
	if err != nil || !slices.Equal(z.Float64s(), want.Float64s()) || !slices.Equal(class, make([]int, 5)) {
		t.Errorf("locations %v of %v, want %v (%v)", z, class, want, err)
	}
}

// Where there are fewer different rows than points, each is a point; a class without rows
// has none.
func TestKMeansFewRows(t *testing.T) {
	x := floats([]float64{1, 1, 0, 1, 1, 1, 2, 2}, 4, 2)
	p := Problem{Likelihood: likelihood.NewGaussian(1, tensor.Float64), Train: Examples{x, floats(make([]float64, 4), 4, 1)}}
	z, class, err := KMeans(p, 10, false, data.KMeansPlusPlus, newRand())
	if err != nil || len(class) != 3 {
		t.Fatalf("%v of %v, want the three different rows (%v)", z, class, err)
	}
	p.Likelihood = likelihood.Softmax{}
	p.Train.Y = floats([]float64{1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1}, 4, 3)
	z, class, err = KMeans(p, 9, false, data.KMeansPlusPlus, newRand())
	if err != nil || !slices.Equal(class, []int{0, 0, 2, 2}) {
		t.Errorf("%v of %v, want two points for the classes 0 and 2 (%v)", z, class, err)
	}
	if _, _, err := KMeans(p, 0, false, data.KMeansPlusPlus, newRand()); err == nil {
		t.Error("no points were taken")
	}
	// 0 and −0 are one place.
	if n := data.Distinct(floats([]float64{0, 1, minusZero(), 1, 0, 2}, 3, 2), 10); n != 2 {
		t.Errorf("%d different rows, want 2", n)
	}
	if n := data.Distinct(floats([]float64{1, 2, 3, 4}, 4, 1), 2); n != 2 {
		t.Errorf("counted to %d, want the limit", n)
	}
}

// minusZero is −0, which a constant cannot be.
func minusZero() float64 {
	return math.Copysign(0, -1)
}

// Of very many rows k-means sees a random part.
func TestKMeansManyRows(t *testing.T) {
	n := maxCentred + 1000
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	p := Problem{Likelihood: likelihood.NewGaussian(1, tensor.Float64), Train: Examples{floats(x, n, 1), floats(make([]float64, n), n, 1)}}
	z, _, err := KMeans(p, 2, false, data.RandomPoints, newRand())
	if err != nil {
		t.Fatal(err)
	}
	v := slices.Sorted(slices.Values(z.Float64s()))
	if v[0] < float64(n)*0.2 || v[0] > float64(n)*0.3 || v[1] < float64(n)*0.7 || v[1] > float64(n)*0.8 {
		t.Errorf("centres %v of the numbers to %d", v, n)
	}
}

func TestSampleRows(t *testing.T) {
	x := make([]float64, 20)
	for i := range x {
		x[i] = float64(i)
	}
	in := floats(x, 10, 2)
	if all := SampleRows(in, 10, newRand()); !slices.Equal(all.Float64s(), x) {
		t.Errorf("all rows: %v", all)
	}
	part := SampleRows(in, 4, newRand())
	var first []float64
	for row := range slices.Chunk(part.Float64s(), 2) {
		if row[1] != row[0]+1 || int(row[0])%2 != 0 {
			t.Errorf("row %v is none of the inputs", row)
		}
		first = append(first, row[0])
	}
	slices.Sort(first)
	if !part.Shape().Eq(tensor.Shape{4, 2}) || len(slices.Compact(first)) != 4 {
		t.Errorf("rows from %v of shape %v, want four different ones", first, part.Shape())
	}
	if again := SampleRows(in, 4, newRand()); !slices.Equal(again.Float64s(), part.Float64s()) {
		t.Error("the same seed gives other rows")
	}
}
