package kernel

// Where images share the filters, the filters may be packed once, and the pixels that places meet block by block, as in
// Gemm. Tiles of products then take the place of windows. Each sum is computed in the order of windows, so that a result
// does not depend on the number of images.

const (
	packedMany  = 1 << 17 // elements of filters from which on packing pays for images that do not fill a window
	packedBlock = 512     // about the places whose pixels are packed together
	packedBytes = 3 << 19 // most bytes of unfolded images that lie beside each other
	packedSteps = 3       // blocks of windowSteps that are packed together
	packedRun   = 16      // steps that are packed for all places, before the next steps
)

// packs reports whether filters are packed: where windows would copy pixels that lie in place, because they are more than is
// copied at a time, and where an image does not fill a window and filters are many. Of the time of windows this takes, on a Xeon with
// AVX-512, .7 to 1.1 in the first case, and in the second .6 to .9 in float32 and .8 to 1.2 in float64. Elsewhere it takes up to
// 1.9 times as long.
func (c *correlation[T]) packs(v *view) bool {
	if c.n.W > 1 || c.n.Own || c.n.X != c.n.Y || c.stride > 1 || c.out < 2*tileRows {
		return false
	}
	places := v.rows.places * v.cols.places
	if v.inPlace() {
		return v.channels*places*sizeOf[T]() > unfoldBytes
	}
	return places < windowCols[T]() && c.out*v.channels*v.rows.taps*v.cols.taps >= packedMany
}

// inPlace reports whether the places of a filter meet the pixels of an image in their order.
func (v *view) inPlace() bool {
	one := func(a axis) bool { return a.taps == 1 && a.stride == 1 && a.padding == 0 && a.places == a.pixels }
	return one(v.rows) && one(v.cols)
}

// packing computes a correlation of one pass whose filters are packed.
type packing[T Float] struct {
	*correlation[T]
	group   int  // images whose places are packed together
	pieces  int  // of an image, each an item of work
	prepare bool // whether the job is to pack the filters
	panels  []T  // the filters
}

// pack computes all results.
func (c *correlation[T]) pack(j *packing[T], work int) {
	j.correlation, j.group, j.pieces = c, 1, 1
	p := &c.passes[0]
	if p.chunk == p.rows.places { // images whose places are computed in chunks do not lie beside each other
		bytes := max(1, p.channels*p.channelSize(p.chunk)*sizeOf[T]())
		j.group = max(1, min(packedBlock/(p.rows.places*p.cols.places), packedBytes/bytes, ceilDiv(c.n.Y, 2*Threads())))
	}
	if j.group == 1 {
		j.pieces = ceilDiv(p.rows.places, p.chunk)
	}
	size := panelRows(c.out) * len(c.steps)
	j.panels, j.prepare = grow(j.panels, size), true
	Share(Parts(ceilDiv(c.out, tileRows), size, convWork), size, j)
	j.prepare = false
	Share(Parts(j.items(), work, convWork), Nanoseconds(work), j)
}

// panelRows returns n rounded up to whole panels of rows.
func panelRows(n int) int { return ceilDiv(n, tileRows) * tileRows }

// items returns the number of items of work: pieces of an image, or groups of images.
func (j *packing[T]) items() int { return ceilDiv(j.n.Y, j.group) * j.pieces }

// Run packs a part of the filters, or computes a part of the items.
func (j *packing[T]) Run(part, parts int) {
	if j.prepare {
		lo, hi := cut(j.out, tileRows, part, parts)
		for r := lo; r < hi; r += tileRows {
			j.packFilters(r, min(tileRows, hi-r))
		}
		return
	}
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	lo, hi := cut(j.items(), 1, part, parts)
	for item := lo; item < hi; item++ {
		p, first := &j.passes[0], item/j.pieces*j.group
		b := placeBlock{first, min(j.group, j.n.Y-first), 0, p.rows.places}
		if j.pieces > 1 {
			b.row = item % j.pieces * p.chunk
			b.rows = min(p.chunk, p.rows.places-b.row)
		}
		j.compute(w, b)
	}
}

// packFilters packs the filters for count rows from row r on.
func (j *packing[T]) packFilters(r, count int) {
	steps := j.steps
	dst := j.panels[r*len(steps):]
	switch {
	case j.passes[0].inOrder:
		packCols(dst, j.filters[r*j.arow+int(steps[0].a):], j.arow, len(steps), tileRows, count)
	case j.arow == 1 && count == tileRows:
		for i, s := range steps {
			*(*[tileRows]T)(dst[i*tileRows:]) = [tileRows]T(j.filters[r+int(s.a):])
		}
	default:
		for i, s := range steps {
			for y := range count {
				dst[i*tileRows+y] = j.filters[(r+y)*j.arow+int(s.a)]
			}
		}
	}
}

// placeBlock names images, and rows of the places of a pass.
type placeBlock struct {
	image, images int // first image, and number of images
	row, rows     int // first row, and number of rows
}

// compute computes the results of a block.
func (j *packing[T]) compute(w *workspace[T], b placeBlock) {
	plane := j.height * j.width
	out := j.results[b.image*j.out*plane:]
	if b.images == 1 {
		j.product(w, b, out[b.row*j.width:], plane)
		return
	}
	n := b.images * plane
	w.x = grow(w.x, j.out*n)
	j.product(w, b, w.x, n)
	for i := range b.images * j.out {
		copy(out[i*plane:(i+1)*plane], w.x[i%j.out*n+i/j.out*plane:])
	}
}

// product sets the rows of c, ldc elements apart, to the results at the places of a block.
func (j *packing[T]) product(w *workspace[T], b placeBlock, c []T, ldc int) {
	p, steps := &j.passes[0], j.steps
	for row := b.row; row < b.row+b.rows; row += p.chunk {
		rows := min(p.chunk, b.row+b.rows-row)
		m := packedProduct[T]{c: c[(row-b.row)*p.cols.places:], ldc: ldc, rows: j.out, cols: b.images * rows * p.cols.places, steps: len(steps), a: j.panels}
		j.meet(w, b, row)
		var bounds [packedSteps + 1]int
		blocks := ceilDiv(len(steps), windowSteps)
		for i := 0; i < blocks; i += packedSteps {
			m.bounds = bounds[:min(packedSteps, blocks-i)+1]
			for k := range m.bounds {
				m.bounds[k] = len(steps) * (i + k) / blocks
			}
			j.packPixels(w, b, row, rows, steps[m.bounds[0]:m.bounds[len(m.bounds)-1]])
			m.b = w.b
			m.multiply()
		}
	}
}

// meet makes w.a hold the unfolded images of a block, one after the other, for a chunk of places from row on.
func (j *packing[T]) meet(w *workspace[T], b placeBlock, row int) {
	p := &j.passes[0]
	if p.inPlace() {
		return
	}
	size := p.channelSize(p.chunk)
	w.a = grow(w.a, b.images*p.channels*size)
	w.regions = p.regions(w.regions[:0], row, p.chunk)
	for i := range b.images {
		unfold(p.view, w.regions, j.image(b.image+i), w.a[i*p.channels*size:], size)
	}
}

// image returns the elements of an image.
func (j *packing[T]) image(i int) []T {
	p := &j.passes[0]
	pixels := p.channels * p.rows.pixels * p.cols.pixels
	return j.images[i*pixels : (i+1)*pixels]
}

// packPixels packs the pixels that steps meet to panels in w.b.
func (j *packing[T]) packPixels(w *workspace[T], b placeBlock, row, rows int, steps []step) {
	p := &j.passes[0]
	width, n := tileCols[T](), rows*p.cols.places
	w.b = grow(w.b, ceilDiv(b.images*n, width)*width*len(steps)+packSlack)
	for i := range b.images {
		src := from(w.a, i*p.channels*p.channelSize(p.chunk))
		if p.inPlace() {
			src = j.image(b.image + i)[row*p.cols.places:]
		}
		for k := 0; k < len(steps); k += packedRun {
			run := steps[k:min(k+packedRun, len(steps))]
			for at := i * n; at < (i+1)*n; {
				lane := at % width
				count := min(width-lane, (i+1)*n-at)
				packSteps(w.b[(at/width*len(steps)+k)*width+lane:], src[at-i*n:], p, run, width, count)
				at += count
			}
		}
	}
}

// packSteps copies the count pixels that each step meets to rows of width elements.
func packSteps[T Float](dst, src []T, p *pass, steps []step, width, count int) {
	if p.inPlace() && count == width {
		packRows(dst, src[int(steps[0].b):], p.rows.pixels*p.cols.pixels, len(steps), width, width)
		return
	}
	for k, s := range steps {
		copy(dst[k*width:k*width+count], src[int(s.b):])
	}
}

// packedProduct computes C = A·B, or adds some steps of the product to C.
type packedProduct[T Float] struct {
	a          []T   // panels of A, of all steps
	b          []T   // panels of B, of the steps between bounds
	c          []T   // C [rows,cols]
	ldc        int   // elements between the rows of c
	rows, cols int   // of C
	steps      int   // of the whole sum
	bounds     []int // of the blocks of steps that are summed on their own and then added to C
}

// multiply computes the product for the steps between bounds.
func (m *packedProduct[T]) multiply() {
	width, first, last := tileCols[T](), m.bounds[0], m.bounds[len(m.bounds)-1]
	k := last - first
	block := max(1, blockBytes/(sizeOf[T]()*k*tileRows)) * tileRows
	for r0 := 0; r0 < m.rows; r0 += block {
		for x := 0; x < m.cols; x += width {
			for r := r0; r < min(r0+block, m.rows); r += tileRows {
				for i, s := range m.bounds[1:] {
					from := m.bounds[i]
					tile(s-from, 1, m.a[r*m.steps+from*tileRows:], 1, tileRows, m.b[x*k+(from-first)*width:], width,
						m.c[r*m.ldc+x:], m.ldc, min(tileRows, m.rows-r), min(width, m.cols-x), from > 0, 0, 0)
				}
			}
		}
	}
}
