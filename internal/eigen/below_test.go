package eigen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/scratch"
)

// belowCases adds to symmetricCases some with few eigenvalues below a bound.
func belowCases(n int) map[string][]float64 {
	out := symmetricCases(n)
	for name, f := range map[string]func(i int) float64{
		"indefinite":      func(i int) float64 { return float64(i) - 4.5 },
		"a cluster below": func(i int) float64 { return float64(i/5) - 1 + 1e-13*float64(i%5) },
		"equal ones":      func(i int) float64 { return float64(min(1, i/6)) - 1 },
		"one below":       func(i int) float64 { return float64(min(1, i)) - 1e-9 },
		"far below":       func(i int) float64 { return 1 - 1e12*math.Exp(-float64(i)) },
	} {
		d := make([]float64, n)
		for i := range d {
			d[i] = f(i)
		}
		out[name] = withSpectrum(d, rand.New(rand.NewPCG(uint64(n), 2)))
	}
	blocks := make([]float64, n*n) // of the same two rows, so that eigenvalues repeat
	for i := range n {
		blocks[i*n+i] = float64(1 + i%2)
		if i^1 < n {
			blocks[i*n+(i^1)] = 3
		}
	}
	out["blocks"] = blocks
	return out
}

// Below finds what Symmetric finds below a bound, which lies in the middle of a gap.
func TestBelow(t *testing.T) {
	for _, n := range orders {
		for name, a := range belowCases(n) {
			all, _, err := Symmetric(n, slices.Clone(a))
			if err != nil {
				t.Fatal(err)
			}
			norm := max(math.Abs(all[0]), math.Abs(all[n-1]))
			tol := 4e-16 * float64(n+10)
			for k := range min(n, 12) + 1 {
				bound := norm + 1
				if k < n {
					bound = all[k]
				}
				if k > 0 {
					bound = all[k-1]/2 + bound/2
				}
				if k > 0 && bound-all[k-1] <= tol*norm || k < n && all[k]-bound <= tol*norm {
					continue
				}
				values, v, err := Below(n, slices.Clone(a), bound)
				if err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%s %d, %d below", name, n, k)
				if len(values) != k || len(v) != n*k || !slices.IsSorted(values) {
					t.Fatalf("%s: eigenvalues %v, want %v", what, values, all[:k])
				}
				for i := range k {
					if math.Abs(values[i]-all[i]) > tol*norm {
						t.Errorf("%s: eigenvalue %d is %g, want %g", what, i, values[i], all[i])
					}
				}
				checkSome(t, what, n, a, values, v, norm, tol)
			}
		}
	}
}

// checkSome is checkVectors of some vectors.
func checkSome(t *testing.T, what string, n int, a, values, v []float64, norm, tol float64) {
	t.Helper()
	k := len(values)
	av, vv := make([]float64, n*k), make([]float64, k*k)
	kernel.Gemm(false, false, n, k, n, 1, a, n, v, max(1, k), 0, av, max(1, k))
	kernel.Gemm(true, false, k, k, n, 1, v, max(1, k), v, max(1, k), 0, vv, max(1, k))
	var residual, orthogonal float64
	for i := range av {
		residual = max(residual, math.Abs(av[i]-v[i]*values[i%k]))
	}
	for i := range vv {
		if i%k == i/k {
			vv[i]--
		}
		orthogonal = max(orthogonal, math.Abs(vv[i]))
	}
	if !(residual <= tol*norm) || !(orthogonal <= tol) {
		t.Errorf("%s: residual %g of %g, vectors orthonormal to %g, want %g", what, residual, norm, orthogonal, tol)
	}
}

// Inverse iteration converges in all of these cases. The way by all eigenvalues is only for many
// eigenvalues.
func TestBelowConverges(t *testing.T) {
	for _, n := range []int{33, 100, 203} {
		for name, a := range belowCases(n) {
			work := new(scratch.Memory)
			unit(a)
			s := newBisection(reduce(n, a, make([]float64, n), work))
			if _, ok := s.vectors(s.values(n/4, s.norm)); !ok {
				t.Errorf("%s %d: the vectors of %d eigenvalues do not converge", name, n, n/4)
			}
		}
	}
}

func TestBelowErrors(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, _, err := Below(2, []float64{1, 0, 0, v}, 3); err == nil {
			t.Errorf("no error for the element %g", v)
		}
		if _, _, err := Below(2, []float64{1, 0, 0, 1}, v); err == nil {
			t.Errorf("no error for the bound %g", v)
		}
	}
	if values, vectors, err := Below(2, []float64{1, 0, 0, 1}, 1); len(values)+len(vectors) != 0 || err != nil {
		t.Errorf("%v, %v (%v) below the smallest eigenvalue, want none", values, vectors, err)
	}
}

// A finite bound may be so far from the eigenvalues that their ratio overflows, and an empty matrix has no eigenvalues.
func TestBelowExtremes(t *testing.T) {
	for _, c := range []struct {
		a     []float64
		n     int
		bound float64
		want  int
	}{{[]float64{1e-300}, 1, 1e10, 1}, {[]float64{1e-300}, 1, -1e10, 0}, {[]float64{1e-300, 0, 0, 2e-300}, 2, 1e10, 2}, {nil, 0, 1, 0}} {
		values, vectors, err := Below(c.n, slices.Clone(c.a), c.bound)
		if err != nil || len(values) != c.want || len(vectors) != c.n*c.want {
			t.Errorf("%v below %g: %d values and %d elements of vectors (%v), want %d values", c.a, c.bound, len(values), len(vectors), err, c.want)
		}
	}
}

func BenchmarkBelow(b *testing.B) {
	const n = 100
	d := make([]float64, n)
	for _, k := range []int{0, 1, 5, 10} {
		for i := range d {
			d[i] = float64(i-k) + 0.5
		}
		a := withSpectrum(d, rand.New(rand.NewPCG(1, 0)))
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if values, _, err := Below(n, slices.Clone(a), 0); err != nil || len(values) != k {
					b.Fatal(len(values), err)
				}
			}
		})
	}
}
