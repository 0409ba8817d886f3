//go:build !noasm && (amd64 || arm64)

package kernel

// The assembly interleaves four rows of k > 0 elements: element p of row i goes to
// dst[p*width+i].

//go:noescape
func packCols32(dst *float32, width int, r0, r1, r2, r3 *float32, k int)

//go:noescape
func packCols64(dst *float64, width int, r0, r1, r2, r3 *float64, k int)

// packCols interleaves four rows at a time. If fewer than four rows are left, it repeats the
// last row. The results for the repeated rows are never stored.
func packCols[T Float](dst, src []T, ld, k, width, height int) {
	if simd == none {
		packColsGo(dst, src, ld, k, width, height)
		return
	}
	row := func(i int) []T { return src[min(i, height-1)*ld:] }
	for i := 0; i < height; i += 4 {
		interleave(dst[i:], width, row(i), row(i+1), row(i+2), row(i+3), k)
	}
}

// interleave is interleaveGo on the best instructions of this processor.
func interleave[T Float](dst []T, width int, r0, r1, r2, r3 []T, k int) {
	switch {
	case simd == none:
		interleaveGo(dst, width, r0, r1, r2, r3, k)
	case sizeOf[T]() == 4:
		packCols32(f32(&dst[0]), width, f32(&r0[0]), f32(&r1[0]), f32(&r2[0]), f32(&r3[0]), k)
	default:
		packCols64(f64(&dst[0]), width, f64(&r0[0]), f64(&r1[0]), f64(&r2[0]), f64(&r3[0]), k)
	}
}
