package kernel

// filterSums computes the derivatives with respect to filters as matrix products, which sum
// over the places of the filter. The first factor is the unchanged result. The second factor is the
// image, turned so that the channels of a pixel lie together. The pixels that a row of a filter meets
// are then consecutive elements.
type filterSums[T Float] struct {
	Conv
	n       ConvRows // numbers of images, filters and results
	x, y, w []T      // stacks of images, derivatives of results, and filters

	// With few channels, the rows of pixels that a filter meets are merged, so that all
	// pixels of one place lie together.
	merged bool
	steps  []step // one for each place
	lines  []line // of a turned row

	tiled bool       // by Winograd's algorithm
	bands []tileBand // tiles of a plane, if tiled is set

	// The terms of a filter are summed in groups; the sums of the groups are added at the end.
	groups int
	sums   []T // [W,groups,Out,taps], if there are several groups
}

// filterGroups is the number of sums that can be computed at one time. It is the same for every number
// of threads, and so are the results.
const filterGroups = 8

// prepare chooses how to sum.
func (f *filterSums[T]) prepare() {
	lanes := windowCols[T]() / 3
	vectors := func(n int) int { return (n + lanes - 1) / lanes }
	f.merged = 4*vectors(f.taps()) <= 3*f.KernelHeight*vectors(f.KernelWidth*f.In)
	terms := max(f.n.X, f.n.W, f.n.Y) / f.n.W
	f.groups = max(1, min(filterGroups/f.n.W, terms/4))
	rows := 1
	if f.merged {
		rows = f.KernelHeight
	}
	for i := range rows * f.In {
		f.lines = append(f.lines, line{i % f.In * f.Height * f.Width, i/f.In - f.Padding})
	}
	if f.tiled {
		f.bands = f.appendBands(f.bands)
		return
	}
	for oy := range f.OutHeight() {
		for ox := range f.OutWidth() {
			at := (oy*f.rowStep()*f.turnedWidth() + ox*f.Stride) * len(f.lines)
			f.steps = append(f.steps, step{int32(oy*f.OutWidth() + ox), int32(at)})
		}
	}
}

// rowStep returns the number of turned rows from one row of places to the next.
func (f *filterSums[T]) rowStep() int {
	if f.merged {
		return 1
	}
	return f.Stride
}

// turnedWidth returns the number of columns of a turned image, with the columns of the padding that a
// filter meets.
func (f *filterSums[T]) turnedWidth() int { return (f.OutWidth()-1)*f.Stride + f.KernelWidth }

// turnedHeight returns the number of rows of a turned image, with the rows of the padding that a filter
// meets.
func (f *filterSums[T]) turnedHeight() int {
	if f.merged {
		return f.OutHeight()
	}
	return (f.OutHeight()-1)*f.Stride + f.KernelHeight
}

// run computes all filters, on several threads if there is enough work.
func (f *filterSums[T]) run() {
	units := f.n.W * f.groups
	if f.groups > 1 {
		f.sums = grow(f.sums, units*f.Out*f.taps())
	}
	work := max(f.n.X, f.n.W, f.n.Y) * f.resultSize() * f.taps()
	Share(Parts(units, work, convWork), Nanoseconds(work), f)
	if f.groups > 1 {
		f.total()
	}
}

// total adds up the groups of each filter.
func (f *filterSums[T]) total() {
	size := f.Out * f.taps()
	for i := range f.n.W {
		sums := f.sums[i*f.groups*size:]
		for g := 1; g < f.groups; g++ {
			Add(sums[:size], sums[:size], sums[g*size:(g+1)*size])
		}
		f.store(i, sums)
	}
}

// Run computes one part of the groups of all filters.
func (f *filterSums[T]) Run(part, parts int) {
	w := spaces[T]().get()
	defer spaces[T]().put(w)
	turned := f.turnedHeight() * f.turnedWidth() * len(f.lines)
	w.a = grow(w.a, turned+windowCols[T]())
	clear(w.a)
	w.b = grow(w.b, f.Width) // a row of padding: zeros
	clear(w.b)
	size := f.Out * f.taps()
	lo, hi := cut(f.n.W*f.groups, 1, part, parts)
	image := -1
	for unit := lo; unit < hi; unit++ {
		if f.groups > 1 {
			image = f.group(w, unit, image, f.sums[unit*size:])
			continue
		}
		if f.ChannelsLast && !f.merged {
			image = f.group(w, unit, image, f.w[unit*size:(unit+1)*size])
			continue
		}
		w.x = grow(w.x, size)
		image = f.group(w, unit, image, w.x)
		f.store(unit, w.x)
	}
}

// group sums the terms of one group. On entry w holds the turned image with number image. group returns
// the number of the image that w holds afterwards.
func (f *filterSums[T]) group(w *workspace[T], unit, image int, sum []T) int {
	terms := max(f.n.X, f.n.W, f.n.Y)
	perFilter := terms / f.n.W
	first := unit / f.groups * perFilter
	lo, hi := cut(perFilter, 1, unit%f.groups, f.groups)
	for r := first + lo; r < first+hi; r++ {
		if i := r * f.n.X / terms; i != image {
			f.image(w, f.x[i*f.imageSize():])
			image = i
		}
		f.term(w, f.y[r*f.n.Y/terms*f.resultSize():], sum, r > first+lo)
	}
	if f.tiled {
		f.sumTiles(w, sum)
	}
	return image
}

// term writes one term to sum or, if add is set, adds it. The shape of sum is [Out, rows of
// a filter, columns, In], or [Out, columns, rows, In] with merged rows.
func (f *filterSums[T]) term(w *workspace[T], y, sum []T, add bool) {
	if f.tiled {
		f.termTiles(w, y, add)
		return
	}
	line := f.turnedWidth() * len(f.lines)
	blocks := (len(f.steps) + windowSteps - 1) / windowSteps
	for i := range blocks {
		steps := f.steps[len(f.steps)*i/blocks : len(f.steps)*(i+1)/blocks]
		cols := f.KernelWidth * len(f.lines)
		for ky := range f.taps() / cols {
			p := windows[T]{steps: steps, a: y, arow: len(f.steps), b: w.a[ky*line:], c: sum[ky*cols:], ldc: f.taps(),
				rows: f.Out, cols: cols, add: add || i > 0}
			p.block()
		}
	}
}

// line is a row of the channel that starts at plane. Turning makes each element of the line an element
// of a pixel of a turned row.
type line struct {
	plane int // first element of the channel
	row   int // row of the channel; outside the image it is padding
}

// image makes w hold an image.
func (f *filterSums[T]) image(w *workspace[T], x []T) {
	if f.tiled {
		f.turnTiles(w, x)
	} else {
		f.turn(w, x)
	}
}

// turn copies an image to w.a.
func (f *filterSums[T]) turn(w *workspace[T], x []T) {
	n, width := len(f.lines), f.turnedWidth()
	cols := min(f.Width, width-f.Padding)
	if cols <= 0 {
		return // the filter meets only padding
	}
	step := 1 // rows of the image from one turned row to the next
	if f.merged {
		step = f.Stride
	}
	var r [4][]T
	for row := range f.turnedHeight() {
		if !f.merged && row%f.Stride >= f.KernelHeight {
			continue // the filter passes over it
		}
		dst := w.a[(row*width+f.Padding)*n:]
		for i := (n - 1) &^ 3; i >= 0; i -= 4 {
			for j := range r {
				r[j] = w.b
				l := f.lines[min(i+j, n-1)]
				if y := row*step + l.row; y >= 0 && y < f.Height {
					r[j] = x[l.plane+y*f.Width:]
				}
			}
			interleave(dst[i:], n, r[0], r[1], r[2], r[3], cols)
		}
		clear(dst[cols*n : cols*n+3]) // the last group wrote up to three elements too many
	}
}

// store writes a sum to filter i, in the order of w.
func (f *filterSums[T]) store(i int, sum []T) {
	taps, size := f.KernelHeight*f.KernelWidth, f.taps()
	w := f.w[i*f.Out*size : (i+1)*f.Out*size]
	for o := range f.Out {
		switch {
		case f.merged:
			f.storeMerged(sum[o*size:], w[o*size:])
		case f.ChannelsLast:
			copy(w[o*size:(o+1)*size], sum[o*size:])
		case len(w)-(o+1)*size >= 3:
			transposeOver(w[o*size:], taps, sum[o*size:], f.In, taps, f.In)
		default:
			transpose(w[o*size:], taps, sum[o*size:], f.In, taps, f.In)
		}
	}
}

// transposeOver is transpose, which may write three elements past the end.
func transposeOver[T Float](dst []T, ldd int, src []T, lds, rows, cols int) {
	line := func(i int) []T { return src[min(i, rows-1)*lds:] }
	// What is written past row i+3 belongs to the first rows, which come last.
	for i := (rows - 1) &^ 3; i >= 0; i -= 4 {
		interleave(dst[i:], ldd, line(i), line(i+1), line(i+2), line(i+3), cols)
	}
}

// storeMerged writes one [columns, rows, In] of a sum in the order of w.
func (f *filterSums[T]) storeMerged(sum, w []T) {
	for kx := range f.KernelWidth {
		for ky := range f.KernelHeight {
			for in, v := range sum[:f.In] {
				w[f.element(0, in, ky, kx)] = v
			}
			sum = sum[f.In:]
		}
	}
}
