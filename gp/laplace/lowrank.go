package laplace

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

// lowRank keeps R = diag(√h) Vᵀ [k,P], where h are the k largest eigenvalues of H and V
// their eigenvectors. R stands in for the Jacobian of k outputs: H ≈ RᵀR. The eigenvectors
// are found from the smaller of two matrices with the same eigenvalues: JᵀJ has the
// eigenvectors V, and JJᵀ has eigenvectors U with R = UᵀJ.
type lowRank struct {
	functionSpace           // the kept eigenvectors take the place of rows of the Jacobian
	j             []float64 // R
	rank          int       // number of eigenvectors to keep
	inner         structure // of all of H; nil when finished or restored
}

const defaultRank = 100

func newLowRank(s *scanner, inner structure, rank int) structure {
	return &lowRank{functionSpace: functionSpace{scanner: s}, rank: cmp.Or(rank, defaultRank), inner: inner}
}

func (l *lowRank) elements() int {
	switch l.inner.(type) {
	case nil, *functionSpace:
		return l.params * l.outputs // of the rows that R is multiplied with
	}
	return l.inner.elements()
}

// bytes: an eigenvalue problem takes four matrices, of which full has three.
func (l *lowRank) bytes() int64 {
	if l.inner == nil {
		return 8 * (3*int64(l.n)*int64(l.n) + int64(l.n)*int64(l.params)) // G, its factor and the factor before; R
	}
	n := int64(l.inner.(interface{ order() int }).order())
	k := min(n, int64(l.rank))
	return l.inner.bytes() + 8*(2*n*n+k*int64(l.params)+2*k*k)
}

func (l *lowRank) allocate() { l.inner.allocate() }

func (l *lowRank) add(b batch) error { return l.inner.add(b) }

func (l *lowRank) finish(ctx context.Context) error {
	if err := cmp.Or(l.inner.finish(ctx), ctx.Err()); err != nil {
		return err
	}
	var err error
	if f, ok := l.inner.(*functionSpace); ok {
		err = l.fromRows(ctx, f)
	} else {
		err = l.fromMatrix(l.inner.(interface{ matrix() []float64 }).matrix())
	}
	l.inner = nil
	if err != nil {
		return err
	}
	return l.square(ctx)
}

// decompose returns the eigenvalues and the eigenvectors of a [n,n], which it overwrites. It sets
// how many eigenvalues are kept, and makes room for R and G.
func (l *lowRank) decompose(n int, a []float64) (values, vectors []float64, err error) {
	if values, vectors, err = eigen.Symmetric(n, a); err != nil {
		return nil, nil, err
	}
	l.n = l.leading(values)
	l.j, l.a = make([]float64, l.n*l.params), make([]float64, l.n*l.n)
	return values, vectors, nil
}

// square computes G.
func (l *lowRank) square(ctx context.Context) error {
	l.rows = wholeRows{l.scanner, l.n, l.j}
	return l.functionSpace.finish(ctx)
}

// leading returns how many of the eigenvalues, which ascend, are kept: the largest, at most rank
// and at least one, without the eigenvalues that are 0 up to rounding.
func (l *lowRank) leading(values []float64) (k int) {
	const rounding = 0x1p-52
	n := len(values)
	for k < min(n, l.rank) && values[n-1-k] > float64(n)*rounding*values[n-1] {
		k++
	}
	return max(1, k)
}

// fromMatrix takes the eigenvectors of H [P,P], which it overwrites.
func (l *lowRank) fromMatrix(h []float64) error {
	p := l.params
	if err := l.checkMatrix(h); err != nil {
		return err
	}
	values, vectors, err := l.decompose(p, h)
	if err != nil {
		return err
	}
	for i := range l.n {
		column := p - 1 - i
		root := math.Sqrt(max(0, values[column]))
		for r := range p {
			l.j[i*p+r] = root * vectors[r*p+column]
		}
	}
	return nil
}

// fromRows takes the eigenvectors of JJᵀ, which it overwrites.
func (l *lowRank) fromRows(ctx context.Context, f *functionSpace) error {
	if i, v := kernel.FirstNonFinite(f.a); i >= 0 {
		return fmt.Errorf("laplace: the squared derivatives at example %d sum to %g", i/f.n/f.outputs, v)
	}
	_, vectors, err := l.decompose(f.n, f.a)
	if err != nil {
		return err
	}
	first := f.n - l.n // of the eigenvectors, in columns
	f.eachTile(ctx, make([]float64, f.tileSize()), func(_, lo, cols int, tile []float64) {
		kernel.Gemm(true, false, l.n, cols, f.n, 1, vectors[first:], f.n, tile, cols, 0, l.j[lo:], l.params)
	})
	return ctx.Err()
}

// wholeRows are dataRows without factors, [n,P].
type wholeRows struct {
	*scanner           // says how weights are numbered
	n        int       // number of rows
	j        []float64 // the rows [n,P]
}

func (r wholeRows) cross(b batch, c scales, _ bool, out []float64, ld int) error {
	m := b.size()
	rows := b.take(m * r.params)
	if err := b.jacobian(rows, r.params); err != nil {
		return err
	}
	beta := 0.0
	for i, k := range r.blocks {
		t := c.of(i)
		kernel.Gemm(false, true, m, r.n, k.size(), t*t, rows[k.offset:], r.params, r.j[k.offset:], r.params, beta, out, ld)
		beta = 1
	}
	return nil
}

func (r wholeRows) single() bool { return false }

func (r wholeRows) square(ctx context.Context, c scales, g []float64, _ func(done, total int)) error {
	if c.t == nil {
		clear(g)
		return addSquare(ctx, false, r.n, r.params, r.j, g)
	}
	beta := 0.0
	for i, k := range r.blocks {
		kernel.Syrk(false, r.n, k.size(), c.t[i]*c.t[i], r.j[k.offset:], r.params, beta, g, r.n)
		beta = 1
	}
	return ctx.Err()
}

func (r wholeRows) columns(_, lo, cols int, dst []float64) {
	for i := range r.n {
		copy(dst[i*cols:(i+1)*cols], r.j[i*r.params+lo:])
	}
}
