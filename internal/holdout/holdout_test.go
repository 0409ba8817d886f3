package holdout

import (
	"errors"
	"slices"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/settings"
)

// counted is a set of n rows, whose inputs are their numbers.
func counted(n int) *data.Set {
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	dense := func(v []float64) *tensor.Dense { return tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(v)) }
	return &data.Set{Features: []string{"x"}, Targets: []string{"y"}, X: dense(x), Y: dense(y)}
}

// together returns the inputs of sets, sorted.
func together(sets ...*data.Set) (all []float64) {
	for _, s := range sets {
		all = append(all, s.X.Float64s()...)
	}
	slices.Sort(all)
	return all
}

// TestDivisions: each row is on one side of a division, a seed gives the same division again, and the sides are as
// large as they should be.
func TestDivisions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, seed := rapid.IntRange(20, 300).Draw(t, "rows"), rapid.Uint64().Draw(t, "seed")
		set := counted(n)
		a, b := Halves(set, seed)
		if !slices.Equal(together(a, b), together(set)) || a.N()-b.N() != n%2 {
			t.Fatalf("halves of %d and %d rows of %d", a.N(), b.N(), n)
		}
		if !slices.IsSorted(a.X.Float64s()) || !slices.IsSorted(b.X.Float64s()) {
			t.Fatalf("halves %v and %v are not in the order of the set", a.X, b.X)
		}
		if c, _ := Halves(set, seed); !slices.Equal(c.X.Float64s(), a.X.Float64s()) {
			t.Fatal("the same seed gives other halves")
		}
		fraction := rapid.Float64Range(0.1, 0.9).Draw(t, "fraction")
		train, held, err := Split(set, fraction, seed)
		if err != nil || !slices.Equal(together(train, held), together(set)) {
			t.Fatalf("a fraction %g of %d rows: error %v", fraction, n, err)
		}
		if off := float64(held.N()) - fraction*float64(n); off < -1 || off > 1 {
			t.Fatalf("%d of %d rows held out by the fraction %g", held.N(), n, fraction)
		}
	})
}

func TestSplitErrors(t *testing.T) {
	set := counted(5)
	for _, fraction := range []float64{-0.1, 1, 2} {
		if _, _, err := Split(set, fraction, 1); !errors.Is(err, settings.ErrSetting) {
			t.Errorf("fraction %g: error %v", fraction, err)
		}
	}
	if _, _, err := Split(set, 0.01, 1); err == nil {
		t.Error("a hundredth of 5 rows is held out")
	}
	if train, held, err := Split(set, 0, 1); err != nil || held != nil || train != set {
		t.Errorf("nothing held out: %v, %v, error %v", train, held, err)
	}
	if rows, held, err := Indices(2*Most, 0.9, 1); err != nil || len(held) != Most || len(rows) != Most {
		t.Errorf("%d rows held out, error %v", len(held), err)
	}
}
