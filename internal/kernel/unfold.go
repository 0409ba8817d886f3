package kernel

// axis is one side of an image under a moving filter: tap k of the filter at
// place p meets pixel p·stride + k - padding. The padding may be negative.
type axis struct{ pixels, places, taps, stride, padding int }

// within returns the places at which tap k meets a pixel.
func (a axis) within(k int) (lo, hi int) {
	lo = ceilDiv(a.padding-k, a.stride)
	hi = ceilDiv(a.pixels+a.padding-k, a.stride)
	lo = min(max(lo, 0), a.places)
	return lo, min(max(hi, lo), a.places)
}

// transposed is the axis on which results take the part of pixels: the places
// are the pixels, from first on at distances of the stride, that meet the taps
// k, k + stride, …, in reverse order.
func (a axis) transposed(k int) (t axis, first int) {
	first = ((k-a.padding)%a.stride + a.stride) % a.stride
	taps := max(0, ceilDiv(a.taps-k, a.stride))
	return axis{a.places, max(0, ceilDiv(a.pixels-first, a.stride)), taps, 1, taps - 1 - (first+a.padding-k)/a.stride}, first
}

// ceilDiv is n/d rounded up, for d > 0.
func ceilDiv(n, d int) int {
	if n < 0 {
		return -(-n / d)
	}
	return (n + d - 1) / d
}

// phase returns the first of the unfolded rows that tap k of a column shares
// with the taps k ± stride, for count places of the filter, and how many rows come
// before the one that the tap meets at the first place.
func (a axis) phase(k, count int) (first, skip int) {
	for f := range k % a.stride {
		first += a.phaseRows(f, count)
	}
	return first, k / a.stride
}

// phaseRows is the number of rows that the taps f, f + stride, … meet.
func (a axis) phaseRows(f, count int) int { return count + (a.taps-1-f)/a.stride }

// unfoldedRows is the number of rows that all taps meet.
func (a axis) unfoldedRows(count int) int {
	rows := 0
	for f := range min(a.stride, a.taps) {
		rows += a.phaseRows(f, count)
	}
	return rows
}

// view is an image under a moving filter. Unfolded, it holds for every channel
// and every column of the filter the pixels that the column meets, as rows of
// cols.places pixels, so that any tap at consecutive places meets consecutive
// elements.
type view struct {
	channels   int
	rows, cols axis
}

// size is the number of elements of the unfolded image for count rows of places.
func (v view) size(count int) int {
	return v.channels * v.cols.taps * v.rows.unfoldedRows(count) * v.cols.places
}

// tap is where a tap meets the first place.
func (v view) tap(channel, ky, kx, count int) int {
	first, skip := v.rows.phase(ky, count)
	return ((channel*v.cols.taps+kx)*v.rows.unfoldedRows(count) + first + skip) * v.cols.places
}

// unfoldSlack is how far unfold may write past the end.
const unfoldSlack = 64

// unfold copies to u what count rows of places from row lo on meet.
func unfold[T Float](v view, image []T, lo, count int, u []T) {
	for ch := range v.channels {
		plane := image[ch*v.rows.pixels*v.cols.pixels:][:v.rows.pixels*v.cols.pixels]
		for kx := range v.cols.taps {
			for f := range min(v.rows.stride, v.rows.taps) {
				n := v.rows.phaseRows(f, count) * v.cols.places
				unfoldRows(v, plane, lo, kx, f, u, n)
				u = u[n:]
			}
		}
	}
}

// unfoldRows copies the rows of one channel, column of the filter and phase: n
// elements. Rows in the padding are zero.
func unfoldRows[T Float](v view, plane []T, lo, kx, f int, u []T, n int) {
	rows := axis{v.rows.pixels, lo + n/v.cols.places, 1, v.rows.stride, v.rows.padding - f}
	first, last := rows.within(0)
	first, last = max(first, lo), max(last, lo)
	if first >= last {
		clear(u[:n])
		return
	}
	top, end := (first-lo)*v.cols.places, (last-lo)*v.cols.places
	clear(u[:top])
	row := first*v.rows.stride + f - v.rows.padding
	shiftRows(v.cols, kx, u[top:], plane[row*v.cols.pixels:], v.cols.pixels*v.rows.stride, last-first)
	clear(u[end:n])
}

// shiftRowsGo copies the pixels that tap k of a row meets, zeros in the padding,
// for rows that are ld apart. It writes dst without gaps.
func shiftRowsGo[T Float](a axis, k int, dst, src []T, ld, rows int) {
	lo, hi := a.within(k)
	for i := range rows {
		row := dst[i*a.places : (i+1)*a.places]
		clear(row[:lo])
		for p := lo; p < hi; p++ {
			row[p] = src[i*ld+p*a.stride+k-a.padding]
		}
		clear(row[hi:])
	}
}
