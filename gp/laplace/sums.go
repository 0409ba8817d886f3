package laplace

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
)

// lambda is Λ of each example of a batch, in the form of likelihood.Root.
type lambda struct{ weights, mean []float64 } // [count·C]

// lambdaOf returns Λ of each example with the targets y, which may be nil, and the outputs f, until the next batch.
func (s *scanner) lambdaOf(l likelihood.Likelihood, y, f []float64) *lambda {
	n, r := len(f), &s.lambda
	if len(r.weights) < n {
		r.weights, r.mean = make([]float64, n), make([]float64, n)
	}
	for i := 0; i < n; i += s.outputs {
		likelihood.RootOf(l, r.weights[i:i+s.outputs], r.mean[i:i+s.outputs], rowOf(y, i, n, s.outputs), f[i:i+s.outputs])
	}
	return r
}

// weighting is the kernel.Job that writes rows of Λ^½ J. It keeps its memory from batch to batch.
type weighting[T kernel.Float] struct {
	b        batch // the batch at hand
	dst, src []T   // rows of Λ^½ J and of J [count·C,width]
	width    int   // columns of a row
	means    []T   // [parts,width]
}

// weighted writes the rows of Λ^½ J to the front of dst, for rows of J [count·C, width] at
// the front of src, and returns them. Row c is √w_c (J_c − Σ_k m_k J_k), see
// likelihood.Root, or where Λ is the identity J_c: then the result is src itself.
func (w *weighting[T]) weighted(b batch, dst, src []T, width int) []T {
	if b.lambda == nil {
		return src
	}
	kernel.Parallel(w.set(b, dst, src, width), w)
	return dst[:b.size()*width]
}

// set prepares for a batch, and returns the number of parts for which it has made room.
func (w *weighting[T]) set(b batch, dst, src []T, width int) (parts int) {
	w.b, w.dst, w.src, w.width = b, dst, src, width
	parts = kernel.Threads()
	if n := 2 * parts * width; len(w.means) < n {
		w.means = make([]T, n)
	}
	return parts
}

// own returns two rows of a part's own.
func (w *weighting[T]) own(part int) (mean, row []T) {
	mean = w.means[2*part*w.width:]
	return mean[:w.width], mean[w.width : 2*w.width]
}

// Run implements kernel.Job: it takes one part of the examples.
func (w *weighting[T]) Run(part, parts int) {
	mean, _ := w.own(part)
	for i := w.b.count * part / parts; i < w.b.count*(part+1)/parts; i++ {
		w.mean(i, mean)
		for k := range w.b.outputs {
			w.row(i, k, mean, w.dst[(i*w.b.outputs+k)*w.width:])
		}
	}
}

// of returns row k of example i.
func (w *weighting[T]) of(i, k int) []T {
	r := (i*w.b.outputs + k) * w.width
	return w.src[r : r+w.width]
}

// mean sets mean to Σ_k m_k J_k for example i.
func (w *weighting[T]) mean(i int, mean []T) {
	clear(mean)
	for k := range w.b.outputs {
		kernel.Axpy(T(w.b.lambda.mean[i*w.b.outputs+k]), w.of(i, k), mean)
	}
}

// row sets the front of dst to √w_k (J_k − mean) for example i.
func (w *weighting[T]) row(i, k int, mean, dst []T) {
	dst = dst[:w.width]
	kernel.Sub(dst, w.of(i, k), mean)
	kernel.Scale(dst, T(math.Sqrt(w.b.lambda.weights[i*w.b.outputs+k])), dst)
}

// squaring is the kernel.Job of summing the squares of Λ^½ J over the outputs of each
// example, to dst [count,width].
type squaring[T kernel.Float] struct{ weighting[T] }

// sum computes them for a batch.
func (s *squaring[T]) sum(b batch, dst, src []T, width int) {
	kernel.Parallel(s.set(b, dst, src, width), s)
}

// Run implements kernel.Job: it takes one part of the examples.
func (s *squaring[T]) Run(part, parts int) {
	mean, row := s.own(part)
	for i := s.b.count * part / parts; i < s.b.count*(part+1)/parts; i++ {
		sum := s.dst[i*s.width : (i+1)*s.width]
		clear(sum)
		if s.b.lambda != nil {
			s.mean(i, mean)
		}
		for k := range s.b.outputs {
			if s.b.lambda == nil {
				kernel.MulAdd(sum, s.of(i, k), s.of(i, k), sum)
				continue
			}
			s.row(i, k, mean, row)
			kernel.MulAdd(sum, row, row, sum)
		}
	}
}

// total is a sum over batches: over a few in the precision of the network, in which
// products add to it, over all in float64.
type total[T kernel.Float] struct {
	recent  []T         // sum over the latest batches
	sum     []float64   // sum over all batches that were flushed
	batches int         // number of batches so far
	patches *patches[T] // whose sums recent holds; nil: it has the form of sum
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
	if t.patches != nil {
		t.patches.spread(t.recent, t.sum)
	} else {
		for i, v := range t.recent {
			t.sum[i] += float64(v)
		}
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
func addGram[T kernel.Float](sum, v []T, n int) { addLower(sum, n, v, v, n) }

// addLower adds the lower triangle of uᵀ v, which is symmetric, for rows u and v [·,n]
// to the lower triangle of sum [n,n], as addGram does.
func addLower[T kernel.Float](sum []T, ld int, u, v []T, n int) {
	const tile = 16
	blocks := (n + 127) / 128
	size := (n/blocks + tile) / tile * tile
	for lo := 0; lo < n; lo += size {
		cols := min(size, n-lo)
		kernel.Gemm(true, false, n-lo, cols, len(v)/n, 1, u[lo:], n, v[lo:], n, 1, sum[lo*ld+lo:], ld)
	}
}
