//go:build !noasm

package kernel

import "unsafe"

// unfolding is the part of a region that the assembly copies at a time. The assembly reads up to 128
// bytes of each row of the source and takes every pixel or every second pixel. All numbers
// are in bytes, except numbers of rows, vectors and channels. In the rows at src+offset, the
// pixels before byte lo and from byte hi on are padding. The assembly relies on the order of
// the fields.
type unfolding struct {
	dst, src           unsafe.Pointer // first row of the copy, and first row of pixels
	offset             int            // from src to the pixels that the copy begins with; may be negative
	ldd, lds           int            // from row to row of dst and of src
	top, rows, bottom  int            // rows of padding above, of pixels, and of padding below
	lo, hi             int            // bounds of the pixels that are no padding
	vectors            int            // of 32 bytes, in dst
	channels           int            // number of channels
	dstPlane, srcPlane int            // from channel to channel of dst and of src
}

//go:noescape
func unfoldAVX2(u *unfolding)

//go:noescape
func unfoldHalf32AVX2(u *unfolding)

//go:noescape
func unfoldHalf64AVX2(u *unfolding)

// fillRegion is fillRegionGo on the best instructions of this processor.
func fillRegion[T Float](v view, r region, image, u []T, size int) {
	stride := v.cols.stride
	if simd == none || stride > 2 {
		fillRegionGo(v, r, image, u, size)
		return
	}
	const block = 128
	bytes, source := sizeOf[T](), block/stride
	width, row := v.pitch()*bytes, v.cols.pixels*bytes
	if r.rows == 0 {
		r.row = 0
	}
	job := unfolding{
		src: unsafe.Pointer(&image[r.row*v.cols.pixels]),
		ldd: width, lds: row * v.rows.stride, top: r.top, rows: r.rows, bottom: r.bottom,
		channels: v.channels, dstPlane: size * bytes, srcPlane: v.rows.pixels * row,
	}
	// The assembly may write past the end of a row, over the start of the next row. The
	// last columns are therefore copied first, and the start of the next row afterwards.
	last := 0
	for last+source < width {
		last += source
	}
	for at := last; at >= 0; at -= source {
		job.dst = unsafe.Add(unsafe.Pointer(&u[0]), at)
		job.offset = at*stride + (r.tap-v.cols.padding)*bytes
		job.lo = min(max(-job.offset, 0), block)
		job.hi = min(max(row-job.offset, job.lo), block)
		job.vectors = (min(source, width-at) + 31) / 32
		job.run(stride, bytes)
	}
}

// run copies every pixel, or every second pixel if stride is 2, of elements of size bytes.
func (u *unfolding) run(stride, size int) {
	switch {
	case stride == 1:
		unfoldAVX2(u)
	case size == 4:
		unfoldHalf32AVX2(u)
	default:
		unfoldHalf64AVX2(u)
	}
}
