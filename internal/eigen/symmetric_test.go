package eigen

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// The orders exercise one part, several, and panels that are not full.
var orders = []int{1, 2, 3, 31, 32, 33, 64, 65, 100, 203}

// symmetricCases are matrices that are hard in different ways.
func symmetricCases(n int) map[string][]float64 {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	square := func(f func(i, j int) float64) []float64 {
		a := make([]float64, n*n)
		for i := range n {
			for j := range i + 1 {
				a[i*n+j] = f(i, j)
				a[j*n+i] = a[i*n+j]
			}
		}
		return a
	}
	gram := func(rank int, scale float64) []float64 {
		v, a := make([]float64, n*rank), make([]float64, n*n)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		kernel.Syrk(false, n, rank, scale, v, rank, 0, a, n)
		return a
	}
	return map[string][]float64{
		"random":   square(func(i, j int) float64 { return rng.NormFloat64() }),
		"gram":     gram(2*n, 1),
		"rank 1":   gram(1, 1),
		"rank n/3": gram(n/3+1, 1),
		"tiny":     gram(n, 1e-280),
		"huge":     gram(n, 1e280),
		"zero":     make([]float64, n*n),
		"identity": square(func(i, j int) float64 { return float64(max(0, 1-i+j)) }),
		// Wilkinson's: pairs of eigenvalues that agree to all digits.
		"wilkinson": square(func(i, j int) float64 {
			if i == j {
				return math.Abs(float64(i) - float64(n-1)/2)
			}
			return float64(max(0, 2-i+j))
		}),
		"graded":            square(func(i, j int) float64 { return math.Pow(10, -float64(i+j)*20/float64(n)) * (1 + rng.Float64()) }),
		"second difference": square(func(i, j int) float64 { return []float64{2, -1, 0}[min(2, i-j)] }),
		"unconnected": square(func(i, j int) float64 {
			if i != j && max(i, j) >= n/2 {
				return 0
			}
			return rng.NormFloat64()
		}),
	}
}

// Eigenvectors are orthonormal and diagonalise the matrix, to within some n units in
// the last place of its norm; eigenvalues ascend and are those that QL iterations find.
func TestSymmetric(t *testing.T) {
	for _, n := range orders {
		for name, a := range symmetricCases(n) {
			values, v, err := Symmetric(n, slices.Clone(a))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.IsSorted(values) || len(values) != n {
				t.Errorf("%s %d: eigenvalues %v", name, n, values)
			}
			norm, want := 0.0, referenceValues(t, n, a)
			for _, x := range want {
				norm = max(norm, math.Abs(x))
			}
			tol := 4e-16 * float64(n+10)
			for i := range want {
				if math.Abs(values[i]-want[i]) > tol*norm {
					t.Errorf("%s %d: eigenvalue %d is %g, want %g", name, n, i, values[i], want[i])
				}
			}
			checkVectors(t, fmt.Sprint(name, " ", n), n, a, values, v, norm, tol)
		}
	}
}

// An empty matrix has no eigenvalues.
func TestEmpty(t *testing.T) {
	for _, f := range []func(n int, a []float64) ([]float64, []float64, error){Symmetric, Semidefinite} {
		if values, vectors, err := f(0, nil); len(values)+len(vectors) != 0 || err != nil {
			t.Errorf("eigenvalues %v and vectors %v (%v), want none", values, vectors, err)
		}
	}
}

// A product in parts equals the whole matrix's product. The lower triangle is not read.
func TestTimesSymmetric(t *testing.T) {
	for _, n := range []int{1, 5, 511, 601} {
		if n*n >= leastVector != (n == 601) {
			t.Fatalf("order %d is on the other side of the limit", n)
		}
		a := symmetricCases(n)["random"]
		x, y, want := a[:n], make([]float64, n), make([]float64, n)
		kernel.RowDots(want, a, n, x)
		half := slices.Clone(a)
		for i := range n {
			for j := range i {
				half[i*n+j] = math.NaN()
			}
		}
		timesSymmetric(y, half, n, x, make([]float64, symmetricParts*n))
		for i := range n {
			if math.Abs(y[i]-want[i]) > 1e-15*float64(n*20) {
				t.Errorf("order %d: element %d is %g, want %g", n, i, y[i], want[i])
			}
		}
	}
}

// Any number of threads gives the same bits.
func TestSymmetricThreads(t *testing.T) {
	defer kernel.SetThreads(0)
	const n = 601
	a := symmetricCases(n)["gram"]
	var want []float64
	for _, threads := range []int{1, 2, 3} {
		kernel.SetThreads(threads)
		values, v, err := Symmetric(n, slices.Clone(a))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = append(values, v...)
			checkVectors(t, "gram 601", n, a, values, v, values[n-1], 4e-16*(n+10))
		}
		if !slices.Equal(append(values, v...), want) {
			t.Errorf("%d threads give other eigenpairs than one", threads)
		}
	}
}

// Rows and columns of zeros are left out of the problem, and their unit vectors come
// first, whatever rounding makes of the others.
func TestSemidefinite(t *testing.T) {
	const n = 40
	for name, zeros := range map[string][]int{"none": nil, "some": {0, 7, 8, 39}, "all but one": slices.Collect(countTo(n - 1)), "all": slices.Collect(countTo(n))} {
		a := slices.Clone(symmetricCases(n)["gram"])
		for _, z := range zeros {
			for i := range n {
				a[z*n+i], a[i*n+z] = 0, 0
			}
		}
		values, v, err := Semidefinite(n, slices.Clone(a))
		if err != nil {
			t.Fatal(err)
		}
		want, norm := referenceValues(t, n, a), 0.0
		for i := range n {
			norm = max(norm, want[i])
		}
		for i := range n {
			if math.Abs(values[i]-want[i]) > 4e-16*(n+10)*norm {
				t.Errorf("%s: eigenvalue %d is %g, want %g", name, i, values[i], want[i])
			}
		}
		for i, z := range zeros[:min(len(zeros), n-1)] {
			if len(zeros) < n && (v[z*n+i] != 1 || values[i] != 0) {
				t.Errorf("%s: eigenvector %d has %g in place %d", name, i, v[z*n+i], z)
			}
		}
		checkVectors(t, name, n, a, values, v, max(norm, 1), 4e-16*(n+10))
	}
}

// countTo yields 0, …, n−1.
func countTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func checkVectors(t *testing.T, what string, n int, a, values, v []float64, norm, tol float64) {
	t.Helper()
	av, vv := make([]float64, n*n), make([]float64, n*n)
	kernel.Gemm(false, false, n, n, n, 1, a, n, v, n, 0, av, n)
	kernel.Gemm(true, false, n, n, n, 1, v, n, v, n, 0, vv, n)
	var residual, orthogonal float64
	for i := range n {
		for j := range n {
			residual = max(residual, math.Abs(av[i*n+j]-v[i*n+j]*values[j]))
			if i == j {
				vv[i*n+j]--
			}
			orthogonal = max(orthogonal, math.Abs(vv[i*n+j]))
		}
	}
	if !(residual <= tol*norm) || !(orthogonal <= tol) {
		t.Errorf("%s: residual %g of %g, vectors orthonormal to %g, want %g", what, residual, norm, orthogonal, tol)
	}
}

func referenceValues(t *testing.T, n int, a []float64) []float64 {
	t.Helper()
	largest := 0.0
	for _, v := range a {
		largest = max(largest, math.Abs(v))
	}
	_, exponent := math.Frexp(largest) // gonum panics at tiny and huge matrices
	scaled, values := make([]float64, len(a)), make([]float64, n)
	for i, v := range a {
		scaled[i] = math.Ldexp(v, -exponent)
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(n, scaled), false) {
		t.Fatal("no eigenvalues found")
	}
	for i, v := range e.Values(nil) {
		values[i] = math.Ldexp(v, exponent)
	}
	return values
}

func BenchmarkSymmetric(b *testing.B) {
	for _, n := range []int{100, 200, 784} {
		a := symmetricCases(n)["gram"]
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := Symmetric(n, slices.Clone(a)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
