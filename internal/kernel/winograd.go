package kernel

// Winograd's algorithm computes convolutions by 3×3 filters tile by tile. A tile d of 4×4 pixels,
// which overlaps its neighbours, meets 2×2 places of a filter g. The results there are
//
//	Aᵀ[(G·g·Gᵀ) ⊙ (Bᵀ·d·B)]A,
//
// where ⊙ is the product element by element: 16 multiplications instead of 36. The sums over
// channels become 16 matrix products, one product for each element of a transformed tile. Such an element is
// called a component here. Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016,
// equation 8, where the last rows of A and Bᵀ have the opposite sign. The derivative with respect to g is
// Gᵀ[(A·r·Aᵀ) ⊙ (Bᵀ·d·B)]G, where r is the derivative with respect to the results.

const (
	components = 16
	tileLanes  = 16 // tiles, or channels, that are transformed together: a vector of float32
	tileUnits  = 4  // of 8 pixels in a row, or 4 tiles

	// tileVectors is the number of vectors of tiles that are multiplied at a time. Their components
	// stay in the second level cache.
	tileVectors = 2

	// componentSlack is the number of elements between components, which would otherwise push each
	// other out of the first level cache.
	componentSlack = 16
)

// tileBand holds the places of the pixels of tileLanes tiles in a plane. The pixels lie in two rows of four
// units, where a unit has 8 pixels or 4 tiles, and in the rows above and below. The assembly relies on the
// order of the fields.
type tileBand struct {
	at  [tileUnits]int // first pixel of each unit, in the upper row
	row int            // elements of a row

	// The rows above and below, counted from two rows above the unit on. Where the image has no such
	// row, these are other rows. outer selects the pixels that exist, in two vectors above and two below.
	above, below [tileUnits]int
	outer        [4]uint16 // bits of the pixels that exist

	left, right uint16 // the lanes whose tiles have a neighbour there
}

// laneOf returns the lane of tile t of a band, where shuffles within quarters of a vector put the tile.
func laneOf(t int) int { return t%8/2*4 + t/8*2 + t%2 }

// appendBands appends the bands of a plane to list.
func (c Conv) appendBands(list []tileBand) []tileBand {
	tiles := c.Width / 2 // in a row
	for first := 0; first < c.Height*tiles/2; first += tileLanes {
		b := tileBand{row: c.Width}
		for q := range b.at {
			row, half := (first+4*q)/tiles*2, uint16(0xff)<<(8*(q%2))
			b.at[q], b.above[q], b.below[q] = row*c.Width+2*((first+4*q)%tiles), 2*c.Width, 3*c.Width
			if row > 0 {
				b.above[q] = c.Width
				b.outer[q/2] |= half
			}
			if row+2 < c.Height {
				b.below[q] = 4 * c.Width
				b.outer[2+q/2] |= half
			}
		}
		for t := range tileLanes {
			if t%tiles != 0 {
				b.left |= 1 << laneOf(t)
			}
			if (t+1)%tiles != 0 {
				b.right |= 1 << laneOf(t)
			}
		}
		list = append(list, b)
	}
	return list
}

// tileable reports whether the convolution can be computed tile by tile: rows of 8, 16 or 32 pixels
// then fill vectors of tiles.
func (c Conv) tileable() bool {
	return c.KernelHeight == 3 && c.KernelWidth == 3 && c.Stride == 1 && c.Padding == 1 &&
		(c.Width == 8 || c.Width == 16 || c.Width == 32) && c.Height*c.Width%(4*tileLanes) == 0 &&
		c.In%tileLanes == 0 && c.Out%tileLanes == 0
}

// tilesConv reports whether ConvForward and ConvInput work tile by tile. They do if all terms share the
// filters: even for a single image, the transforms of the filters then cost less than they save. The answer
// does not depend on the number of images, and so the results do not either. A single image with filters of
// its own does not share them.
func tilesConv[T Float](c Conv, n ConvRows) bool {
	return fastTiles[T]() && c.tileable() && n.W == 1 && !n.Own && n.X == n.Y
}

// tiled computes stacks of results, or of images, tile by tile with filters that all share.
type tiled[T Float] struct {
	in, out, plane       int        // channels of x and y, and pixels of each
	x, y                 []T        // images [images,in,plane], and results [images,out,plane]
	vectors              int        // of tiles, in all planes
	filters              []T        // transformed
	row, step, component int        // elements from one filter of y, of x and from one component to the next
	bands                []tileBand // tiles of a plane
	then                 Then       // work that follows
}

// convTiles computes ConvForward, or ConvInput from x to y if inverse is set, tile by tile.
func convTiles[T Float](c Conv, images int, x, w, y []T, inverse bool, then Then) {
	ws := spaces[T]().get()
	defer spaces[T]().put(ws)
	t := &ws.tiled
	t.in, t.out, t.plane, t.x, t.y = c.In, c.Out, c.Height*c.Width, x, y
	t.bands = c.appendBands(t.bands[:0])
	t.vectors = images * len(t.bands)
	t.row, t.step, t.component = c.In, 1, c.In*c.Out+componentSlack
	if inverse {
		t.in, t.out, t.row, t.step = c.Out, c.In, 1, c.In
	}
	t.filters = grow(t.filters, components*t.component)
	ws.x = grow(ws.x, c.taps())
	tileFilters(c, w, t.filters, ws.x, inverse)
	work := components * t.vectors * tileLanes * c.In * c.Out
	parts := Parts((t.vectors+tileVectors-1)/tileVectors, work, convWork)
	if t.then = then; then.Run != nil {
		parts = min(parts, then.Parts)
	}
	Share(parts, Nanoseconds(work), t)
}

// tileFilters transforms filters to u, which holds [Out,In] for each component. If turn is set, it turns
// each filter by 180 degrees first. The space is for the taps of one result.
func tileFilters[T Float](c Conv, w, u, space []T, turn bool) {
	first, tap := 0, c.In
	if turn {
		first, tap = 8*c.In, -c.In
	}
	for o := range c.Out {
		g := w[o*c.taps() : (o+1)*c.taps()]
		if !c.ChannelsLast {
			transpose(space, c.In, g, 9, c.In, 9)
			g = space
		}
		filterTiles(g, first, tap, u[o*c.In:], c.In*c.Out+componentSlack, c.In/tileLanes)
	}
}

// Run computes one part of the vectors of tiles.
func (t *tiled[T]) Run(part, parts int) {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	const n = tileVectors * tileLanes
	// The components of pixels and of results share their places, so that a cache can hold them. A
	// component of results takes the place of the pixels' component before it.
	size := max(t.in, t.out)*n + componentSlack
	w.a = grow(w.a, (components+1)*size)
	pixels, results := w.a[size:], w.a
	if t.then.Run == nil { // parts may cut an image, so that threads share a single one
		lo, hi := cut(t.vectors, tileVectors, part, parts)
		t.block(pixels, results, size, lo, hi)
		return
	}
	bands := len(t.bands)
	lo, hi := cut(t.vectors/bands, t.then.Rows, part, parts)
	for ; lo < hi; lo += t.then.Rows {
		end := min(hi, lo+t.then.Rows)
		t.block(pixels, results, size, lo*bands, end*bands)
		t.then.Run(part, lo, end)
	}
}

// block computes the vectors from lo to hi−1 with space for their components.
func (t *tiled[T]) block(pixels, results []T, size, lo, hi int) {
	const n = tileVectors * tileLanes
	for ; lo < hi; lo += tileVectors {
		count := min(tileVectors, hi-lo)
		for j := range count {
			image, band := (lo+j)/len(t.bands), (lo+j)%len(t.bands)
			imageTiles(&t.bands[band], t.x[image*t.in*t.plane:], pixels[j*tileLanes:], t.in, t.plane, n, size)
		}
		p := tileProducts[T]{
			a: t.filters, arow: t.row, astep: t.step, acomponent: t.component,
			b: pixels, bstep: n, bcomponent: size, c: results, crow: n, ccomponent: size,
			rows: t.out, vectors: count, steps: t.in,
		}
		p.multiply()
		for j := range count {
			image, band := (lo+j)/len(t.bands), (lo+j)%len(t.bands)
			resultTiles(&t.bands[band], results[j*tileLanes:], t.y[image*t.out*t.plane:], t.out, t.plane, n, size)
		}
	}
}

// tileProducts computes C = A·B, or C += A·B if add is set, for each component. Element r of step s
// of A is at r·arow + s·astep. The number of rows is a multiple of 16. A row of C is vectors·tileLanes
// elements long.
type tileProducts[T Float] struct {
	a                       []T  // A
	arow, astep, acomponent int  // elements between rows, steps and components of A
	b                       []T  // B
	bstep, bcomponent       int  // elements between steps and components of B
	c                       []T  // C
	crow, ccomponent        int  // elements between rows and components of C
	rows, vectors, steps    int  // rows of C, vectors in a row, and steps of each sum
	add                     bool // whether the products are added to C
}
