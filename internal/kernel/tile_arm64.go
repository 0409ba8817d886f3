//go:build !noasm

package kernel

// The assembly computes up to 12 rows of two vectors of 16 bytes, from a packed panel of A.
// It adds them to C if add is 1 and writes them if add is 0.

//go:noescape
func tile32(k int, alpha float32, a, b *float32, ldb int, c *float32, ldc, rows, add int)

//go:noescape
func tile64(k int, alpha float64, a, b *float64, ldb int, c *float64, ldc, rows, add int)

// tileMost is the number of elements that the assembly computes at most, in float32.
const tileMost = tileRows * 8

// tile is tileGo on the best instructions of this processor. The assembly writes whole
// vectors, so that the last columns take a detour.
func tile[T Float](k int, alpha T, a []T, _, _ int, b []T, ldb int, c []T, ldc, rows, cols int, add bool, _, _ int) {
	if simd == none {
		tileGo(k, alpha, a, b, ldb, c, ldc, rows, cols, add)
		return
	}
	width := 32 / sizeOf[T]()
	for ; cols >= width; cols -= width {
		tileColumns(k, alpha, a, b, ldb, c, ldc, rows, add)
		b, c = b[width:], from(c, width)
	}
	if cols > 0 {
		var t [tileMost]T
		if add { // the assembly rounds once where it adds, here as in the other columns
			putColumns(t[:], width, c, ldc, rows, cols, false)
		}
		tileColumns(k, alpha, a, b, ldb, t[:], width, rows, add)
		putColumns(c, ldc, t[:], width, rows, cols, false)
	}
}

// tileColumns computes the first two vectors of columns.
func tileColumns[T Float](k int, alpha T, a, b []T, ldb int, c []T, ldc, rows int, add bool) {
	if sizeOf[T]() == 4 {
		tile32(k, float32(alpha), f32(&a[0]), f32(&b[0]), ldb, f32(&c[0]), ldc, rows, flag(add))
	} else {
		tile64(k, float64(alpha), f64(&a[0]), f64(&b[0]), ldb, f64(&c[0]), ldc, rows, flag(add))
	}
}

// putColumns copies rows×cols elements of t, or adds them if add is set.
func putColumns[T Float](c []T, ldc int, t []T, ldt, rows, cols int, add bool) {
	for i := range rows {
		dst, src := c[i*ldc:][:cols], t[i*ldt:][:cols]
		if !add {
			copy(dst, src)
			continue
		}
		for j, v := range src {
			dst[j] += v
		}
	}
}
