package eigen

import (
	"context"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// Blocks is a block tridiagonal matrix with the eigenvalues of a symmetric matrix A [n,n]. Blocks gives
// the log determinant of A + sI and the trace of its inverse for any s in time proportional to n, where
// a Cholesky factor takes n³/3 multiplications. The reduction of A to Blocks takes as long as two
// factors. It is the first of the two stages of a tridiagonal reduction (Bischof, Lang and Sun 2000, "A
// framework for symmetric band reduction") and consists of matrix products.
type Blocks struct {
	n        int         // order of the matrix
	diagonal [][]float64 // [w,w], the lower triangle
	below    [][]float64 // [w',w], between a block and the next one, of w' rows
}

const (
	blockWidth = 96  // w
	stripe     = 512 // columns of A that are multiplied at a time
)

// NewBlocks reduces the symmetric A [n,n], of which it reads the lower triangle and which it
// overwrites. It returns ctx's error if ctx ends first.
func NewBlocks(ctx context.Context, n int, a []float64) (*Blocks, error) {
	b := &Blocks{n: n}
	r := newReduction(n, a)
	for k := 0; k < n; k += blockWidth {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w, m := min(blockWidth, n-k), n-k-blockWidth
		if m > blockWidth {
			r.step(k)
		}
		b.diagonal = append(b.diagonal, part(a[k*n+k:], n, w, w))
		if m > 0 {
			b.below = append(b.below, part(a[(k+w)*n+k:], n, min(w, m), w))
		}
	}
	return b, nil
}

// part returns a copy of rows×cols elements of a, whose rows are lda elements apart.
func part(a []float64, lda, rows, cols int) []float64 {
	out := make([]float64, rows*cols)
	for i := range rows {
		copy(out[i*cols:(i+1)*cols], a[i*lda:])
	}
	return out
}

// reduction is the memory of a reduction to Blocks.
type reduction struct {
	n                int       // order of the matrix
	a                []float64 // the matrix [n,n], which the steps overwrite
	columns          []float64 // a panel [w,m], its columns as rows
	yx, xy           []float64 // [Y X] and [X Y], [m,2w]
	z                []float64 // [m,w]
	t, gram, product []float64 // [w,w]
}

func newReduction(n int, a []float64) *reduction {
	const w = blockWidth
	m := max(0, n-w)
	take := func(n int) []float64 { return make([]float64, n) }
	return &reduction{n: n, a: a, columns: take(w * m), yx: take(2 * w * m), xy: take(2 * w * m), z: take(w * m),
		t: take(w * w), gram: take(w * w), product: take(w * w)}
}

// step makes the panel below the diagonal block at k upper triangular by a product with Q = I − YTYᵀ
// from the left. It multiplies the rest A of the matrix by Q from both sides. With Z = AYT,
//
//	QᵀAQ = A − YXᵀ − XYᵀ,   X = Z − ½ Y TᵀYᵀZ.
func (r *reduction) step(k int) {
	const w = blockWidth
	m := r.n - k - w
	r.panel(r.a[(k+w)*r.n+k:], m)
	rest := r.a[(k+w)*r.n+k+w:]
	r.multiply(rest, m)
	y, x := r.yx, r.xy
	kernel.Gemm(true, false, w, w, m, 1, y, 2*w, r.z, w, 0, r.product, w)
	kernel.Gemm(true, false, w, w, w, -0.5, r.t, w, r.product, w, 0, r.gram, w)
	for i := range m {
		copy(x[i*2*w:i*2*w+w], r.z[i*w:])
		copy(x[i*2*w+w:(i+1)*2*w], y[i*2*w:])
	}
	kernel.Gemm(false, false, m, w, w, 1, y, 2*w, r.gram, w, 1, x, 2*w)
	for i := range m {
		copy(y[i*2*w+w:(i+1)*2*w], x[i*2*w:])
	}
	for j := 0; j < m; j += stripe {
		kernel.Gemm(false, true, m-j, min(stripe, m-j), 2*w, -1, y[j*2*w:], 2*w, x[j*2*w:], 2*w, 1, rest[j*r.n+j:], r.n)
	}
}

// panel makes the panel [m,w] at p upper triangular by reflections, and writes Y and T.
func (r *reduction) panel(p []float64, m int) {
	const w = blockWidth
	c := r.columns[:w*m]
	kernel.Transpose(c, m, p, r.n, m, w)
	clear(r.t)
	for j := range w {
		v := c[j*m+j : (j+1)*m]
		beta, tau := reflect(v)
		v[0], r.t[j*w+j] = 1, tau
		reflectRest := func(from, to int) { // applies I − τvvᵀ to columns after j
			for k := j + 1 + from; k < j+1+to; k++ {
				u := c[k*m+j : (k+1)*m]
				kernel.Axpy(-tau*kernel.Dot(v, u), v, u)
			}
		}
		kernel.Parallel(min(kernel.Threads(), w-1-j), kernel.Span{N: w - 1 - j, F: reflectRest})
		for i := range m {
			switch {
			case i < j:
				r.yx[i*2*w+j] = 0
			default:
				r.yx[i*2*w+j] = v[i-j]
			}
		}
		for i := range j {
			p[i*r.n+j] = c[j*m+i]
		}
		p[j*r.n+j] = beta
		for i := j + 1; i < w; i++ {
			p[i*r.n+j] = 0
		}
	}
	r.triangle(m)
}

// triangle computes T, which is the upper triangle with I − YTYᵀ = Π_j (I − τ_j v_j v_jᵀ), from its diagonal τ.
func (r *reduction) triangle(m int) {
	const w = blockWidth
	kernel.Syrk(true, w, m, 1, r.yx, 2*w, 0, r.gram, w)
	for j := 1; j < w; j++ {
		for i := range j {
			sum := 0.0
			for l := i; l < j; l++ {
				sum += r.t[i*w+l] * r.gram[l*w+j]
			}
			r.t[i*w+j] = -r.t[j*w+j] * sum
		}
	}
}

// multiply sets Z = AYT for the lower triangle of A [m,m].
func (r *reduction) multiply(a []float64, m int) {
	const w = blockWidth
	u, y := r.columns[:m*w], r.yx // A Y
	clear(u)
	for j := 0; j < m; j += stripe {
		cols := min(stripe, m-j)
		block, rows := a[j*r.n+j:], m-j-cols
		kernel.CopyLower(cols, block, r.n)
		kernel.Gemm(false, false, m-j, w, cols, 1, block, r.n, y[j*2*w:], 2*w, 1, u[j*w:], w)
		if rows > 0 {
			kernel.Gemm(true, false, cols, w, rows, 1, block[cols*r.n:], r.n, y[(j+cols)*2*w:], 2*w, 1, u[j*w:], w)
		}
	}
	kernel.Gemm(false, false, m, w, w, 1, u, w, r.t, w, 0, r.z, w)
}

// Shifted returns log det(A + sI) and tr (A + sI)⁻¹. If A + sI is not positive definite, pivot is the
// number of a pivot that is not positive. Otherwise pivot is −1.
//
// The Cholesky factor has the blocks L_i on the diagonal and the blocks E_i below. The blocks G_i on the
// diagonal of the inverse follow in reverse order: G_i = L_i⁻ᵀ (I + E_iᵀ G_i+1 E_i) L_i⁻¹.
func (b *Blocks) Shifted(s float64) (logDet, trace float64, pivot int) {
	factors, belows := make([][]float64, len(b.diagonal)), make([][]float64, len(b.below))
	for i, d := range b.diagonal {
		w := b.width(i)
		l := append([]float64(nil), d...)
		for k := range w {
			l[k*w+k] += s
		}
		if i > 0 {
			kernel.Syrk(false, w, blockWidth, -1, belows[i-1], blockWidth, 1, l, w)
		}
		if p := kernel.Cholesky(w, l, w); p >= 0 {
			return 0, 0, i*blockWidth + p
		}
		for k := range w {
			logDet += 2 * math.Log(l[k*w+k])
		}
		factors[i] = l
		if i < len(b.below) {
			e := append([]float64(nil), b.below[i]...)
			kernel.Trsm(true, true, b.width(i+1), w, l, w, e, w)
			belows[i] = e
		}
	}
	return logDet, b.inverseTrace(factors, belows), -1
}

// width returns the order of block i on the diagonal.
func (b *Blocks) width(i int) int { return min(blockWidth, b.n-i*blockWidth) }

// inverseTrace returns the trace of the inverse of the matrix with the factor blocks l and e.
func (b *Blocks) inverseTrace(l, e [][]float64) (trace float64) {
	var next []float64 // G_i+1
	for i := len(l) - 1; i >= 0; i-- {
		w := b.width(i)
		g := make([]float64, w*w)
		if next != nil {
			v := b.width(i + 1)
			half := make([]float64, v*w)
			kernel.Gemm(false, false, v, w, v, 1, next, v, e[i], w, 0, half, w)
			kernel.Gemm(true, false, w, w, v, 1, e[i], w, half, w, 0, g, w)
		}
		for k := range w {
			g[k*w+k]++
		}
		kernel.Trsm(false, true, w, w, l[i], w, g, w)
		kernel.Trsm(true, false, w, w, l[i], w, g, w)
		for k := range w {
			trace += g[k*w+k]
		}
		next = g
	}
	return trace
}
