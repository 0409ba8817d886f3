package valla

import "github.com/go-valla/valla/internal/kernel"

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
		for j, x := range v[i*m : (i+1)*m] {
			if x != 0 {
				kernel.Axpy(x, b[j*m:(j+1)*m], to)
			}
		}
	})
}

// sparseSolve overwrites sparse rows k [n,M] by R⁻¹k, for the transpose [M,M] of a lower triangular matrix R.
func sparseSolve(k, transposed []float64, m int) {
	eachRow(len(k)/m, m, func(i int) {
		row := k[i*m : (i+1)*m]
		for j := range row {
			if row[j] != 0 {
				column := transposed[j*m : (j+1)*m]
				row[j] /= column[j]
				kernel.Axpy(-row[j], column[j+1:], row[j+1:])
			}
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
