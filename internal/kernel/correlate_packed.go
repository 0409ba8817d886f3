package kernel

// Where many images share the filters, the filters are packed once, and the pixels that places meet are packed
// block by block, as in Gemm. Tiles of products then take the place of windows. Each sum is computed in the order of
// windows, so that a result does not depend on the number of images.

const (
	packedColumns = 256     // places of all images, from which on packing pays
	packedBlock   = 512     // about the places whose pixels are packed together
	packedBytes   = 3 << 19 // most bytes of unfolded images that lie beside each other
	packedSteps   = 3       // blocks of windowSteps that are packed together
	packedRun     = 16      // steps that are packed for all places, before the next steps
)

// packs reports whether filters are packed: all terms share them, and there are enough places and results.
func (c *correlation[T]) packs() bool {
	places := c.n.Y * c.height * c.width / (c.stride * c.stride)
	return c.n.W == 1 && !c.n.Own && c.n.X == c.n.Y && places >= packedColumns && c.out >= 2*tileRows
}

// inPlace reports whether the places of a filter meet the pixels of an image in their order.
func (v *view) inPlace() bool {
	one := func(a axis) bool { return a.taps == 1 && a.stride == 1 && a.padding == 0 && a.places == a.pixels }
	return one(v.rows) && one(v.cols)
}

// packing computes a correlation whose filters are packed.
type packing[T Float] struct {
	*correlation[T]
	group   int  // images whose places are packed together
	pieces  int  // of an image, each an item of work
	prepare bool // whether the job is to pack the filters
	panels  []T  // the filters of all passes
}

// pack computes all results.
func (c *correlation[T]) pack(j *packing[T], work int) {
	j.correlation, j.pieces = c, 1
	size, bytes, whole := 0, 1, true
	for i := range c.passes {
		p := &c.passes[i]
		p.panels = size
		size += panelRows(c.out) * (p.last - p.first)
		bytes, whole = max(bytes, p.channels*p.channelSize(p.chunk)*sizeOf[T]()), whole && p.chunk == p.rows.places
	}
	p := &c.passes[0]
	if j.group = 1; whole { // images whose places are computed in chunks do not lie beside each other
		j.group = max(1, min(packedBlock/(p.rows.places*p.cols.places), packedBytes/bytes, ceilDiv(c.n.Y, 2*Threads())))
	}
	if j.group == 1 && c.stride == 1 {
		j.pieces = ceilDiv(p.rows.places, p.chunk)
	}
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
		for i := range j.passes {
			for r := lo; r < hi; r += tileRows {
				j.packFilters(&j.passes[i], r, min(tileRows, hi-r))
			}
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

// packFilters packs the filters of a pass for count rows from row r on.
func (j *packing[T]) packFilters(p *pass, r, count int) {
	steps := j.steps[p.first:p.last]
	dst := j.panels[p.panels+r*len(steps):]
	switch {
	case len(steps) == 0:
	case p.inOrder:
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
	switch {
	case j.stride > 1:
		for i := 0; i < len(j.passes); {
			i += j.spreadPacked(w, b, i, out)
		}
	case b.images == 1:
		j.product(w, &j.passes[0], b, out[b.row*j.width:], plane)
	default:
		n := b.images * plane
		w.x = grow(w.x, j.out*n)
		j.product(w, &j.passes[0], b, w.x, n)
		for i := range b.images * j.out {
			copy(out[i*plane:(i+1)*plane], w.x[i%j.out*n+i/j.out*plane:])
		}
	}
}

// spreadPacked computes the results of a block for pass i, and for pass i+1 too where spread takes two passes. It
// returns the number of passes.
func (j *packing[T]) spreadPacked(w *workspace[T], b placeBlock, i int, out []T) int {
	var from [2]spreadPass[T]
	count, size := j.together(), 0
	for k := range count {
		p := &j.passes[i+k]
		from[k].ld = b.images * p.rows.places * p.cols.places
		size += j.out*from[k].ld + zipSlack
	}
	w.x = grow(w.x, size)
	from[0].s, from[1].s = w.x, w.x[size-j.out*from[1].ld-zipSlack:]
	for k := range count {
		p := &j.passes[i+k]
		b.rows = p.rows.places
		j.product(w, p, b, from[k].s, from[k].ld)
	}
	for image := range b.images {
		j.put(i, from, j.out, out[image*j.out*j.height*j.width:])
		for k := range count {
			p := &j.passes[i+k]
			from[k].s = from[k].s[p.rows.places*p.cols.places:]
		}
	}
	return count
}

// product sets the rows of c, ldc elements apart, to the results of a pass at the places of a block.
func (j *packing[T]) product(w *workspace[T], p *pass, b placeBlock, c []T, ldc int) {
	steps := j.steps[p.first:p.last]
	if len(steps) == 0 {
		scale(j.out, b.images*b.rows*p.cols.places, 0, c, ldc)
		return
	}
	for row := b.row; row < b.row+b.rows; row += p.chunk {
		rows := min(p.chunk, b.row+b.rows-row)
		m := packedProduct[T]{c: c[(row-b.row)*p.cols.places:], ldc: ldc, rows: j.out, cols: b.images * rows * p.cols.places, steps: len(steps)}
		m.a = j.panels[p.panels:]
		j.meet(w, p, b, row)
		var bounds [packedSteps + 1]int
		blocks := ceilDiv(len(steps), windowSteps)
		for i := 0; i < blocks; i += packedSteps {
			m.bounds = bounds[:min(packedSteps, blocks-i)+1]
			for k := range m.bounds {
				m.bounds[k] = len(steps) * (i + k) / blocks
			}
			j.packPixels(w, p, b, row, rows, steps[m.bounds[0]:m.bounds[len(m.bounds)-1]])
			m.b = w.b
			m.multiply()
		}
	}
}

// meet makes w.a hold the unfolded images of a block, one after the other, for a chunk of places from row on.
func (j *packing[T]) meet(w *workspace[T], p *pass, b placeBlock, row int) {
	if p.inPlace() {
		return
	}
	size := p.channelSize(p.chunk)
	w.a = grow(w.a, b.images*p.channels*size)
	w.regions = p.regions(w.regions[:0], row, p.chunk)
	for i := range b.images {
		unfold(p.view, w.regions, j.image(p, b.image+i), w.a[i*p.channels*size:], size)
	}
}

// image returns the elements of an image.
func (j *packing[T]) image(p *pass, i int) []T {
	pixels := p.channels * p.rows.pixels * p.cols.pixels
	return j.images[i*pixels : (i+1)*pixels]
}

// packPixels packs the pixels that steps meet to panels in w.b.
func (j *packing[T]) packPixels(w *workspace[T], p *pass, b placeBlock, row, rows int, steps []step) {
	width, n := tileCols[T](), rows*p.cols.places
	w.b = grow(w.b, ceilDiv(b.images*n, width)*width*len(steps)+packSlack)
	for i := range b.images {
		src := from(w.a, i*p.channels*p.channelSize(p.chunk))
		if p.inPlace() {
			src = j.image(p, b.image+i)[row*p.cols.places:]
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
