//go:build !noasm

package kernel

import "unsafe"

// unfolding is the part of a region that the assembly copies at a time: up to
// 128 bytes of each row, or of the pixels it takes every second of. All but the
// number of rows, vectors and channels is in bytes. Pixels before byte lo and
// from byte hi on of the rows at src+offset are padding. The assembly knows the
// order of the fields.
type unfolding struct {
	dst, src           unsafe.Pointer
	offset             int
	ldd, lds           int
	top, rows, bottom  int
	lo, hi             int
	vectors            int // of 32 bytes, in dst
	channels           int
	dstPlane, srcPlane int
}

//go:noescape
func unfoldAVX2(u *unfolding)

//go:noescape
func unfoldHalf32AVX2(u *unfolding)

//go:noescape
func unfoldHalf64AVX2(u *unfolding)

// fillRegion is fillRegionGo by the best kernel at hand.
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
	// What is written past a row is the start of the next, which must come later: so the
	// last columns come first.
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
