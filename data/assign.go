package data

import (
	"github.com/go-valla/valla/internal/kernel"
)

// blockRows is the number of rows whose products with the centres are computed at a time: enough
// for a fast matrix product, few enough for the cache.
const blockRows = 1024

// assign gives every row to its nearest centre, and to the first of several nearest centres. It
// brings the sums up to date and returns the inertia, which is the sum of the squared distances.
func (l *lloyd[T]) assign() float64 {
	label := make([]int, l.n)
	// Parts end where blocks end, so that products do not depend on the number of parts.
	parallel((l.n+blockRows-1)/blockRows, blockRows*l.d*l.k, func(from, to int) {
		l.compare(label, from*blockRows, min(to*blockRows, l.n))
	})
	l.relabel(label)
	return l.inertia()
}

// compare labels the rows from...to-1.
func (l *lloyd[T]) compare(label []int, from, to int) {
	products := make([]T, min(to-from, blockRows)*l.k)
	for ; from < to; from += blockRows {
		rows := min(to-from, blockRows)
		kernel.Gemm(false, true, rows, l.k, l.d, 1, l.x[from*l.d:], l.d, l.centers, l.d, 0, products, l.k)
		for i := range rows {
			label[from+i] = l.nearest(products[i*l.k : (i+1)*l.k])
		}
	}
}

// nearest returns the centre that is nearest to a row, whose products with the centres are given.
func (l *lloyd[T]) nearest(products []T) int {
	at := 0
	best, levels := products[0]-l.levels[0], l.levels[:len(products)]
	for j, p := range products {
		if v := p - levels[j]; v > best {
			best, at = v, j
		}
	}
	return at
}
