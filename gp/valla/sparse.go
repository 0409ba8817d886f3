package valla

import (
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Where the kernel is zero between different outputs, as with the weights of the last layer alone, a row of k̂ has the numbers
// of the inducing points of one output, and zeros. With a thousand classes products of such rows take a thousandth of the
// operations if they pass over zeros.

// sparseShare is the share of numbers other than zero up to which products pass over zeros. At this share they take 37 % of the
// time of full products with 1,000 inducing points (BenchmarkSparse, one core of a Zen 5).
const sparseShare = 1.0 / 16

// isSparse reports whether a kernel K̂_z [M,M] has so many zeros. Then the rows of k̂ have as many.
func isSparse(m int, kz []float64) bool {
	filled := 0
	for _, x := range kz {
		if x != 0 {
			filled++
		}
	}
	return float64(filled) <= sparseShare*float64(m*m)
}

// sparseProduct writes v·b to w, for sparse rows v [n,M] and b [M,M].
func sparseProduct(w, v, b []float64, m int) {
	eachRow(len(v)/m, m, func(i int) {
		to := w[i*m : (i+1)*m]
		clear(to)
		row := v[i*m : (i+1)*m]
		for j := nextNonzero(row, 0); j < m; j = nextNonzero(row, j+1) {
			kernel.Axpy(row[j], b[j*m:(j+1)*m], to)
		}
	})
}

// nextNonzero returns the index of the first number of a row from number from on that is not 0, and the length of the row if there is none.
func nextNonzero[T kernel.Float](row []T, from int) int {
	if i := kernel.FirstNonzero(row[from:]); i >= 0 {
		return from + i
	}
	return len(row)
}

// sparseRows are rows [n,M] by their numbers other than zero.
type sparseRows struct {
	ends    []int     // of each row, in the slices below
	columns []int     // of each number
	values  []float64 // the numbers
}

// gather makes r hold the first n rows of t [·,M].
func (r *sparseRows) gather(t *tensor.Dense, n, m int) {
	r.ends, r.columns, r.values = r.ends[:0], r.columns[:0], r.values[:0]
	if t.Dtype() == tensor.Float64 {
		gatherRows(r, t.Float64s()[:n*m], m)
	} else {
		gatherRows(r, t.Float32s()[:n*m], m)
	}
}

// gatherRows is gather for rows v.
func gatherRows[T kernel.Float](r *sparseRows, v []T, m int) {
	for ; len(v) > 0; v = v[m:] {
		for j := nextNonzero(v[:m], 0); j < m; j = nextNonzero(v[:m], j+1) {
			r.columns, r.values = append(r.columns, j), append(r.values, float64(v[j]))
		}
		r.ends = append(r.ends, len(r.columns))
	}
}

// row returns the columns and the values of the numbers of row i.
func (r *sparseRows) row(i int) (columns []int, values []float64) {
	first := 0
	if i > 0 {
		first = r.ends[i-1]
	}
	return r.columns[first:r.ends[i]], r.values[first:r.ends[i]]
}

// lowerProduct writes a sparse row times the lower triangular matrix b [M,M] to the front of w, and returns the part beyond which the
// result is 0.
func lowerProduct(columns []int, values, b, w []float64, m int) []float64 {
	if len(columns) == 0 {
		return nil
	}
	w = w[:columns[len(columns)-1]+1]
	clear(w)
	for k, j := range columns {
		kernel.Axpy(values[k], b[j*m:j*m+j+1], w[:j+1])
	}
	return w
}

// sparseSolve overwrites sparse rows k [n,M] by R⁻¹k, for the transpose [M,M] of a lower triangular matrix R.
func sparseSolve(k, transposed []float64, m int) {
	eachRow(len(k)/m, m, func(i int) {
		row := k[i*m : (i+1)*m]
		for j := nextNonzero(row, 0); j < m; j = nextNonzero(row, j+1) {
			column := transposed[j*m : (j+1)*m]
			row[j] /= column[j]
			kernel.Axpy(-row[j], column[j+1:], row[j+1:])
		}
	})
}

// eachRow calls f for each of n rows of M numbers on all threads.
func eachRow(n, m int, f func(i int)) {
	kernel.Share(kernel.Parts(n, n*m, leastShared), n*m, kernel.Span{N: n, F: func(from, to int) {
		for i := from; i < to; i++ {
			f(i)
		}
	}})
}

// leastShared is the least work of a thread, in numbers of rows.
const leastShared = 1 << 15
