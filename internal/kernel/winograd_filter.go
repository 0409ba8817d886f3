package kernel

// chunkVectors is the number of vectors of tiles over which derivatives are summed at a time.
const chunkVectors = 4

// tiles is the number of tiles of an image.
func (f *filterSums[T]) tiles() int { return len(f.bands) * tileLanes }

// turnTiles transforms the turned image in w.a.
func (f *filterSums[T]) turnTiles(w *workspace[T]) {
	row, tiles := f.turnedWidth()*f.In, f.Width/2
	component := f.tiles()*f.In + componentSlack
	w.v = grow(w.v, components*component)
	for y := range f.Height / 2 {
		turnedTiles(w.a[2*y*row:], row, f.In, w.v[y*tiles*f.In:], component, tiles, f.In/tileLanes)
	}
}

// termTiles writes one term to w.m or, if add is set, adds it: [components,Out,In].
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

// sumTiles sets sum to the derivatives that w.m has the components of: [Out,taps,In].
func (f *filterSums[T]) sumTiles(w *workspace[T], sum []T) {
	for o := range f.Out {
		tapTiles(w.m[o*f.In:], f.Out*f.In+componentSlack, sum[o*f.taps():], f.In, f.In/tileLanes)
	}
}
