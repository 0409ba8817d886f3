package kernel

// A product with a single row reads the matrix once, because packing would cost more than the product. Each
// element is summed in the order of the tiles, so that a row has the same bits alone and in any batch.

const (
	// rowBytes is the size from which on a matrix lies in memory rather than in a cache. Such a matrix
	// is read rowSteps rows at a time.
	rowBytes = 1 << 20
	rowSteps = 16

	rowStripBytes = 256 // bytes of the columns that are summed at a time
)

// row computes the single row of C, where B is not transposed.
func (g *gemm[T]) row() {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	_, xstep := strides(g.transA, g.lda)
	add, steps := g.add, g.steps()
	for p := 0; p < g.k; p += steps {
		k, x, y := min(steps, g.k-p), g.a[p*xstep:], g.c[:g.n]
		sums := g.alpha != 1 || add // which are not yet the elements of C
		if sums {
			w.x = grow(w.x, g.n)
			y = w.x
		}
		g.rowTimes(w, y, p, k, x, xstep)
		if sums {
			g.put(y, add)
		}
		add = true
	}
}

// put writes sums, times alpha, to the single row of C. It adds them to the row if add is set.
func (g *gemm[T]) put(sums []T, add bool) {
	if fastPut(g.c, sums, g.alpha, add) {
		return
	}
	for i, v := range sums {
		v *= g.alpha
		if add {
			v = T(v) + g.c[i]
		}
		g.c[i] = v
	}
}

// rowTimes sets y to the sum of k rows of B, from row p on, each times an element of x, xstep apart.
func (g *gemm[T]) rowTimes(w *workspace[T], y []T, p, k int, x []T, xstep int) {
	if g.panels {
		g.panelTimes(w, y, p, k, x, xstep)
		return
	}
	strip := rowStripBytes / sizeOf[T]()
	whole := len(y) / strip * strip
	b := g.b[p*g.ldb:]
	if len(y)*k*sizeOf[T]() < rowBytes || whole == 0 {
		sumRows(y, b, g.ldb, strip/2, x, xstep, k, false)
		return
	}
	for q := 0; q < k; q += rowSteps {
		sumRows(y[:whole], b[q*g.ldb:], g.ldb, strip/2, x[q*xstep:], xstep, min(rowSteps, k-q), q > 0)
	}
	if whole < len(y) {
		sumRows(y[whole:], b[whole:], g.ldb, strip/2, x, xstep, k, false)
	}
}

// panelTimes is rowTimes for panels, two at a time.
func (g *gemm[T]) panelTimes(w *workspace[T], y []T, p, k int, x []T, xstep int) {
	width, wide, j := tileCols[T](), g.n-g.quads, 0
	for ; j+2*width <= wide && fastRow(y[j:j+2*width], g.b[j*g.k+p*width:], width, g.k*width, x, xstep, k, false); j += 2 * width {
	}
	for ; j < wide; j += width {
		ld := width
		if g.quads > 0 {
			ld = min(width, wide-j)
		}
		sumRows(y[j:min(j+width, wide)], g.b[j*g.k+p*ld:], ld, 0, x, xstep, k, false)
	}
	if g.quads > 0 {
		x = gather(w, x, k, xstep)
	}
	for j := 0; j < g.quads; j += quadCols {
		b := g.b[wide*g.k+j/quadCols*quadLen[T](g.k)+p*quadCols:]
		quad(k, x, 0, b, y[wide+j:], 0, 1, min(quadCols, g.quads-j), false)
	}
}

// sumRows sets y to the sum of k rows of b, ldb apart, each times an element of x, xstep apart. If add
// is set, the sums in y are the start of the sum. The second half of a strip of columns lies half
// elements behind the first half.
func sumRows[T Float](y, b []T, ldb, half int, x []T, xstep, k int, add bool) {
	if fastRow(y, b, ldb, half, x, xstep, k, add) {
		return
	}
	if !add {
		clear(y)
	}
	if xstep == 1 {
		axpyRows(y, b, ldb, x[:k])
		return
	}
	for p := range k {
		Axpy(x[p*xstep], b[p*ldb:][:len(y)], y)
	}
}
