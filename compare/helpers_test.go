package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"

	"gorgonia.org/tensor"
)

func dense(v []float64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

// wave returns n examples of y = 5 + 2 sin(a) + b/50 + noise of standard deviation 0.2 (in
// units of y), with b in hundreds, so that scaling matters.
func wave(n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	x, y := make([]float64, 2*n), make([]float64, n)
	for i := range y {
		a, b := 6*rng.Float64()-3, 100+50*rng.NormFloat64()
		x[2*i], x[2*i+1] = a, b
		y[i] = 5 + 2*math.Sin(a) + b/50 + 0.2*rng.NormFloat64()
	}
	return &data.Set{Features: []string{"a", "b"}, Targets: []string{"y"}, X: dense(x, n, 2), Y: dense(y, n, 1)}
}

// thirds is wave with a class for each third of the values: 1, 2 and 4.
func thirds(n int, seed uint64) *data.Set {
	set := wave(n, seed)
	y := set.Y.Float64s()
	sorted := slices.Sorted(slices.Values(y))
	for i, v := range y {
		switch {
		case v < sorted[n/3]:
			y[i] = 1
		case v < sorted[2*n/3]:
			y[i] = 2
		default:
			y[i] = 4
		}
	}
	return set
}

// quickTrain takes a third of a second.
func quickTrain() valla.TrainOptions {
	return valla.TrainOptions{Network: valla.Network{Hidden: []int{10}}, Training: valla.Training{Iterations: 600, BatchSize: 50}}
}

// trained returns the network of quickTrain on 200 rows of wave.
func trained(t testing.TB) (*valla.Model, *data.Set) {
	t.Helper()
	set := wave(200, 1)
	m, err := valla.Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	return m, set
}

func fit(t testing.TB, m *valla.Model, set *data.Set, o valla.FitOptions) *valla.Model {
	t.Helper()
	f, err := m.Fit(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func calibrated(t testing.TB, m *valla.Model, set *data.Set, how string) *valla.Model {
	t.Helper()
	c, err := m.Calibrate(t.Context(), set, valla.CalibrateOptions{Method: how})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
