package kernel

// The product is computed in blocks that fit the caches. A block of A, of blockBytes, stays
// in the second level cache while it is multiplied by one panel of B after the other. The
// panels stream through the first level cache. They are longer than it could hold (at most
// blockSteps·tileBytes = 65 KiB), because longer panels mean fewer passes over C, which
// comes from memory.
const (
	blockSteps = 520
	blockBytes = 480 << 10
	blockCols  = 2048

	// directRows is the height of C up to which packing an untransposed B
	// costs more than reading it in place.
	directRows = 24

	// stridedCols is the width of C up to which packing an untransposed A costs
	// more than reading its rows. They are read in place. Where they are a multiple of
	// setBytes apart and would push each other out of the caches, they are read a few at a
	// time, while B stays in the second level cache, or, if B is too large for that, copied
	// with rowSlack elements between them.
	stridedCols = 512
	setBytes    = 2048
	rowSlack    = 16

	// packSlack is the number of elements that packRows may write past the end.
	packSlack = 16
)

// gemm is C = alpha·op(A)·op(B), added to C if add is set.
type gemm[T Float] struct {
	transA, transB bool
	m, n, k        int
	alpha          T
	a              []T
	lda            int
	b              []T
	ldb            int
	c              []T
	ldc            int
	add            bool
	panels         bool // b holds all panels, see Panels
}

// run computes the product on the calling goroutine.
func (g *gemm[T]) run() {
	if g.delegate() {
		return
	}
	w := spaces[T]().get()
	blocks := (g.k + blockSteps - 1) / blockSteps
	steps := (g.k + blocks - 1) / blocks
	for j := 0; j < g.n; j += blockCols {
		for p := 0; p < g.k; p += steps {
			g.stripe(w, p, min(steps, g.k-p), j, min(blockCols, g.n-j))
		}
	}
	spaces[T]().put(w)
}

// stripe adds to n columns of C, from column j on, what k steps of the sum, from step p on,
// contribute.
func (g *gemm[T]) stripe(w *workspace[T], p, k, j, n int) {
	direct := g.packB(w, p, k, j, n)
	rows := blockBytes / (sizeOf[T]() * blockSteps) / tileRows * tileRows
	for i := 0; i < g.m; i += rows {
		m := min(rows, g.m-i)
		g.block(w, i, m, p, k, j, n, g.packA(w, i, m, p, k), direct)
	}
}

// rowsA are rows of a block of A that are not packed: count of them, ld elements apart.
type rowsA[T Float] struct {
	a         []T
	ld, count int
	few       bool // a few rows at a time are multiplied by all columns
}

// packA packs the m×k block of A at row i and column p. If rows need no packing, it packs only
// those that are left, below the last full panel. It returns the rows that it does not pack.
func (g *gemm[T]) packA(w *workspace[T], i, m, p, k int) (rows rowsA[T]) {
	if strided() && !g.transA && g.n <= stridedCols {
		rows = rowsA[T]{from(g.a, i*g.lda+p), g.lda, m / tileRows * tileRows, false}
		if g.lda*sizeOf[T]()%setBytes == 0 {
			if rows.few = g.n*k*sizeOf[T]() <= blockBytes; !rows.few {
				rows.apart(w, m, k)
			}
		}
	}
	if rows.count < m {
		w.a = pack(w.a, g.a, !g.transA, g.lda, i+rows.count, m-rows.count, p, k, tileRows)
	}
	return rows
}

// apart copies m rows of k elements, so that they are not a multiple of setBytes apart. Panels
// are read as a whole, whatever lies behind the last row.
func (r *rowsA[T]) apart(w *workspace[T], m, k int) {
	ld := k + rowSlack
	if ld*sizeOf[T]()%setBytes == 0 {
		ld += rowSlack
	}
	w.a = grow(w.a, (m+tileRows-1)/tileRows*tileRows*ld)
	for i := range m {
		copy(w.a[i*ld:i*ld+k], r.a[i*r.ld:])
	}
	*r = rowsA[T]{w.a, ld, m, false}
}

// packB packs the k×n block of B at row p and column j. If columns can be read in place, it
// packs only those right of the last full panel. It returns the number of columns to be
// read where they are.
func (g *gemm[T]) packB(w *workspace[T], p, k, j, n int) (direct int) {
	width := tileCols[T]()
	if g.panels {
		return n
	}
	if !g.transB && g.m <= directRows {
		direct = n / width * width
	}
	if direct < n {
		w.b = pack(w.b, g.b, g.transB, g.ldb, j+direct, n-direct, p, k, width)
	}
	return direct
}

// block multiplies the m×k block of A at row i and column p by the k×n block of B at row p
// and column j. The rows in direct and the first directB columns are not packed; the others are.
func (g *gemm[T]) block(w *workspace[T], i, m, p, k, j, n int, direct rowsA[T], directB int) {
	width := tileCols[T]()
	rows, cols := (m+tileRows-1)/tileRows, (n+width-1)/width
	for t := range rows * cols {
		y, x := t%rows*tileRows, t/rows*width
		if direct.few {
			y, x = t/cols*tileRows, t%cols*width
		}
		b, ldb := []T(nil), width
		switch {
		case g.panels:
			b = g.b[(j+x)*g.k+p*width:]
		case x < directB:
			b, ldb = g.b[p*g.ldb+j+x:], g.ldb
		default:
			b = w.b[(x-directB)*k:]
		}
		var a []T
		arow, astep := 1, tileRows
		if y < direct.count {
			a, arow, astep = direct.a[y*direct.ld:], direct.ld, 1
		} else {
			a = w.a[(y-direct.count)*k:]
		}
		tile(k, g.alpha, a, arow, astep, b, ldb, g.c[(i+y)*g.ldc+j+x:], g.ldc,
			min(tileRows, m-y), min(width, n-x), g.add || p > 0)
	}
}

// pack copies count rows of src, from row i on, with k elements each, from element p on;
// unless byRow is set it copies columns instead. They go into panels of the given width:
// element x of step q of a panel is at q·width+x. It returns buf, grown where needed.
func pack[T Float](buf, src []T, byRow bool, ld, i, count, p, k, width int) []T {
	buf = grow(buf, (count+width-1)/width*width*k+packSlack)
	for x := 0; x < count; x += width {
		height := min(width, count-x)
		if byRow {
			packCols(buf[x*k:], src[(i+x)*ld+p:], ld, k, width, height)
		} else {
			packRows(buf[x*k:], src[p*ld+i+x:], ld, k, width, height)
		}
	}
	return buf
}
