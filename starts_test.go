package valla

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// plane draws n rows of four features and y = a + sin(2b) + cd + 0.3 ε.
func plane(n int, seed uint64) *data.Set {
	const d = 4
	rng := rand.New(rand.NewPCG(seed, 3))
	x, y := make([]float64, n*d), make([]float64, n)
	for i := range y {
		row := x[i*d : (i+1)*d]
		for j := range row {
			row[j] = 4*rng.Float64() - 2
		}
		y[i] = row[0] + math.Sin(2*row[1]) + row[2]*row[3] + 0.3*rng.NormFloat64()
	}
	return &data.Set{Features: []string{"a", "b", "c", "d"}, Targets: []string{"y"}, X: denseOf(x, n, d), Y: denseOf(y, n, 1)}
}

// quadrants replaces the targets by three classes that depend on two features, a tenth of
// them by chance.
func quadrants(s *data.Set, seed uint64) *data.Set {
	rng, x := rand.New(rand.NewPCG(seed, 4)), s.X.Float64s()
	for i := range s.N() {
		class := 0.0
		if x[4*i] > 0 {
			class++
		}
		if x[4*i+1] > 0 {
			class++
		}
		if rng.Float64() < 0.1 {
			class = float64(rng.IntN(3))
		}
		s.Y.Float64s()[i] = class
	}
	return s
}

// TestStartsOfTables: on small tables, of numbers and of classes, a fit ends with the same
// error bars from wherever σ₀ starts: its NLL on new rows differs by less than its standard
// error, and σ₀ is not at its floor where the error bars help.
func TestStartsOfTables(t *testing.T) {
	seeds := uint64(1)
	if fixture.Long() {
		seeds = 3
	}
	for _, classes := range []bool{false, true} {
		for seed := range seeds {
			train, test := plane(135, seed), plane(1000, seed+100)
			if classes {
				train, test = quadrants(train, seed), quadrants(test, seed+100)
			}
			m, err := Train(t.Context(), train, TrainOptions{
				Network: Network{Hidden: []int{30, 30}}, Training: Training{Iterations: 600, WeightDecay: new(0.0), KeepLast: true}, Classes: classes, Seed: seed,
			})
			if err != nil {
				t.Fatal(err)
			}
			var first []float64
			for _, start := range []float64{1, 0.01, 100} {
				s := &vallagp.Settings{Inducing: 30, Iterations: 200, PriorStd: start}
				f := fit(t, m, train, FitOptions{Settings: s, Run: gp.Run{Seed: seed}})
				std := f.History[1].PriorStds[0]
				nlls := rowNLLs(t, f, test)
				t.Logf("classes %t, seed %d, from %g: NLL %.3f, of the network %.3f, σ₀ %.3g", classes, seed, start, kernel.Mean(nlls), kernel.Mean(rowNLLs(t, m, test)), std)
				if first == nil {
					first = nlls
				}
				if off := math.Abs(kernel.Mean(nlls) - kernel.Mean(first)); off > kernel.StandardError(first) {
					t.Errorf("classes %t, seed %d: NLL %.3f from %g, %.3f ± %.3f from 1", classes, seed, kernel.Mean(nlls), start, kernel.Mean(first), kernel.StandardError(first))
				}
				if std < 0.01 {
					t.Errorf("classes %t, seed %d: σ₀ = %g, as good as none", classes, seed, std)
				}
			}
		}
	}
}

// rowNLLs are the negative log-likelihoods of the rows of a set.
func rowNLLs(t *testing.T, m *Model, s *data.Set) []float64 {
	t.Helper()
	x, err := m.Task.Inputs.Apply(s.X, m.Dtype())
	if err != nil {
		t.Fatal(err)
	}
	j, err := m.judged(t.Context(), jury{x: x, y: s.Y})
	if err != nil {
		t.Fatal(err)
	}
	return j.nlls
}

// TestToyKeepsItsErrorBars: between the two halves of the toy set, where there are no rows, not
// even held out, a network is far off. A fit by default has error bars there for every seed.
func TestToyKeepsItsErrorBars(t *testing.T) {
	for seed := range uint64(5) {
		set := data.Toy(seed)
		m, err := Train(context.Background(), set, TrainOptions{Training: Training{Iterations: 1000}, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		f := fit(t, m, set, FitOptions{Settings: &vallagp.Settings{Inducing: 20, Iterations: 300}, Run: gp.Run{Seed: seed}})
		p := predict(t, f, denseOf([]float64{-0.5, 0, 0.5}, 3, 1))
		gap, noise := math.Sqrt(kernel.Mean(p.Latent)), f.NoiseStds()[0]
		t.Logf("seed %d: σ₀ %.3g, latent standard deviation in the gap %.3g, noise %.3g", seed, f.History[1].PriorStds[0], gap, noise)
		if gap < noise {
			t.Errorf("seed %d: in the gap the latent standard deviation is %g, below the noise %g", seed, gap, noise)
		}
	}
}
