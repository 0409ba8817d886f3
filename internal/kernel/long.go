package kernel

// A product with a small result and very many steps, as of Jacobians of many weights, waits for memory, and its result is
// too small to be shared among threads. Its steps are cut into ranges instead. There are as many ranges for any number of
// threads, and their sums are added in order, so that the threads do not change the result.
const (
	longSteps    = 1 << 16 // the fewest steps of such a product
	longElements = 1 << 12 // the most elements of its result
	longRanges   = 16
)

// long reports whether the steps of the product are cut into ranges.
func (g *gemm[T]) long() bool { return g.k >= longSteps && g.m*g.n <= longElements }

// longSum computes a product range by range.
type longSum[T Float] struct {
	gemm[T]
	sums []T // [longRanges,m,n]
}

// sumLong computes the product and adds it to C, if add is set, or sets C to it.
func (g *gemm[T]) sumLong() {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	l := &w.long
	l.gemm, l.sums = *g, grow(l.sums, longRanges*g.m*g.n)
	Share(Parts(longRanges, g.m*g.n*g.k, threadWork), Nanoseconds(g.m*g.n*g.k), l)
	for r := range longRanges {
		for i := range g.m {
			row, sum := g.c[i*g.ldc:i*g.ldc+g.n], l.sums[(r*g.m+i)*g.n:(r*g.m+i+1)*g.n]
			if r == 0 && !g.add {
				copy(row, sum)
			} else {
				Add(row, row, sum)
			}
		}
	}
}

// Run computes a part of the ranges.
func (l *longSum[T]) Run(part, parts int) {
	lo, hi := cut(longRanges, 1, part, parts)
	for r := lo; r < hi; r++ {
		h := l.gemm
		first, last := cut(l.k, stepUnit, r, longRanges)
		_, astep := strides(l.transA, l.lda)
		bstep, _ := strides(l.transB, l.ldb)
		h.k, h.a, h.b = last-first, l.a[first*astep:], l.b[first*bstep:]
		h.c, h.ldc, h.add = l.sums[r*l.m*l.n:(r+1)*l.m*l.n], l.n, false
		h.run()
	}
}
