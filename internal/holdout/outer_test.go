package holdout_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/holdout"
)

// TestOuter: the outer rows are those that are farthest out along the component that gonum finds.
func TestOuter(t *testing.T) {
	const n, d = 200, 4
	r := rand.New(rand.NewPCG(1, 1))
	x, z := mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	for i := range n {
		a := r.NormFloat64()
		x.SetRow(i, []float64{a + 0.3*r.NormFloat64(), 1e6 * (a + r.NormFloat64()), 7, r.NormFloat64() * 1e-3})
	}
	for j := range d {
		column := mat.Col(nil, j, x)
		mean, std := stat.PopMeanStdDev(column, nil)
		for i, v := range column {
			if std > 0 {
				z.Set(i, j, (v-mean)/std)
			}
		}
	}
	var pc stat.PC
	if !pc.PrincipalComponents(z, nil) {
		t.Fatal("no components")
	}
	var vectors, scores mat.Dense
	pc.VectorsTo(&vectors)
	scores.Mul(z, vectors.Slice(0, d, 0, 1))
	away := mat.Col(nil, 0, &scores)
	for i, v := range away {
		away[i] = math.Abs(v)
	}
	bound := slices.Sorted(slices.Values(away))[n-n/10]

	y := make([]float64, n)
	for i := range y {
		y[i] = float64(i)
	}
	set := &data.Set{Features: []string{"a", "b", "c", "d"}, Targets: []string{"y"},
		X: tensor.New(tensor.WithShape(n, d), tensor.WithBacking(x.RawMatrix().Data)), Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
	inner, outer, err := holdout.Outer(set, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if inner.N() != n-n/10 || outer.N() != n/10 {
		t.Fatalf("%d inner and %d outer rows", inner.N(), outer.N())
	}
	for want, part := range map[bool]*data.Set{true: outer, false: inner} {
		rows := part.Y.Float64s()
		if !slices.IsSorted(rows) {
			t.Error("the rows have changed their order")
		}
		for _, i := range rows {
			if got := away[int(i)] >= bound; got != want {
				t.Errorf("row %g lies %g out, and the bound is %g", i, away[int(i)], bound)
			}
		}
	}
	if _, _, err := holdout.Outer(set.Rows([]int{0, 1, 2, 3}), 0.1); err == nil || err.Error() != "a share of 0.1 of 4 rows leaves no outer or no inner rows" {
		t.Errorf("error %v of four rows", err)
	}
	clear(set.X.Float64s())
	if _, _, err := holdout.Outer(set, 0.1); err == nil {
		t.Error("rows that are all alike have outer rows")
	}
}
