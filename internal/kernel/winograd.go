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
	tileLanes  = 16 // tiles, or channels, that are transformed together: a vector of float32 of AVX-512, or two of AVX2
	tileUnits  = 4  // of 8 pixels in a row, or 4 tiles

	// tileVectors is the number of vectors of tiles that are multiplied at a time. Their components
	// stay in the second level cache. Filters that do not stay there, too, are read once for moreVectors; with
	// 512 channels 16 vectors were no faster.
	tileVectors, moreVectors = 2, 8

	// componentSlack is the number of elements between components, which would otherwise push each
	// other out of the first level cache.
	componentSlack = 16
)

// tilesConv reports whether ConvForward and ConvInput work tile by tile. They do if all terms share the
// filters. The answer does not depend on the number of images, and so the results do not either. A single image
// with filters of its own does not share them.
func tilesConv[T Float](c Conv, n ConvRows) bool {
	return fastTiles[T]() && n.W == 1 && !n.Own && n.X == n.Y && c.tileable()
}

// tiled computes stacks of results, or of images, tile by tile with filters that all share.
type tiled[T Float] struct {
	in, out, plane int            // channels of x and y, and pixels of each
	x, y           []T            // images [images,in,plane], and results [images,out,plane]
	vectors        int            // of tiles, in all planes
	filters        tileFilters[T] // transformed
	bands          []tileBand     // tiles of a plane
	then           Then           // work that follows
}

// convTiles computes ConvForward, or ConvInput from x to y if inverse is set, tile by tile.
func convTiles[T Float](c Conv, images int, x, w, y []T, inverse bool, then Then) {
	ws := spaces[T]().get()
	defer spaces[T]().put(ws)
	t := &ws.tiled
	t.in, t.out, t.plane, t.x, t.y = c.In, c.Out, c.Height*c.Width, x, y
	if inverse {
		t.in, t.out = c.Out, c.In
	}
	t.bands = c.appendBands(t.bands[:0])
	t.vectors = images * len(t.bands)
	t.filters.transform(c, w, inverse)
	work := components * t.vectors * tileLanes * c.In * c.Out
	parts := Parts(ceilDiv(t.vectors, tileVectors), work, convWork)
	if t.then = then; then.Run != nil {
		parts = min(parts, then.Parts)
	}
	Share(parts, Nanoseconds(work), t)
}

// Run computes one part of the vectors of tiles.
func (t *tiled[T]) Run(part, parts int) {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	if t.then.Run == nil { // parts may cut an image, so that threads share a single one
		lo, hi := cut(t.vectors, tileVectors, part, parts)
		t.block(w, lo, hi)
		return
	}
	bands := len(t.bands)
	lo, hi := cut(t.vectors/bands, t.then.Rows, part, parts)
	for ; lo < hi; lo += t.then.Rows {
		end := min(hi, lo+t.then.Rows)
		t.block(w, lo*bands, end*bands)
		t.then.Run(part, lo, end)
	}
}

// pairLanes is the number of tiles in two vectors, which are multiplied together.
const pairLanes = 2 * tileLanes

// block computes the vectors from lo to hi−1. Their components have the form [pairs,channels,pairLanes].
func (t *tiled[T]) block(w *workspace[T], lo, hi int) {
	group := tileVectors
	if t.filters.packed {
		group = moreVectors
	}
	// The components of pixels and of results share their places, so that a cache can hold them. A
	// component of results takes the place of the pixels' component before it.
	size := max(t.in, t.out)*pairLanes*group/2 + componentSlack
	w.a = grow(w.a, (components+1)*size)
	pixels, results := w.a[size:], w.a
	for ; lo < hi; lo += group {
		count := min(group, hi-lo)
		for j := range count {
			image, band := (lo+j)/len(t.bands), (lo+j)%len(t.bands)
			v := pixels[j/2*t.in*pairLanes+j%2*tileLanes:]
			imageTiles(&t.bands[band], t.x[image*t.in*t.plane:], v, t.in, t.plane, pairLanes, size)
		}
		t.filters.multiply(pixels, results, size, count)
		for j := range count {
			image, band := (lo+j)/len(t.bands), (lo+j)%len(t.bands)
			m := results[j/2*t.out*pairLanes+j%2*tileLanes:]
			resultTiles(&t.bands[band], m, t.y[image*t.out*t.plane:], t.out, t.plane, pairLanes, size)
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
