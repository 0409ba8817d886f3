package kernel

import "runtime"

// A product with a small result and very many steps, as of Jacobians of many weights, waits for memory, and its result is
// too small to be shared among threads. The threads share blocks of the steps instead. The sums of the blocks are added in
// order, as on one thread, so that the result is the same to the last bit, subnormal numbers aside.
const (
	longSteps    = 1 << 16 // the fewest steps of such a product
	longElements = 1 << 12 // the most elements of its result
	longBlocks   = 64      // blocks whose sums are kept before they are added
)

// long reports whether threads share the steps of the product. On arm64 the tiles round the sum of C and alpha times a block's sum
// only once, which adding the rounded products does not repeat unless alpha is 1 or −1.
func (g *gemm[T]) long() bool {
	if runtime.GOARCH == "arm64" && g.alpha*g.alpha != 1 {
		return false
	}
	return g.k >= longSteps && g.m*g.n <= longElements && *external[T]() == nil && shares(g.m*g.n*g.k) > 1
}

// longSum computes the sums of some blocks of steps.
type longSum[T Float] struct {
	gemm[T]
	size   int // steps of a block
	first  int // first block
	blocks int // number of blocks
	sums   []T // [blocks,m,n]
}

// sumLong computes the product.
func (g *gemm[T]) sumLong() {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	l, elements := &w.long, g.m*g.n
	l.gemm, l.size, l.sums = *g, g.steps(), grow(l.sums, longBlocks*elements)
	count := ceilDiv(g.k, l.size)
	for l.first = 0; l.first < count; l.first += longBlocks {
		l.blocks = min(longBlocks, count-l.first)
		work := elements * l.size * l.blocks
		Share(Parts(l.blocks, work, threadWork), Nanoseconds(work), l)
		for i := range l.blocks {
			g.addSum(l.sums[i*elements:(i+1)*elements], g.add || l.first+i > 0)
		}
	}
}

// addSum adds the sum [m,n] of a block to C, or sets C to it.
func (g *gemm[T]) addSum(sum []T, add bool) {
	for i := range g.m {
		row, s := g.c[i*g.ldc:i*g.ldc+g.n], sum[i*g.n:(i+1)*g.n]
		if add {
			Add(row, row, s)
		} else {
			copy(row, s)
		}
	}
}

// Run computes a part of the blocks.
func (l *longSum[T]) Run(part, parts int) {
	_, astep := strides(l.transA, l.lda)
	bstep, _ := strides(l.transB, l.ldb)
	lo, hi := cut(l.blocks, 1, part, parts)
	for i := lo; i < hi; i++ {
		h, p := l.gemm, (l.first+i)*l.size
		h.k, h.a, h.b = min(l.size, l.k-p), l.a[p*astep:], l.b[p*bstep:]
		h.c, h.ldc, h.add = l.sums[i*l.m*l.n:(i+1)*l.m*l.n], l.n, false
		h.run()
	}
}
