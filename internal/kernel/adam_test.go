package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A step agrees with the obvious loop in float64, for lengths with and without a tail.
func testAdam[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 3, 4, 7, 8, 9, 31, 100} {
		var arrays [4][]T
		for k := range arrays {
			arrays[k] = make([]T, n+1) // the last is a guard
			for i := range arrays[k] {
				arrays[k][i] = T(r.NormFloat64())
			}
		}
		theta, m, v, g := arrays[0], arrays[1], arrays[2], arrays[3]
		for i := range v {
			v[i] = v[i] * v[i]
		}
		c := AdamCoefficients[T]{Beta1: 0.9, Rest1: 0.1, Beta2: 0.99, Rest2: 0.01, Rate: 0.5, Unbias: 1.5, Eps: 1e-3, Coupled: 0.25, Keep: 0.75}
		want := [3][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
		for i := range n {
			x, d := float64(theta[i]), float64(g[i])+float64(c.Coupled)*float64(theta[i])
			mi := float64(c.Beta1)*float64(m[i]) + float64(c.Rest1)*d
			vi := float64(c.Beta2)*float64(v[i]) + float64(c.Rest2)*d*d
			want[0][i] = float64(c.Keep)*x - float64(c.Rate)*mi/(math.Sqrt(vi)*float64(c.Unbias)+float64(c.Eps))
			want[1][i], want[2][i] = mi, vi
		}
		guard := [3]T{theta[n], m[n], v[n]}
		Adam(theta[:n], m[:n], v[:n], g[:n], &c)
		if guard != [3]T{theta[n], m[n], v[n]} {
			t.Fatalf("%T, %d elements: written past the end", theta[0], n)
		}
		for k, name := range []string{"theta", "m", "v"} {
			for i, w := range want[k] {
				if got := float64(arrays[k][i]); math.Abs(got-w) > 20*epsilon[T]()*(1+math.Abs(w)) {
					t.Errorf("%T: %s %d of %d is %g, want %g", theta[0], name, i, n, got, w)
				}
			}
		}
	}
}

func TestAdam(t *testing.T) { bothTypes(t, testAdam[float32], testAdam[float64]) }

// Moments so small that they vanish leave the weight where it is.
func TestAdamVanishing(t *testing.T) {
	theta, m, v, g := []float32{2}, []float32{1e-40}, []float32{1e-42}, []float32{1e-25}
	Adam(theta, m, v, g, &AdamCoefficients[float32]{Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Rate: 1e-3, Unbias: 1, Eps: 1e-8, Keep: 1})
	if theta[0] != 2 || v[0] > 1e-42 || m[0] > 1e-25 {
		t.Errorf("θ %g, m %g, v %g", theta[0], m[0], v[0])
	}
}

func TestAdamLengths(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("moments that are too short were accepted")
		}
	}()
	Adam(make([]float64, 3), make([]float64, 3), make([]float64, 2), make([]float64, 3), &AdamCoefficients[float64]{})
}

func BenchmarkAdam(b *testing.B) {
	const n = 200_000
	theta, m, v, g := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range g {
		g[i] = float32(i%7) - 3
	}
	c := AdamCoefficients[float32]{Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Rate: 1e-3, Unbias: 1, Eps: 1e-8, Keep: 1}
	b.SetBytes(7 * 4 * n)
	b.ReportAllocs()
	for b.Loop() {
		Adam(theta, m, v, g, &c)
	}
}
