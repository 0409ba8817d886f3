package eigen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// withSpectrum returns Q diag(d) Qᵀ, Q a product of random reflections.
func withSpectrum(d []float64, rng *rand.Rand) []float64 {
	n := len(d)
	a := make([]float64, n*n)
	for i, v := range d {
		a[i*n+i] = v
	}
	for range 3 {
		v, norm := make([]float64, n), 0.0
		for i := range v {
			v[i] = rng.NormFloat64()
			norm += v[i] * v[i]
		}
		for side := range 2 { // A ← (I − 2vvᵀ/|v|²) A, then the same from the right
			at := func(i, j int) *float64 { return &a[[2]int{i*n + j, j*n + i}[side]] }
			for j := range n {
				dot := 0.0
				for i := range n {
					dot += v[i] * *at(i, j)
				}
				for i := range n {
					*at(i, j) -= 2 * v[i] * dot / norm
				}
			}
		}
	}
	return a
}

// spectra returns spectra of 300 eigenvalues, none negative. k = 5 eigenvalues are found in Krylov
// spaces.
func spectra() map[string][]float64 {
	out := map[string][]float64{}
	for name, f := range map[string]func(i int) float64{
		"decay":           func(i int) float64 { return 1e5 * math.Exp(-float64(i)/3) },
		"slow decay":      func(i int) float64 { return 1 / float64(i+1) },
		"one that rules":  func(i int) float64 { return 1 + 1e6*float64(max(0, 1-i)) },
		"equal ones":      func(i int) float64 { return 3 - float64(min(2, i/4)) },
		"rank below five": func(i int) float64 { return float64(max(0, 3-i)) },
		"all equal":       func(int) float64 { return 0.25 },
		"zero":            func(int) float64 { return 0 },
		"tiny":            func(i int) float64 { return 1e-200 / float64(i*i+1) },
	} {
		for i := range 300 {
			out[name] = append(out[name], f(i))
		}
	}
	return out
}

// checkLargest: the eigenvalues of a known spectrum, descending in d, and orthonormal
// vectors with A v = λ v.
func checkLargest(t *testing.T, d, a []float64, k int) {
	t.Helper()
	n := len(d)
	before := slices.Clone(a)
	values, vectors, err := Largest(n, k, a)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a, before) {
		t.Error("the matrix has changed")
	}
	if len(values) != k || len(vectors) != n*k {
		t.Fatalf("%d values and %d elements of vectors, want %d and %d", len(values), len(vectors), k, n*k)
	}
	tol := 1e-11 * d[0]
	for j, v := range values {
		if math.Abs(v-d[k-1-j]) > tol {
			t.Errorf("eigenvalue %d is %.15g, want %.15g", j, v, d[k-1-j])
		}
		for i := range n {
			av := 0.0
			for l := range n {
				av += a[i*n+l] * vectors[l*k+j]
			}
			if math.Abs(av-v*vectors[i*k+j]) > tol {
				t.Fatalf("element %d of A v − λ v is %g for eigenvalue %d", i, av-v*vectors[i*k+j], j)
			}
		}
		for l := range j + 1 {
			dot, want := 0.0, 0.0
			if l == j {
				want = 1
			}
			for i := range n {
				dot += vectors[i*k+l] * vectors[i*k+j]
			}
			if math.Abs(dot-want) > 1e-12 {
				t.Errorf("vectors %d and %d have the product %g", l, j, dot)
			}
		}
	}
}

func TestLargest(t *testing.T) {
	for name, d := range spectra() {
		a := withSpectrum(d, rand.New(rand.NewPCG(1, 9)))
		for _, k := range []int{1, 5, 299, 300} {
			t.Run(fmt.Sprint(name, ", ", k), func(t *testing.T) { checkLargest(t, d, a, k) })
		}
	}
}

// TestLargestWays: few of many are found in Krylov spaces, without Symmetric of all; the
// plan of the memory is smaller there.
func TestLargestWays(t *testing.T) {
	for _, c := range []struct {
		n, k   int
		direct bool
	}{{1, 1, true}, {50, 1, true}, {300, 1, false}, {300, 5, false}, {300, 20, true}, {2000, 20, false}, {2000, 500, true}} {
		if got := direct(c.n, c.k); got != c.direct {
			t.Errorf("%d of %d: direct %t", c.k, c.n, got)
		}
		if all := LargestBytes(c.n, c.n); c.direct != (LargestBytes(c.n, c.k) == all) || LargestBytes(c.n, c.k) > all {
			t.Errorf("%d of %d: %d bytes, of all %d", c.k, c.n, LargestBytes(c.n, c.k), all)
		}
	}
}

// TestLargestRepeats: the same matrix gives the same bits.
func TestLargestRepeats(t *testing.T) {
	a := withSpectrum(spectra()["slow decay"], rand.New(rand.NewPCG(2, 9)))
	values, vectors, err := Largest(300, 5, a)
	if err != nil {
		t.Fatal(err)
	}
	again, vectorsAgain, err := Largest(300, 5, a)
	if err != nil || !slices.Equal(values, again) || !slices.Equal(vectors, vectorsAgain) {
		t.Errorf("other bits, error %v", err)
	}
}

// TestLargestFallsBack: all eigenpairs are found only if there is memory for them.
func TestLargestFallsBack(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(300 << 20))
	if _, _, err := fallBack(10_000, 1, nil); err == nil || !strings.Contains(err.Error(), "4000000000 bytes") {
		t.Errorf("the error is %v", err)
	}
}

// BenchmarkLargest is what ELLA needs: 20 of 2,000, with the spectrum of a smooth kernel.
func BenchmarkLargest(b *testing.B) {
	d := make([]float64, 2000)
	for i := range d {
		d[i] = 1e5 / float64((i+1)*(i+1))
	}
	a := withSpectrum(d, rand.New(rand.NewPCG(1, 9)))
	for _, way := range []struct {
		name string
		f    func(n, k int, a []float64) ([]float64, []float64, error)
	}{{"krylov", Largest}, {"symmetric", lastOf}} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := way.f(2000, 20, a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
