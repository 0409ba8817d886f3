// Package eigen finds the eigenvalues and eigenvectors of dense symmetric matrices in
// float64. From some hundred rows on it is several times faster than gonum's QL iterations.
package eigen

import (
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/scratch"
)

// Symmetric returns the eigenvalues of the symmetric matrix a [n,n], ascending, and its
// eigenvectors in the columns of an [n,n] matrix. It overwrites a.
//
// It works like LAPACK's dsyevd. Householder reflections make the matrix tridiagonal, divide
// and conquer finds the eigenpairs of the tridiagonal matrix, and the reflections turn its
// eigenvectors. Almost all of the work is matrix products.
func Symmetric(n int, a []float64) (values, vectors []float64, err error) {
	values, vectors = make([]float64, n), make([]float64, n*n)
	return values, vectors, SymmetricTo(values, vectors, n, a)
}

// SymmetricTo is Symmetric, which writes to values [n] and vectors [n,n]. After an error, what they hold
// is of no use.
func SymmetricTo(values, vectors []float64, n int, a []float64) error {
	if n == 0 {
		return nil
	}
	work := scratch.Get()
	defer scratch.Put(work)
	scale := unit(a)
	t := reduce(n, a, values, work)
	err := divide(t.d, t.e, vectors, work)
	if err == nil {
		t.apply(vectors, n)
		kernel.Scale(values, scale, values)
	}
	return err
}

// unit divides a by its largest magnitude and returns this magnitude. It leaves a matrix of zeros and
// returns 1. The bits of floating-point numbers, without their signs, are ordered like the magnitudes,
// and NaN is the largest.
func unit(a []float64) float64 {
	var largest uint64
	for _, v := range a {
		largest = max(largest, math.Float64bits(v)<<1)
	}
	if largest == 0 {
		return 1
	}
	scale := math.Float64frombits(largest >> 1)
	if scale < leastUnit { // 1/scale may be infinite
		kernel.Scale(a, enlarge, a)
		kernel.Scale(a, 1/(scale*enlarge), a)
		return scale
	}
	kernel.Scale(a, 1/scale, a)
	return scale
}

// tridiagonal is the factorisation A = Q T Qᵀ. T is tridiagonal, with the diagonal d and the
// off-diagonal e. Q = H_0 H_1 … is a product of reflections H_k = I − τ_k v_k v_kᵀ.
type tridiagonal struct {
	n    int             // order of the matrix
	d, e []float64       // [n], [n−1]
	v    []float64       // [n,n]: row k holds v_k, which is 0 up to element k and 1 at element k+1
	tau  []float64       // [n], the factors of the reflections
	work *scratch.Memory // memory of intermediate results
}

const (
	panel      = 32  // reflections that are applied together
	updateRows = 128 // rows of the upper triangle that are changed together

	symmetricParts = 4       // parts of the product of a matrix and a vector
	leastVector    = 1 << 18 // multiplications from which on such a product is cut into these parts
)

// reduce makes the symmetric matrix a tridiagonal, with the diagonal d. It reads and overwrites the
// upper triangle of a. Each reflection changes the columns after it by a −= v wᵀ + w vᵀ. For the columns
// right of a panel, a matrix product makes this change for all reflections of the panel at once
// (Dongarra, Sorensen and Hammarling 1989).
func reduce(n int, a, d []float64, work *scratch.Memory) tridiagonal {
	t := tridiagonal{n: n, d: d, e: work.Zeros(max(0, n-1)), v: work.Zeros(n * n), tau: work.Zeros(n), work: work}
	p := pairs{work.Take(2 * panel * n), work.Take(2 * panel * n), work.Take(2 * panel), work.Take(symmetricParts * n)}
	for first := 0; first < n; first += panel {
		last := min(first+panel, n)
		for k := first; k < last; k++ {
			t.column(a, p, k-first, k)
		}
		for from := last; from < n; from += updateRows {
			rows, cols := min(updateRows, n-from), n-from
			kernel.Gemm(true, false, rows, cols, 2*(last-first), -1, p.vw[from:], n, p.wv[from:], n, 1, a[from*n+from:], n)
		}
	}
	return t
}

// pairs are the vectors of a panel: v_i and w_i are rows 2i and 2i+1 of vw, and rows 2i+1 and 2i of
// wv.
type pairs struct {
	vw, wv  []float64 // [2·panel,n]
	weights []float64 // [2·panel]
	sums    []float64 // of timesSymmetric
}

// subtract subtracts the pairs, times weights, from y. The weights of v_i and w_i change places. The
// first element of y is number k of a vector of n elements.
func (p pairs) subtract(y, weights []float64, n, k int) {
	for i := 0; i < len(weights); i += 2 {
		weights[i], weights[i+1] = -weights[i+1], -weights[i]
	}
	kernel.AddRows(y, p.vw[k:], n, weights)
}

// column finds the reflection for column k of a, and pair number done of the panel, which holds the
// effect of the reflection on the other columns (see reduce).
func (t tridiagonal) column(a []float64, p pairs, done, k int) {
	n, weights := t.n, p.weights[:2*done]
	col := a[k*n+k : (k+1)*n] // row k, which equals column k
	for i := range weights {
		weights[i] = p.vw[i*n+k]
	}
	p.subtract(col, weights, n, k)
	t.d[k] = col[0]
	if k == n-1 {
		return
	}
	v, u := p.vw[2*done*n:(2*done+1)*n], p.vw[(2*done+1)*n:(2*done+2)*n]
	v, u = v[k+1:], u[k+1:]
	copy(v, col[1:])
	t.e[k], t.tau[k] = reflect(v)
	timesSymmetric(u, a[(k+1)*n+k+1:], n, v, p.sums)
	kernel.RowDots(weights, p.vw[k+1:], n, v)
	p.subtract(u, weights, n, k+1)
	kernel.Scale(u, t.tau[k], u)
	kernel.Axpy(-0.5*t.tau[k]*kernel.Dot(u, v), v, u)
	copy(t.v[k*n+k+1:], v)
	copy(p.wv[2*done*n+k+1:], u)
	copy(p.wv[(2*done+1)*n+k+1:], v)
}

// leastSquares is the smallest sum of squares that has all its digits, and leastUnit the smallest number whose reciprocal is
// certainly finite. Smaller numbers are first multiplied by enlarge.
const leastSquares, leastUnit, enlarge = 1e-290, 1e-290, 0x1p600

// reflect overwrites x by v, whose first element is 1, and returns β and τ such that
// (I − τ v vᵀ) x = (β, 0, …).
func reflect(x []float64) (beta, tau float64) {
	alpha, squares := x[0], kernel.Dot(x[1:], x[1:])
	if squares < leastSquares && slices.ContainsFunc(x[1:], func(v float64) bool { return v != 0 }) {
		kernel.Scale(x, enlarge, x)
		beta, tau = reflect(x)
		return beta / enlarge, tau
	}
	x[0] = 1
	if squares == 0 {
		return alpha, 0
	}
	norm := math.Sqrt(squares)
	beta = -math.Copysign(math.Hypot(alpha, norm), alpha)
	kernel.Scale(x[1:], 1/(alpha-beta), x[1:])
	return beta, (beta - alpha) / beta
}

// timesSymmetric sets y to the product of x and the symmetric matrix with the upper triangle m. A large
// triangle is cut into parts of equal area, and the products of the parts are added. The parts do not
// depend on the number of threads.
func timesSymmetric(y, m []float64, ld int, x, room []float64) {
	n := len(x)
	clear(y)
	if n*n < leastVector {
		kernel.AddSymmetric(0, n, n, m, ld, x, y)
		return
	}
	sums := room[:symmetricParts*n]
	clear(sums)
	kernel.Parallel(symmetricParts, timesVector{sums, m, ld, x})
	for part := range slices.Chunk(sums, n) {
		kernel.Add(y, y, part)
	}
}

// timesVector is the kernel.Job of timesSymmetric.
type timesVector struct {
	sums, m []float64 // one product [n] for each part, and the upper triangle
	ld      int       // elements between the rows of m
	x       []float64 // the vector [n]
}

// Run implements kernel.Job.
func (t timesVector) Run(part, parts int) {
	n := len(t.x)
	edge := func(part int) int { // the rows above the edge have part/parts of the upper triangle
		return n - int(float64(n)*math.Sqrt(1-float64(part)/float64(parts)))
	}
	kernel.AddSymmetric(edge(part), edge(part+1), n, t.m, t.ld, t.x, t.sums[part*n:(part+1)*n])
}

// apply overwrites z [n,cols] by Q z. It applies the reflections panel by panel:
// H_i … H_j = I − Vᵀ T V. The upper triangular T is the inverse of the upper triangle of V Vᵀ with
// 1/τ on its diagonal (Joffrain, Low, Quintana-Ortí, van de Geijn and Van Zee 2006).
func (t tridiagonal) apply(z []float64, cols int) {
	n := t.n
	m, gram := t.work.Take(panel*cols), t.work.Take(panel*panel)
	for first := (n - 1) / panel * panel; first >= 0; first -= panel {
		size, rows := min(first+panel, n)-first, n-first
		v, below := t.v[first*n+first:], z[first*cols:]
		kernel.Gemm(false, true, size, size, rows, 1, v, n, v, n, 0, gram, size)
		for i := range size {
			gram[i*size+i] = 1 / t.tau[first+i]
		}
		kernel.Gemm(false, false, size, cols, rows, 1, v, n, below, cols, 0, m, cols)
		kernel.Trsm(false, true, size, cols, gram, size, m, cols)
		kernel.Gemm(true, false, rows, cols, size, -1, v, n, m, cols, 1, below, cols)
	}
}
