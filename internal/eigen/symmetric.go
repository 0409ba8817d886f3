// Package eigen finds the eigenvalues and eigenvectors of dense symmetric matrices in
// float64. From some hundred rows on it is several times faster than gonum's QL iterations.
package eigen

import (
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// Symmetric returns the eigenvalues of the symmetric matrix a [n,n], ascending, and its
// eigenvectors in the columns of an [n,n] matrix. It overwrites a.
//
// It works like LAPACK's dsyevd. Householder reflections make the matrix tridiagonal, divide
// and conquer solves that, and the reflections are applied to the eigenvectors. Almost all
// of the work is matrix products.
func Symmetric(n int, a []float64) (values, vectors []float64, err error) {
	work := scratches.Get().(*scratch)
	defer work.release()
	scale := unit(a)
	t := reduce(n, a, work)
	values, vectors, err = divide(t.d, t.e, work)
	if err == nil {
		t.apply(vectors, n)
		kernel.Scale(values, scale, values)
	}
	return values, vectors, err
}

// unit divides a by its largest magnitude, which it returns. It leaves zeros.
func unit(a []float64) float64 {
	scale := 0.0
	for _, v := range a {
		scale = max(scale, math.Abs(v))
	}
	if scale == 0 {
		return 1
	}
	kernel.Scale(a, 1/scale, a)
	return scale
}

// tridiagonal is the factorisation A = Q T Qᵀ. T is tridiagonal, with the diagonal d and the
// off-diagonal e. Q = H_0 H_1 … is a product of reflections H_k = I − τ_k v_k v_kᵀ.
type tridiagonal struct {
	n    int
	d, e []float64 // [n], [n−1]
	v    []float64 // [n,n]: row k holds v_k, which is 0 up to element k and 1 at element k+1
	tau  []float64
	work *scratch
}

const (
	panel       = 32      // reflections that are applied together
	leastVector = 1 << 15 // multiplications with a vector that are worth a thread
)

// reduce makes the symmetric matrix a tridiagonal and overwrites it. Each reflection changes
// the columns after it by a −= v wᵀ + w vᵀ. For the columns right of a panel this is done
// once for all reflections of the panel, by matrix products (Dongarra, Sorensen and
// Hammarling 1989).
func reduce(n int, a []float64, work *scratch) tridiagonal {
	t := tridiagonal{n: n, d: make([]float64, n), e: work.take(max(0, n-1)), v: work.take(n * n), tau: work.take(n), work: work}
	w := work.take(panel * n)
	for first := 0; first < n; first += panel {
		last := min(first+panel, n)
		for k := first; k < last; k++ {
			t.column(a, w, first, k)
		}
		rest := n - last
		v, u := t.v[first*n+last%n:], w[last%n:]
		if rest > 0 {
			kernel.Gemm(true, false, rest, rest, last-first, -1, v, n, u, n, 1, a[last*n+last:], n)
			kernel.Gemm(true, false, rest, rest, last-first, -1, u, n, v, n, 1, a[last*n+last:], n)
		}
	}
	return t
}

// column finds the reflection for column k, and row k−first of w, which its effect on the
// other columns needs (see reduce).
func (t tridiagonal) column(a, w []float64, first, k int) {
	n := t.n
	col := a[k*n+k : (k+1)*n] // row k, which equals column k
	for i := first; i < k; i++ {
		v, u := t.v[i*n+k:(i+1)*n], w[(i-first)*n+k:(i-first+1)*n]
		kernel.Axpy(-v[0], u, col)
		kernel.Axpy(-u[0], v, col)
	}
	t.d[k] = col[0]
	if k == n-1 {
		return
	}
	v, u := t.v[k*n+k+1:(k+1)*n], w[(k-first)*n+k+1:(k-first+1)*n]
	clear(w[(k-first)*n : (k-first)*n+k+1])
	copy(v, col[1:])
	t.e[k], t.tau[k] = reflect(v)
	kernel.Parallel(kernel.Parts(len(u), len(u)*len(v), leastVector), timesVector{u, a[(k+1)*n+k+1:], n, v})
	for i := first; i < k; i++ {
		vi, ui := t.v[i*n+k+1:(i+1)*n], w[(i-first)*n+k+1:(i-first+1)*n]
		c, s := kernel.Dot(ui, v), kernel.Dot(vi, v)
		kernel.Axpy(-c, vi, u)
		kernel.Axpy(-s, ui, u)
	}
	kernel.Scale(u, t.tau[k], u)
	kernel.Axpy(-0.5*t.tau[k]*kernel.Dot(u, v), v, u)
}

// reflect overwrites x by v, whose first element is 1, and returns β and τ such that
// (I − τ v vᵀ) x = (β, 0, …).
func reflect(x []float64) (beta, tau float64) {
	alpha := x[0]
	norm := math.Sqrt(kernel.Dot(x[1:], x[1:]))
	x[0] = 1
	if norm == 0 {
		return alpha, 0
	}
	beta = -math.Copysign(math.Hypot(alpha, norm), alpha)
	kernel.Scale(x[1:], 1/(alpha-beta), x[1:])
	return beta, (beta - alpha) / beta
}

// timesVector is the kernel.Job that computes y = M x for M [len(y), len(x)].
type timesVector struct {
	y, m []float64
	ld   int
	x    []float64
}

// Run implements kernel.Job.
func (t timesVector) Run(part, parts int) {
	lo, hi := len(t.y)*part/parts, len(t.y)*(part+1)/parts
	for i := lo; i < hi; i++ {
		t.y[i] = kernel.Dot(t.m[i*t.ld:i*t.ld+len(t.x)], t.x)
	}
}

// apply overwrites z [n,cols] by Q z. It applies a panel of reflections at a time, as
// H_i … H_j = I − Vᵀ T V with a triangular T (Schreiber and Van Loan 1989).
func (t tridiagonal) apply(z []float64, cols int) {
	n := t.n
	m, tm := t.work.take(panel*cols), t.work.take(panel*cols)
	for first := (n - 1) / panel * panel; first >= 0; first -= panel {
		size, rows := min(first+panel, n)-first, n-first
		v, below := t.v[first*n+first:], z[first*cols:]
		kernel.Gemm(false, false, size, cols, rows, 1, v, n, below, cols, 0, m, cols)
		kernel.Gemm(false, false, size, cols, size, 1, t.triangle(first, size), size, m, cols, 0, tm, cols)
		kernel.Gemm(true, false, rows, cols, size, -1, v, n, tm, cols, 1, below, cols)
	}
}

// triangle returns the T of apply for size reflections, from number first on.
func (t tridiagonal) triangle(first, size int) []float64 {
	out, dots := t.work.take(size*size), t.work.take(size)
	for i := range size {
		tau := t.tau[first+i]
		out[i*size+i] = tau
		vi := t.v[(first+i)*t.n : (first+i+1)*t.n]
		for j := range i {
			dots[j] = -tau * kernel.Dot(t.v[(first+j)*t.n:(first+j+1)*t.n], vi)
		}
		for r := range i {
			for j := r; j < i; j++ {
				out[r*size+i] += out[r*size+j] * dots[j]
			}
		}
	}
	return out
}
