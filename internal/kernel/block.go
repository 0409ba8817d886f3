package kernel

// The product is computed in blocks that fit the caches. A block of A, of blockBytes, stays
// in the second level cache while it is multiplied by one panel of B after the other. The
// panels stream through the first level cache. A panel of at most blockSteps·tileBytes = 65 KiB
// is longer than this cache could hold, because longer panels mean fewer passes over C, which
// comes from memory.
const (
	blockSteps = 520
	blockBytes = 480 << 10
	blockCols  = 2048
	stepUnit   = 4 // a vector of a quad lies in one block

	// directRows is the height of C up to which packing an untransposed B
	// costs more than reading it in place.
	directRows = 24

	// stridedCols is the width of C up to which packing an untransposed A costs
	// more than reading its rows in place. Rows that are a multiple of setBytes apart
	// would push each other out of the caches. Such rows are read a few at a time, while B
	// stays in the second level cache. If B is too large for this cache, the rows are copied
	// with rowSlack elements between them.
	stridedCols = 512
	setBytes    = 2048
	rowSlack    = 16

	// packSlack is the number of elements that packRows may write past the end.
	packSlack = 16
)

// gemm is C = alpha·op(A)·op(B), added to C if add is set.
type gemm[T Float] struct {
	transA, transB bool // whether op transposes A, and B
	m, n, k        int  // C is [m,n]; each element is a sum of k products
	alpha          T    // factor of the product
	a              []T  // A, [m,k] or transposed
	lda            int  // elements between the rows of a
	b              []T  // B, [k,n] or transposed, or its panels
	ldb            int  // elements between the rows of b
	c              []T  // C [m,n]
	ldc            int  // elements between the rows of c
	add            bool // whether the product is added to C
	panels         bool // b holds all panels, see Panels
	quads          int  // how many of the last columns are in quads
}

// run computes the product on the calling goroutine.
func (g *gemm[T]) run() {
	if !g.delegate() {
		g.blocks()
	}
}

// blocks computes the product block by block.
func (g *gemm[T]) blocks() {
	w := spaces[T]().get()
	steps := g.steps()
	for j := 0; j < g.n; j += blockCols {
		for p := 0; p < g.k; p += steps {
			g.stripe(w, p, min(steps, g.k-p), j, min(blockCols, g.n-j))
		}
	}
	spaces[T]().put(w)
}

// steps returns the number of steps in a block of the sum.
func (g *gemm[T]) steps() int {
	blocks := (g.k + blockSteps - 1) / blockSteps
	steps := (g.k + blocks - 1) / blocks
	return (steps + stepUnit - 1) / stepUnit * stepUnit
}

// stripe adds k steps of the sum, from step p on, to n columns of C, from column j on.
func (g *gemm[T]) stripe(w *workspace[T], p, k, j, n int) {
	direct := g.packB(w, p, k, j, n)
	rows := blockBytes / (sizeOf[T]() * blockSteps) / tileRows * tileRows
	for i := 0; i < g.m; i += rows {
		m := min(rows, g.m-i)
		g.block(w, i, m, p, k, j, n, g.packA(w, i, m, p, k), direct)
	}
}

// rowsA describes the rows of a block of A. The first count rows are read in place. The other rows are
// in the workspace, packed or copied.
type rowsA[T Float] struct {
	a      []T  // A from the first row and step of the block on
	ld     int  // elements between the rows of a
	count  int  // number of rows that are read in place
	copied int  // elements between the copied rows; 0 if the rows are packed
	few    bool // whether a few rows at a time are multiplied by all columns
}

// packA gets the m×k block of A at row i and column p ready. If rows need no packing, packA copies only
// the rows below the last full panel.
func (g *gemm[T]) packA(w *workspace[T], i, m, p, k int) rowsA[T] {
	if g.quads == 0 && (!strided() || g.transA || g.n > stridedCols) {
		w.a = pack(w.a, g.a, !g.transA, g.lda, i, m, p, k, tileRows)
		return rowsA[T]{}
	}
	if g.transA {
		ld := w.rows(m, k)
		transpose(w.a, ld, g.a[p*g.lda+i:], g.lda, k, m)
		return rowsA[T]{copied: ld}
	}
	r := rowsA[T]{a: g.a[i*g.lda+p:], ld: g.lda, count: m / tileRows * tileRows}
	if g.lda*sizeOf[T]()%setBytes == 0 {
		if r.few = g.n*k*sizeOf[T]() <= blockBytes; !r.few {
			r.count = 0
		}
	}
	if r.count < m {
		r.copied = w.rows(m-r.count, k)
		for y := r.count; y < m; y++ {
			copy(w.a[(y-r.count)*r.copied:][:k], r.a[y*r.ld:])
		}
	}
	return r
}

// rows makes room in a for m rows of k elements and returns the number of elements between the rows,
// which is not a multiple of setBytes. There is room for whole panels, because products read whole panels.
func (w *workspace[T]) rows(m, k int) (ld int) {
	ld = k + rowSlack
	if ld*sizeOf[T]()%setBytes == 0 {
		ld += rowSlack
	}
	w.a = grow(w.a, (m+tileRows-1)/tileRows*tileRows*ld)
	return ld
}

// panel returns the rows of a tile from row y on, and the distances between rows and steps.
func (r *rowsA[T]) panel(w *workspace[T], y, k int) (a []T, arow, astep int) {
	switch {
	case y < r.count:
		return r.a[y*r.ld:], r.ld, 1
	case r.copied > 0:
		return w.a[(y-r.count)*r.copied:], r.copied, 1
	}
	return w.a[y*k:], 1, tileRows
}

// packB packs the k×n block of B at row p and column j. If columns can be read in place, packB
// packs only the columns right of the last full panel. It returns the number of columns to be
// read in place.
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
// and column j. The first directB columns are not packed.
func (g *gemm[T]) block(w *workspace[T], i, m, p, k, j, n int, rows rowsA[T], directB int) {
	width, wide := tileCols[T](), n-g.quads
	high, across := (m+tileRows-1)/tileRows, (wide+width-1)/width
	tiles := across + (g.quads+quadCols-1)/quadCols
	for t := range high * tiles {
		y, x := t%high*tileRows, t/high
		if rows.few {
			y, x = t/tiles*tileRows, t%tiles
		}
		a, arow, astep := rows.panel(w, y, k)
		c, most, add := g.c[(i+y)*g.ldc+j:], min(tileRows, m-y), g.add || p > 0
		if x >= across {
			x = (x - across) * quadCols
			b := g.b[wide*g.k+x/quadCols*quadLen[T](g.k)+p*quadCols:]
			quad(k, a, arow, b, c[wide+x:], g.ldc, most, min(quadCols, g.quads-x), add)
			continue
		}
		x *= width
		b, ldb := g.panel(w, x, p, k, j, wide, directB)
		ahead, pace := 0, 0
		if g.panels { // each tile fetches a share of the next panel, so that no tile waits for memory
			pace = (ldb*sizeOf[T]() + high - 1) / high
			ahead = k * (ldb*sizeOf[T]() + y/tileRows*pace)
		}
		tile(k, g.alpha, a, arow, astep, b, ldb, c[x:], g.ldc, most, min(width, wide-x), add, ahead, pace)
	}
}

// panel returns the panel of B with column j+x, from step p on, and the number of elements between steps.
func (g *gemm[T]) panel(w *workspace[T], x, p, k, j, wide, direct int) (b []T, ldb int) {
	width := tileCols[T]()
	if g.quads > 0 {
		width = min(width, wide-x)
	}
	switch {
	case g.panels:
		return g.b[(j+x)*g.k+p*width:], width
	case x < direct:
		return g.b[p*g.ldb+j+x:], g.ldb
	}
	return w.b[(x-direct)*k:], width
}

// pack copies count rows of src, from row i on, with k elements each, from element p on;
// unless byRow is set it copies columns instead. The copies go into panels of the given width:
// element x of step q of a panel is at q·width+x. pack returns buf, which it grows where needed.
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
