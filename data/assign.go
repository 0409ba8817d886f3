package data

import (
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

const (
	// blockRows is the number of rows whose distances are computed at a time: large
	// enough for a fast matrix product, small enough for the cache.
	blockRows = 512
	// settled is the share of rows below which it is faster to look at bounds than at all
	// distances: that many rows changed their centre in the last iteration. With more the
	// bounds still leave so many distances that a matrix product is faster.
	settled = 0.1
)

// assign gives every row to its nearest centre, and to the first of several nearest ones. It
// brings the sums up to date and returns the inertia, which is the sum of the squared distances.
func (l *lloyd[T]) assign() float64 {
	before := append([]int(nil), l.label...)
	if float64(len(l.changed)) > settled*float64(l.n) {
		l.compare()
	} else {
		parallel(l.n, l.k, l.review)
	}
	l.changed = l.changed[:0]
	for i, label := range before {
		if label != l.label[i] {
			l.changed = append(l.changed, change{i, label})
		}
	}
	l.regroup(l.changed)
	return l.inertia()
}

// compare computes the distances of all rows from all centres.
func (l *lloyd[T]) compare() {
	size := min(l.n, blockRows)
	block, products := make([]T, size*l.d), make([]T, size*l.k)
	for start := 0; start < l.n; start += size {
		rows := min(size, l.n-start)
		parallel(rows, l.d, func(from, to int) {
			for i := from; i < to; i++ {
				l.relative(block[i*l.d:(i+1)*l.d], start+i)
			}
		})
		kernel.Gemm(false, true, rows, l.k, l.d, 1, block, l.d, l.centers, l.d, 0, products, l.k)
		parallel(rows, l.k, func(from, to int) {
			for i := from; i < to; i++ {
				l.nearest(start+i, products[i*l.k:(i+1)*l.k])
			}
		})
	}
}

// nearest labels row i, whose inner products with the centres are given.
func (l *lloyd[T]) nearest(i int, products []T) {
	best, at := math.Inf(1), 0
	lower := l.lows(i)
	for j, p := range products {
		v := l.squares[j] - 2*float64(p)
		if v < best {
			best, at = v, j
		}
		lower[j], _ = l.bounds(i, j, v)
	}
	l.label[i] = at
	_, l.upper[i] = l.bounds(i, at, best)
}

// bounds returns bounds of the distance of row i from centre j, which take account of rounding,
// for v = |c|^2 - 2 x.c.
func (l *lloyd[T]) bounds(i, j int, v float64) (lower, upper float64) {
	v += l.norms[i]
	rounding := 8 * epsilon[T]() * (l.norms[i] + l.squares[j])
	return math.Sqrt(max(v-rounding, 0)), math.Sqrt(max(v, 0) + rounding)
}

// epsilon is the distance of 1 from the next larger number.
func epsilon[T kernel.Float]() float64 {
	if T(1)+0x1p-40 == 1 {
		return 0x1p-23
	}
	return 0x1p-52
}

// review labels the rows from...to-1 again after an update, which moved each centre by its drift.
// The triangle inequality gives new bounds of the distances. Where these show that another centre
// may be nearer the distance is computed (Elkan 2003).
func (l *lloyd[T]) review(from, to int) {
	x := make([]T, l.d)
	for i := from; i < to; i++ {
		lower := l.lows(i)
		kernel.Sub(lower, lower, l.drift)
		l.upper[i] += l.drift[l.label[i]]
		if l.rival(i, 0) < l.k {
			l.relative(x, i)
			l.relabel(i, x)
		}
	}
}

// rival returns the first centre from number j on that may be as near to row i as its own
// centre, or k.
func (l *lloyd[T]) rival(i, j int) int {
	lower, upper, own := l.lows(i), l.upper[i], l.label[i]
	for ; j < l.k; j++ {
		if lower[j] <= upper && j != own {
			break
		}
	}
	return j
}

// relabel labels row i, which is x relative to the mean, after a look at its rivals.
func (l *lloyd[T]) relabel(i int, x []T) {
	distance := func(j int) float64 {
		v := l.squares[j] - 2*float64(kernel.Dot(x, l.center(j)))
		l.lows(i)[j], _ = l.bounds(i, j, v)
		return v
	}
	best := distance(l.label[i])
	_, l.upper[i] = l.bounds(i, l.label[i], best)
	for j := l.rival(i, 0); j < l.k; j = l.rival(i, j+1) {
		v := distance(j)
		if v < best || v == best && j < l.label[i] {
			best, l.label[i] = v, j
			_, l.upper[i] = l.bounds(i, j, v)
		}
	}
}
