package tabular

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/dense"
)

// sets returns a set of n rows, with two features that vary and a constant one, in float64
// and, with the same values, in float32.
func sets(n int) (*data.Set, *data.Set) {
	rng := rand.New(rand.NewPCG(1, 0))
	x, y := make([]float64, 0, 3*n), make([]float64, n)
	x32, y32 := make([]float32, 0, 3*n), make([]float32, n)
	for i := range n {
		y32[i] = rng.Float32()
		y[i] = float64(y32[i])
		row := []float32{1000 + rng.Float32(), float32(rng.IntN(9)), 0.1}
		x32 = append(x32, row...)
		x = append(x, float64(row[0]), float64(row[1]), float64(row[2]))
	}
	names := []string{"a", "b", "c"}
	narrow := tensor.New(tensor.WithShape(n, 3), tensor.WithBacking(x32))
	target := tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y32))
	return &data.Set{Features: names, Targets: []string{"t"}, X: dense.Of(x, n, 3), Y: dense.Of(y, n, 1)},
		&data.Set{Features: names, Targets: []string{"t"}, X: narrow, Y: target}
}

// Standardizing in place gives what the slow way gives, with the jitter of the
// paper's code and moments of the training part alone.
func TestSplits(t *testing.T) {
	wide, _ := sets(50)
	raw, _ := sets(50)
	s, err := newSplits(wide, 30, 12)
	if err != nil {
		t.Fatal(err)
	}
	if s.Train.N() != 30 || s.Validation.N() != 12 || s.Test.N() != 8 {
		t.Fatalf("%d, %d and %d rows", s.Train.N(), s.Validation.N(), s.Test.N())
	}
	if err := s.standardize(); err != nil {
		t.Fatal(err)
	}
	fitted, err := data.FitStandardizer(dense.Rows(raw.X, 0, 30))
	if err != nil {
		t.Fatal(err)
	}
	for j := range fitted.Std {
		fitted.Std[j] += 1e-6
	}
	want, err := fitted.Apply(raw.X)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(wide.X.Float64s(), want.Float64s()) { // which the parts share
		t.Error("features differ from those standardized one by one")
	}
	mean, std := s.Targets.Mean[0], s.Targets.Std[0]
	for i, y := range raw.Y.Float64s() {
		if i < 30 {
			y = (y - mean) / std
		}
		if wide.Y.Float64s()[i] != y {
			t.Errorf("target %d is %g, want %g", i, wide.Y.Float64s()[i], y)
		}
	}
	expectError(t, s.standardize(), "splits: ", "already")
}

// The float32 set has the moments of the float64 one, and its values rounded.
func TestSplitsFloat32(t *testing.T) {
	wide, narrow := sets(40)
	a, errA := newSplits(wide, 20, 10)
	b, errB := newSplits(narrow, 20, 10)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if !slices.Equal(a.Inputs.Mean, b.Inputs.Mean) || !slices.Equal(a.Inputs.Std, b.Inputs.Std) || a.Targets.Std[0] != b.Targets.Std[0] {
		t.Errorf("moments %v and %v", a.Inputs, b.Inputs)
	}
	if errA, errB = a.standardize(), b.standardize(); errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	for i, v := range wide.X.Float64s() {
		if got := narrow.X.Float32s()[i]; got != float32(v) {
			t.Errorf("feature %d is %g, want %g", i, got, v)
		}
	}
}

func TestSplitsErrors(t *testing.T) {
	set, _ := sets(10)
	for _, c := range [][2]int{{0, 5}, {5, 0}, {5, 5}, {11, 1}, {1 << 62, 1 << 62}} {
		_, err := newSplits(set, c[0], c[1])
		expectError(t, err, "splits of ", "at least one in each, found 10 rows")
	}
	bad := &data.Standardizer{Mean: []float64{0}, Std: []float64{1}}
	expectError(t, bad.ApplyInPlace(set.X), "standardize: ", "expected 1 columns, found 3")
	expectError(t, bad.ApplyInPlace(nil), "standardize: ", "found nil")
	expectError(t, bad.ApplyInPlace(tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]int32{1, 2}))), "standardize: ", "found int32")
}
