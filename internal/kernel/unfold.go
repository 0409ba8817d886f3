package kernel

// axis is one side of an image over which a filter moves. The filter stops at places, and
// its elements are called taps: tap k at place p meets pixel p·stride + k - padding. The
// padding may be negative.
type axis struct {
	pixels, places, taps int // their numbers
	stride               int // pixels from one place to the next
	padding              int // zeros before the first pixel
}

// transposed returns the axis t of the transposed convolution. The pixels of t are the places of
// a, and the places of t are every stride-th pixel of a from first on. These places meet the taps k,
// k + stride, … of a, in reverse order.
func (a axis) transposed(first int) (t axis, k int) {
	k = (first + a.padding) % a.stride
	taps := max(0, ceilDiv(a.taps-k, a.stride))
	return axis{a.places, ceilDiv(a.pixels-first, a.stride), taps, 1, taps - 1 - (first+a.padding)/a.stride}, k
}

// within returns the range first..last of places, among count places from lo on, at which tap k meets a
// pixel and not the padding.
func (a axis) within(k, lo, count int) (first, last int) {
	first = ceilDiv(a.padding-k, a.stride)
	last = ceilDiv(a.pixels+a.padding-k, a.stride)
	first = min(max(first, lo), lo+count)
	return first, min(max(last, first), lo+count)
}

// ceilDiv returns n/d rounded up, for d > 0.
func ceilDiv(n, d int) int {
	if n < 0 {
		return -(-n / d)
	}
	return (n + d - 1) / d
}

// Taps whose numbers differ by a multiple of the stride meet the same pixels, at different
// places. They form a phase.

// phases returns the number of phases.
func (a axis) phases() int { return min(a.stride, a.taps) }

// phasePixels returns the number of pixels that the taps of phase f meet at count places.
func (a axis) phasePixels(f, count int) int { return count + (a.taps-1-f)/a.stride }

// view is an image over which a filter moves. Unfolding makes copies of every channel. There is one
// copy for each column of the filter or, if shared is set, one copy for each phase of the columns. A
// row of a copy holds the pixels that the first tap of the copy meets in a row of places. A
// copy has such rows for each phase of the rows of the filter. At consecutive places of a row, a tap
// meets consecutive elements of a copy. Unless shared is set, this holds from one row to the next as well.
type view struct {
	channels   int  // channels of the image
	rows, cols axis // sides of the image
	shared     bool // whether columns of the filter share copies
}

// copies returns the number of copies of a channel.
func (v view) copies() int {
	if v.shared {
		return v.cols.phases()
	}
	return v.cols.taps
}

// pitch returns the number of elements from one unfolded row to the next.
func (v view) pitch() int {
	if v.shared {
		return v.cols.phasePixels(0, v.cols.places)
	}
	return v.cols.places
}

// unfoldedRows returns the number of rows of a copy, for count rows of places.
func (v view) unfoldedRows(count int) int {
	rows := 0
	for f := range v.rows.phases() {
		rows += v.rows.phasePixels(f, count)
	}
	return rows
}

// unfoldSlack is the number of elements that unfolding may write past the end of a channel.
const unfoldSlack = 16

// channelSize returns the number of elements of an unfolded channel.
func (v view) channelSize(count int) int {
	return v.copies()*v.unfoldedRows(count)*v.pitch() + unfoldSlack
}

// tap returns where an unfolded channel holds the pixel that a tap meets at the first place.
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

// region describes the rows of one copy that belong to one phase.
type region struct {
	at                int // first row in the unfolded channel
	top, rows, bottom int // rows of padding above, rows of pixels, rows of padding below
	row               int // first row of pixels
	tap               int // first column of the filter that meets the copy
}

// regions appends to list the regions for count rows of places from lo on.
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

// unfold copies the regions of an image to u, where the channels are size elements apart.
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
			if v.cols.stride == 1 && lo < hi {
				copy(row[lo:hi], src[lo+r.tap-v.cols.padding:])
				continue
			}
			for p := lo; p < hi; p++ {
				row[p] = src[p*v.cols.stride+r.tap-v.cols.padding]
			}
		}
	}
}
