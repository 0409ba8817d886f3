package kernel

// tileFilters are transformed filters that all terms share, as a first factor of products: a row for each
// channel of results and a step for each channel of images. Components that are too large for a cache are packed in
// panels as tiles of products read them, see tile.
type tileFilters[T Float] struct {
	Conv
	w           []T  // the filters
	inverse     bool // for ConvInput: filters are turned by 180 degrees, and rows are channels of images
	rows, steps int  // of a component
	packed      bool // whether components are packed
	component   int  // elements from one component to the next
	u           []T  // the components, as [Out,In] or packed
}

// packedFilters is the number of elements of a component from which on components are packed. Sixteen of
// them fill a second level cache of a megabyte.
const packedFilters = 1 << 14

// transform sets f to the components of G·g·Gᵀ for filters w.
func (f *tileFilters[T]) transform(c Conv, w []T, inverse bool) {
	f.Conv, f.w, f.inverse = c, w, inverse
	f.rows, f.steps = c.Out, c.In
	if inverse {
		f.rows, f.steps = c.In, c.Out
	}
	f.packed = c.In*c.Out >= packedFilters
	f.component = c.In*c.Out + componentSlack
	if f.packed {
		f.component = panelRows(f.rows)*f.steps + componentSlack
	}
	f.u = grow(f.u, components*f.component)
	work := components * c.In * c.Out // each about a multiplication
	Share(Parts(ceilDiv(c.Out, tileRows), work, convWork), Nanoseconds(work), f)
}

// Run transforms the filters of a part of the results, a panel at a time.
func (f *tileFilters[T]) Run(part, parts int) {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	w.x = grow(w.x, f.taps())
	if f.packed {
		w.b = grow(w.b, components*tileRows*f.In)
	}
	lo, hi := cut(f.Out, tileRows, part, parts)
	for ; lo < hi; lo += tileRows {
		count := min(tileRows, hi-lo)
		for o := lo; o < lo+count; o++ {
			if f.packed {
				f.one(o, w.x, w.b[(o-lo)*f.In:], tileRows*f.In)
			} else {
				f.one(o, w.x, f.u[o*f.In:], f.component)
			}
		}
		if f.packed {
			f.pack(w.b, lo, count)
		}
	}
}

// one transforms the filters of result o to u.
func (f *tileFilters[T]) one(o int, space, u []T, component int) {
	first, tap := 0, f.In
	if f.inverse {
		first, tap = 8*f.In, -f.In
	}
	g := f.w[o*f.taps() : (o+1)*f.taps()]
	if !f.ChannelsLast {
		transpose(space, f.In, g, 9, f.In, 9)
		g = space
	}
	filterTiles(g, first, tap, u, component, f.In/tileLanes)
}

// pack copies the components [components,tileRows,In] of count results from o on to panels.
func (f *tileFilters[T]) pack(src []T, o, count int) {
	for k := range components {
		u, rows := f.u[k*f.component:], src[k*tileRows*f.In:]
		if !f.inverse {
			packCols(u[o*f.steps:], rows, f.In, f.In, tileRows, count)
			continue
		}
		for i := range count {
			row := rows[i*f.In : (i+1)*f.In]
			at := (o + i) * tileRows
			for ; len(row) >= tileRows; at += f.steps * tileRows {
				*(*[tileRows]T)(u[at:]) = [tileRows]T(row)
				row = row[tileRows:]
			}
			if len(row) > 0 {
				copy(u[at:], row)
			}
		}
	}
}

// multiply computes the products of the filters with the components [pairs,steps,pairLanes] of a number of vectors of
// pixels. The components of the results have the form [pairs,rows,pairLanes].
func (f *tileFilters[T]) multiply(pixels, results []T, size, vectors int) {
	if !f.packed {
		arow, astep := f.In, 1
		if f.inverse {
			arow, astep = 1, f.In
		}
		p := tileProducts[T]{
			a: f.u, arow: arow, astep: astep, acomponent: f.component,
			b: pixels, bstep: pairLanes, bcomponent: size, c: results, crow: pairLanes, ccomponent: size,
			rows: f.rows, vectors: vectors, steps: f.steps,
		}
		p.multiply()
		return
	}
	for k := range components {
		f.multiplyPacked(f.u[k*f.component:], pixels[k*size:], results[k*size:], vectors)
	}
}

// multiplyPacked computes the products of one component, block by block of the rows.
func (f *tileFilters[T]) multiplyPacked(u, pixels, results []T, vectors int) {
	block := max(1, blockBytes/(sizeOf[T]()*f.steps*tileRows)) * tileRows
	for first := 0; first < f.rows; first += block {
		last := min(first+block, f.rows)
		for j := 0; j < vectors; j += 2 {
			b, c := pixels[j/2*f.steps*pairLanes:], results[j/2*f.rows*pairLanes:]
			for r := first; r < last; r += tileRows {
				tile(f.steps, 1, u[r*f.steps:], 1, tileRows, b, pairLanes, c[r*pairLanes:], pairLanes,
					min(tileRows, f.rows-r), min(2, vectors-j)*tileLanes, false, 0, 0)
			}
		}
	}
}
