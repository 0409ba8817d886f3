package kernel

// axis is one side of an image under a moving filter: tap k of the filter at
// place p meets pixel p·stride + k - padding. The padding may be negative.
type axis struct{ pixels, places, taps, stride, padding int }

// transposed is the axis on which results become pixels: its places are the
// pixels from first on at distances of the stride. They meet the taps k, k + stride,
// … in reverse order.
func (a axis) transposed(first int) (t axis, k int) {
	k = (first + a.padding) % a.stride
	taps := max(0, ceilDiv(a.taps-k, a.stride))
	return axis{a.places, ceilDiv(a.pixels-first, a.stride), taps, 1, taps - 1 - (first+a.padding)/a.stride}, k
}

// within returns the places from lo on, count of them, at which tap k meets a
// pixel.
func (a axis) within(k, lo, count int) (first, last int) {
	first = ceilDiv(a.padding-k, a.stride)
	last = ceilDiv(a.pixels+a.padding-k, a.stride)
	first = min(max(first, lo), lo+count)
	return first, min(max(last, first), lo+count)
}

// ceilDiv is n/d rounded up, for d > 0.
func ceilDiv(n, d int) int {
	if n < 0 {
		return -(-n / d)
	}
	return (n + d - 1) / d
}

// Taps that differ by a multiple of the stride meet the same pixels at different
// places: they form a phase.

// phases is the number of phases.
func (a axis) phases() int { return min(a.stride, a.taps) }

// phasePixels is how many pixels the taps of phase f meet at count places.
func (a axis) phasePixels(f, count int) int { return count + (a.taps-1-f)/a.stride }

// view is an image under a moving filter. Unfolded, every channel has a copy
// for each column of the filter, or for each phase of them if shared is set, of
// the pixels that the copy's first tap meets in a row of places; and a copy
// has such rows for each phase of the rows of the filter. So any tap meets
// consecutive elements at consecutive places of a row, and at all places of all
// rows unless shared is set.
type view struct {
	channels   int
	rows, cols axis
	shared     bool
}

// copies is the number of copies of a channel.
func (v view) copies() int {
	if v.shared {
		return v.cols.phases()
	}
	return v.cols.taps
}

// pitch is the number of elements from one unfolded row to the next.
func (v view) pitch() int {
	if v.shared {
		return v.cols.phasePixels(0, v.cols.places)
	}
	return v.cols.places
}

// unfoldedRows is the number of rows of a copy, for count rows of places.
func (v view) unfoldedRows(count int) int {
	rows := 0
	for f := range v.rows.phases() {
		rows += v.rows.phasePixels(f, count)
	}
	return rows
}

// unfoldSlack is how far unfolding may write past the end of a channel.
const unfoldSlack = 16

// channelSize is the number of elements of an unfolded channel.
func (v view) channelSize(count int) int {
	return v.copies()*v.unfoldedRows(count)*v.pitch() + unfoldSlack
}

// tap is where a tap meets the first place in an unfolded channel.
func (v view) tap(ky, kx, count int) int {
	row := kx * v.unfoldedRows(count)
	skip := 0
	if v.shared {
		row, skip = kx%v.cols.stride*v.unfoldedRows(count), kx/v.cols.stride
	}
	for f := range ky % v.rows.stride {
		row += v.rows.phasePixels(f, count)
	}
	return (row+ky/v.rows.stride)*v.pitch() + skip
}

// region is the rows of one copy and phase.
type region struct {
	at                int // of the first row in the unfolded channel
	top, rows, bottom int // rows of padding, of pixels, of padding
	row               int // first row of pixels
	tap               int // first column of the filter that meets the copy
}

// regions appends the regions for count rows of places from lo on.
func (v view) regions(list []region, lo, count int) []region {
	at := 0
	for k := range v.copies() {
		for f := range v.rows.phases() {
			n := v.rows.phasePixels(f, count)
			first, last := v.rows.within(f, lo, n)
			list = append(list, region{at, first - lo, last - first, lo + n - last, first*v.rows.stride + f - v.rows.padding, k})
			at += n * v.pitch()
		}
	}
	return list
}

// unfold copies to u what the regions show of an image; channels of u are size
// elements apart.
func unfold[T Float](v view, regions []region, image, u []T, size int) {
	for _, r := range regions {
		fillRegion(v, r, image, u[r.at:], size)
	}
}

// fillRegionGo copies one region of every channel.
func fillRegionGo[T Float](v view, r region, image, u []T, size int) {
	lo, hi := v.cols.within(r.tap, 0, v.pitch())
	for ch := range v.channels {
		for i := range r.top + r.rows + r.bottom {
			row := u[ch*size+i*v.pitch():][:v.pitch()]
			clear(row)
			if i < r.top || i >= r.top+r.rows {
				continue
			}
			src := image[(ch*v.rows.pixels+r.row+(i-r.top)*v.rows.stride)*v.cols.pixels:][:v.cols.pixels]
			for p := lo; p < hi; p++ {
				row[p] = src[p*v.cols.stride+r.tap-v.cols.padding]
			}
		}
	}
}
