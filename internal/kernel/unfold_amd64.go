//go:build !noasm

package kernel

import "unsafe"

// The assembly copies rows of up to 128 bytes, vector by vector: those that are
// neither before byte lo nor from byte hi on of the row at src+offset; others
// are zero. The last vector may reach 32 bytes past the row.

//go:noescape
func shiftRowsAVX2(dst, src unsafe.Pointer, offset, ldd, lds, rows, lo, hi, vectors int)

// These copy every second element to rows of up to 64 bytes; offset, lo and hi are those
// of the 128 bytes they are taken from. They may write 64 bytes past the row.

//go:noescape
func halveRows32AVX2(dst, src unsafe.Pointer, offset, ldd, lds, rows, lo, hi int)

//go:noescape
func halveRows64AVX2(dst, src unsafe.Pointer, offset, ldd, lds, rows, lo, hi int)

// shiftRows is shiftRowsGo by the best kernel at hand; it may write unfoldSlack
// elements past the last row.
func shiftRows[T Float](a axis, k int, dst, src []T, ld, rows int) {
	if simd == none || a.stride > 2 {
		shiftRowsGo(a, k, dst, src, ld, rows)
		return
	}
	const block = 128
	size := sizeOf[T]()
	d, s := unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0])
	width, shift := a.places*size, (k-a.padding)*size
	// What is written past a row is the start of the next, which must come later: so the
	// last columns come first.
	source := block / a.stride // bytes of dst done at a time
	for at := (width - 1) / source * source; at >= 0; at -= source {
		offset := at*a.stride + shift
		lo := min(max(-offset, 0), block)
		hi := min(max(a.pixels*size-offset, lo), block)
		to := unsafe.Add(d, at)
		switch {
		case a.stride == 1:
			vectors := (min(source, width-at) + 31) / 32
			shiftRowsAVX2(to, s, offset, width, ld*size, rows, lo, hi, vectors)
		case size == 4:
			halveRows32AVX2(to, s, offset, width, ld*size, rows, lo, hi)
		default:
			halveRows64AVX2(to, s, offset, width, ld*size, rows, lo, hi)
		}
	}
}
