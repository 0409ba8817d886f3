//go:build !noasm && (amd64 || arm64)

package kernel

// The assembly interleaves rows of elements at even and at odd columns to rows of width
// bytes. All numbers except rows are in bytes. It reads up to 32 bytes past the last row.

//go:noescape
func zip32(dst, even, odd *float32, ldd, lde, ldo, rows, width int)

//go:noescape
func zip64(dst, even, odd *float64, ldd, lde, ldo, rows, width int)

// zip is zipGo on the best instructions of this processor.
func zip[T Float](dst []T, ldd int, even, odd []T, rows, width int) {
	size := sizeOf[T]()
	lde, ldo := (width+1)/2*size, width/2*size
	switch {
	case simd == none:
		zipGo(dst, ldd, even, odd, rows, width)
	case size == 4:
		zip32(f32(&dst[0]), f32(&even[0]), f32(&odd[0]), ldd*size, lde, ldo, rows, width*size)
	default:
		zip64(f64(&dst[0]), f64(&even[0]), f64(&odd[0]), ldd*size, lde, ldo, rows, width*size)
	}
}
