package laplace

import (
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// weighted writes the rows of Λ^½ J to the front of dst, for rows of J with so many
// columns at the front of src, and returns them. Λ is the identity, and the result
// src itself, or diag(p) − ppᵀ = Σ_c p_c (e_c − p)(e_c − p)ᵀ, which has no inverse but
// this root: row c is √p_c (J_c − Σ_k p_k J_k).
func weighted[T kernel.Float](b batch, dst, src []T, width int) []T {
	if b.probs == nil {
		return src
	}
	kernel.Parallel(kernel.Threads(), weighting[T]{b, dst, src, width})
	return dst[:b.size()*width]
}

// weighting is the kernel.Job of weighted.
type weighting[T kernel.Float] struct {
	b        batch
	dst, src []T
	width    int
}

// Run implements kernel.Job.
func (w weighting[T]) Run(part, parts int) {
	mean, c, width := make([]T, w.width), w.b.outputs, w.width
	for i := w.b.count * part / parts; i < w.b.count*(part+1)/parts; i++ {
		p := w.b.probs[i*c : (i+1)*c]
		clear(mean)
		for k, v := range p {
			r := (i*c + k) * width
			kernel.Axpy(T(v), w.src[r:r+width], mean)
		}
		for k, v := range p {
			r := (i*c + k) * width
			kernel.Sub(w.dst[r:r+width], w.src[r:r+width], mean)
			kernel.Scale(w.dst[r:r+width], T(math.Sqrt(v)), w.dst[r:r+width])
		}
	}
}

// total is a sum over batches: over a few in the precision of the network, in which
// products add to it, over all in float64.
type total[T kernel.Float] struct {
	recent  []T
	sum     []float64
	batches int
}

func newTotal[T kernel.Float](n int) *total[T] {
	return &total[T]{recent: make([]T, n), sum: make([]float64, n)}
}

// next ends a batch.
func (t *total[T]) next() {
	const few = 8
	if t.batches++; t.batches%few == 0 {
		t.flush()
	}
}

func (t *total[T]) flush() {
	for i, v := range t.recent {
		t.sum[i] += float64(v)
	}
	clear(t.recent)
}

// all ends the sum.
func (t *total[T]) all() []float64 {
	t.flush()
	return t.sum
}

// addGram adds vᵀ v for rows v [·,n] to the lower triangle of sum [n,n], in blocks of
// columns; what they hold above the diagonal does not count.
func addGram[T kernel.Float](sum, v []T, n int) {
	const tile = 16
	blocks := (n + 127) / 128
	size := (n/blocks + tile) / tile * tile
	for lo := 0; lo < n; lo += size {
		cols := min(size, n-lo)
		kernel.Gemm(true, false, n-lo, cols, len(v)/n, 1, v[lo:], n, v[lo:], n, 1, sum[lo*n+lo:], n)
	}
}

// mirror copies the lower triangle of a [n,n] on the upper one.
func mirror(a []float64, n int) {
	for i := range n {
		for j := range i {
			a[j*n+i] = a[i*n+j]
		}
	}
}
