//go:build !noasm

package kernel

import "unsafe"

// The assembly computes up to 12 rows of two AVX-512 vectors (tile…AVX512) or up to
// 6 rows of two AVX2 vectors (tile…AVX2). It adds them to C if add is 1 and writes them if
// add is 0. With each step of 12 wide rows, AVX-512 asks the second level cache for the next pace
// bytes behind those that are ahead bytes behind b, be there memory or not.

//go:noescape
func tile32AVX512(k int, alpha float32, a *float32, arow, astep int, b *float32, ldb int, c *float32, ldc, rows, cols, add, ahead, pace int)

//go:noescape
func tile64AVX512(k int, alpha float64, a *float64, arow, astep int, b *float64, ldb int, c *float64, ldc, rows, cols, add, ahead, pace int)

//go:noescape
func tile32AVX2(k int, alpha float32, a *float32, arow, astep int, b *float32, ldb int, c *float32, ldc, rows, cols, add int)

//go:noescape
func tile64AVX2(k int, alpha float64, a *float64, arow, astep int, b *float64, ldb int, c *float64, ldc, rows, cols, add int)

//go:noescape
func packRowsAVX2(dst, src unsafe.Pointer, ld, k, width, height int)

// strided reports whether tile takes panels that are not packed.
func strided() bool { return simd != none }

// tile is tileGo on the best instructions of this processor.
func tile[T Float](k int, alpha T, a []T, arow, astep int, b []T, ldb int, c []T, ldc, rows, cols int, add bool, ahead, pace int) {
	switch {
	case simd == none:
		tileGo(k, alpha, a, b, ldb, c, ldc, rows, cols, add)
	case simd == avx2:
		tileAVX2(k, alpha, a, arow, astep, b, ldb, c, ldc, rows, cols, flag(add))
	case sizeOf[T]() == 4:
		tile32AVX512(k, float32(alpha), f32(&a[0]), arow, astep, f32(&b[0]), ldb, f32(&c[0]), ldc, rows, cols, flag(add), ahead, pace)
	default:
		tile64AVX512(k, float64(alpha), f64(&a[0]), arow, astep, f64(&b[0]), ldb, f64(&c[0]), ldc, rows, cols, flag(add), ahead, pace)
	}
}

// tileAVX2 computes a tile by up to four calls, each of half the height and width.
func tileAVX2[T Float](k int, alpha T, a []T, arow, astep int, b []T, ldb int, c []T, ldc, rows, cols, add int) {
	const h = tileRows / 2
	w := tileCols[T]() / 2
	for j := 0; j < cols; j += w {
		for i := 0; i < rows; i += h {
			r, q, at := min(h, rows-i), min(w, cols-j), i*ldc+j
			if sizeOf[T]() == 4 {
				tile32AVX2(k, float32(alpha), f32(&a[i*arow]), arow, astep, f32(&b[j]), ldb, f32(&c[at]), ldc, r, q, add)
			} else {
				tile64AVX2(k, float64(alpha), f64(&a[i*arow]), arow, astep, f64(&b[j]), ldb, f64(&c[at]), ldc, r, q, add)
			}
		}
	}
}

func packRows[T Float](dst, src []T, ld, k, width, height int) {
	if simd == none {
		packRowsGo(dst, src, ld, k, width, height)
		return
	}
	size := sizeOf[T]()
	packRowsAVX2(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), ld*size, k, width*size, height*size)
}
