package kernel

// correlation computes stacks of results from images and filters. It makes one pass if
// every place of the filter is an element of the result, as in ConvForward and in ConvInput
// with stride 1. Otherwise it makes stride² passes. A pass computes the elements whose rows have
// the same remainder modulo the stride, and whose columns have the same remainder too.
type correlation[T Float] struct {
	n                        ConvRows // images, filters and results
	images, filters, results []T      // stacks of images, filters and results
	out, height, width       int      // of a result
	filterSize               int      // elements of a stack's filter
	arow                     int      // elements between the filters of two rows of a result
	stride                   int      // of the places in the result
	packed                   bool     // whether filters are packed, see packing
	passes                   []pass   // one pass, or stride² passes
	steps                    []step   // of all passes
	band                     int      // rows of a result that are computed together
}

// pass computes the elements of a result at every stride-th row and column, from row and
// column on.
type pass struct {
	view
	row, column int  // first row and column of the pass in a result
	first, last int  // steps
	chunk       int  // rows of places that are unfolded at a time
	inOrder     bool // whether the steps take the elements of a filter one after the other
}

const (
	// unfoldBytes is the size of the part of an image that is unfolded at a time. It fits
	// the second level cache.
	unfoldBytes = 448 << 10
)

// add appends a pass. The function at gives the index, within a filter, of the tap at a
// channel, row ky and column kx.
func (c *correlation[T]) add(p pass, at func(channel, ky, kx int) int) {
	c.packed = c.packs(&p.view)
	p.shared = !c.packed && share[T](p.cols)
	row := p.channels * p.copies() * p.pitch() * p.rows.stride * sizeOf[T]()
	bytes, most := unfoldBytes, p.rows.places
	if c.packed {
		bytes, most = packedBytes, min(most, max(packedBlock/p.cols.places, 1))
	}
	p.chunk = min(max(bytes/max(row, 1)-p.rows.taps/p.rows.stride, 1), most)
	size := p.channelSize(p.chunk)
	if c.packed && p.inPlace() {
		size = p.rows.pixels * p.cols.pixels
	}
	p.first, p.inOrder = len(c.steps), true
	for ch := range p.channels {
		for ky := range p.rows.taps {
			for kx := range p.cols.taps {
				s := step{int32(at(ch, ky, kx)), int32(ch*size + p.tap(ky, kx, p.chunk))}
				c.steps = append(c.steps, s)
				p.inOrder = p.inOrder && int(s.a-c.steps[p.first].a) == len(c.steps)-1-p.first
			}
		}
	}
	p.last = len(c.steps)
	c.passes = append(c.passes, p)
}

// convWork is the number of multiplications that each part of a convolution must get.
const convWork = 1 << 19

// run computes all results, on several threads if there is enough work.
func (c *correlation[T]) run(w *workspace[T]) {
	work := 0
	for _, p := range c.passes {
		work += (p.last - p.first) * p.rows.places * p.cols.places
	}
	if c.packed {
		c.pack(&w.packing, work*c.out*c.n.Y)
		return
	}
	c.band = c.out
	if c.n.Y < partsPerThread*Threads() {
		c.band = evenly(c.out, windowRows)
	}
	work *= c.out * max(c.n.X, c.n.W, c.n.Y)
	Share(Parts(c.bands()*c.n.Y, work, convWork), Nanoseconds(work), c)
}

// bands returns the number of bands of a result.
func (c *correlation[T]) bands() int { return (c.out + c.band - 1) / c.band }

// Run computes one part of the bands of all results.
func (c *correlation[T]) Run(part, parts int) {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	w.unfolded = unfolded{}
	lo, hi := cut(c.n.Y*c.bands(), 1, part, parts)
	for lo < hi {
		result, first := lo/c.bands(), lo%c.bands()
		last := min(c.bands(), first+hi-lo)
		c.result(w, result, first*c.band, min(last*c.band, c.out))
		lo += last - first
	}
}

// result computes the rows lo..hi of one result.
func (c *correlation[T]) result(w *workspace[T], result, lo, hi int) {
	plane := c.height * c.width
	out := c.results[(result*c.out+lo)*plane : (result*c.out+hi)*plane]
	if c.stride == 1 {
		c.pass(w, 0, result, lo, hi, out)
		return
	}
	for i := 0; i < len(c.passes); {
		i += c.spread(w, i, result, lo, hi, out)
	}
}

// zipSlack is the number of elements that zip may read past the end.
const zipSlack = 8

// spread computes the rows lo..hi of one result for pass i, and for pass i+1 too if the columns of the
// two passes alternate. It writes the elements to their places and returns the number of passes that it
// computed.
func (c *correlation[T]) spread(w *workspace[T], i, result, lo, hi int, out []T) int {
	p, plane := &c.passes[i], c.height*c.width
	n := p.rows.places * p.cols.places
	size := (hi-lo)*n + zipSlack
	w.x = grow(w.x, 2*size)
	c.pass(w, i, result, lo, hi, w.x)
	if c.stride > 2 || c.width == 1 {
		for j := range hi - lo {
			scatter(p, c.stride, w.x[j*n:], out[j*plane:], c.width)
		}
		return 1
	}
	odd, m := w.x[size:], p.rows.places*c.passes[i+1].cols.places
	c.pass(w, i+1, result, lo, hi, odd)
	for j := range hi - lo {
		zip(out[j*plane+p.row*c.width:], 2*c.width, w.x[j*n:], odd[j*m:], p.rows.places, c.width)
	}
	return 2
}

// pass computes the rows lo..hi of one result at the places of a pass.
func (c *correlation[T]) pass(w *workspace[T], index, result, lo, hi int, out []T) {
	p := &c.passes[index]
	terms := max(c.n.X, c.n.W, c.n.Y)
	count, width, pitch := terms/c.n.Y, p.cols.places, 0
	if p.shared {
		pitch = p.pitch()
	}
	for row := 0; row < p.rows.places; row += p.chunk {
		for i := range count {
			r := result*count + i
			c.unfold(w, unfolded{true, r * c.n.X / terms, index, row})
			windows[T]{
				steps: c.steps[p.first:p.last],
				a:     c.filters[r*c.n.W/terms*c.filterSize+lo*c.arow:], arow: c.arow,
				b: w.a, run: width, pitch: pitch,
				c: from(out, row*width), ldc: p.rows.places * width,
				rows: hi - lo, cols: min(p.chunk, p.rows.places-row) * width, add: i > 0,
			}.multiply()
		}
	}
}

// unfolded names the part of an image that a workspace holds unfolded.
type unfolded struct {
	valid            bool // false as long as nothing is unfolded
	image, pass, row int  // numbers of the image and the pass, and first row of places
}

// unfold makes w.a hold the part of an image that u names.
func (c *correlation[T]) unfold(w *workspace[T], u unfolded) {
	if w.unfolded == u {
		return
	}
	p := &c.passes[u.pass]
	if old := w.unfolded; !old.valid || old.pass != u.pass || old.row != u.row {
		w.regions = p.regions(w.regions[:0], u.row, p.chunk)
	}
	size, pixels := p.channelSize(p.chunk), p.channels*p.rows.pixels*p.cols.pixels
	w.a = grow(w.a, p.channels*size+windowCols[T]())
	unfold(p.view, w.regions, c.images[u.image*pixels:(u.image+1)*pixels], w.a, size)
	w.unfolded = u
}

// scatter writes the elements of one pass to their places in a plane.
func scatter[T Float](p *pass, stride int, src, plane []T, width int) {
	for i := range p.rows.places {
		dst := plane[(i*stride+p.row)*width+p.column:]
		for j, v := range src[i*p.cols.places : (i+1)*p.cols.places] {
			dst[j*stride] = v
		}
	}
}

// zipGo interleaves rows of even, for the even columns, and rows of odd, for the odd
// columns, to rows of width elements, which are ldd apart in dst.
func zipGo[T Float](dst []T, ldd int, even, odd []T, rows, width int) {
	for i := range rows {
		row := dst[i*ldd:][:width]
		e, o := even[i*((width+1)/2):], odd[i*(width/2):]
		for j := range row {
			if j%2 == 0 {
				row[j] = e[j/2]
			} else {
				row[j] = o[j/2]
			}
		}
	}
}
