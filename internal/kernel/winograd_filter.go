package kernel

const (
	// chunkVectors is the number of vectors of tiles over which derivatives are summed at a time.
	chunkVectors = 4

	// turnedRows is the number of rows of all channels that are turned at a time. They are few, for the first
	// level cache, and several, because the processor then foresees the reads in each channel.
	turnedRows = 4
)

// tiles returns the number of tiles of an image.
func (f *filterSums[T]) tiles() int { return len(f.bands) * tileLanes }

// turnTiles copies an image to w.a, as turn does, and its components to w.v.
func (f *filterSums[T]) turnTiles(w *workspace[T], x []T) {
	line, tiles, plane := f.turnedWidth()*f.In, f.Width/2, f.Height*f.Width
	for row := 0; row < f.Height; row += turnedRows {
		for ch := 0; ch < f.In; ch += 4 {
			for y := row; y < min(row+turnedRows, f.Height); y++ {
				r := x[ch*plane+y*f.Width:]
				interleave(w.a[(y+1)*line+f.In+ch:], f.In, r, r[plane:], r[2*plane:], r[3*plane:], f.Width)
			}
		}
	}
	component := f.tiles()*f.In + componentSlack
	w.v = grow(w.v, components*component)
	for y := range f.Height / 2 {
		turnedTiles(w.a[2*y*line:], line, f.In, w.v[y*tiles*f.In:], component, tiles, f.In/tileLanes)
	}
}

// termTiles writes one term to w.m [components,Out,In]. If add is set, it adds the term.
func (f *filterSums[T]) termTiles(w *workspace[T], y []T, add bool) {
	const n = chunkVectors * tileLanes
	d, m := f.Out*n+componentSlack, f.Out*f.In+componentSlack
	w.d, w.m = grow(w.d, components*d), grow(w.m, components*m)
	for i := 0; i < len(f.bands); i += chunkVectors {
		count := min(chunkVectors, len(f.bands)-i)
		for j := range count {
			derivativeTiles(&f.bands[i+j], y, w.d[j*tileLanes:], f.Out, f.Height*f.Width, n, d)
		}
		p := tileProducts[T]{
			a: w.d, arow: n, astep: 1, acomponent: d,
			b: w.v[i*tileLanes*f.In:], bstep: f.In, bcomponent: f.tiles()*f.In + componentSlack,
			c: w.m, crow: f.In, ccomponent: m,
			rows: f.Out, vectors: f.In / tileLanes, steps: count * tileLanes, add: add || i > 0,
		}
		p.multiply()
	}
}

// sumTiles sets sum [Out,taps,In] to the derivatives with the components in w.m.
func (f *filterSums[T]) sumTiles(w *workspace[T], sum []T) {
	for o := range f.Out {
		tapTiles(w.m[o*f.In:], f.Out*f.In+componentSlack, sum[o*f.taps():], f.In, f.In/tileLanes)
	}
}
