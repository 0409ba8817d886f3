//go:build !noasm

package kernel

// The assembly multiplies 12 rows of A, arow elements apart, by a quad of B. It adds rows×cols products
// to C if add is 1, and writes these products to C if add is 0.

//go:noescape
func quad32AVX512(k int, a *float32, arow int, b, c *float32, ldc, rows, cols, add int)

//go:noescape
func quad64AVX512(k int, a *float64, arow int, b, c *float64, ldc, rows, cols, add int)

// hasQuads reports whether the processor has the instructions of quad.
func hasQuads() bool { return simd == avx512 }

// quad computes C = A·B, or C += A·B if add is set, for up to tileRows rows of A and up to quadCols
// columns of a quad. It reads tileRows rows of A, whatever lies behind the last row.
func quad[T Float](k int, a []T, arow int, b, c []T, ldc, rows, cols int, add bool) {
	if sizeOf[T]() == 4 {
		quad32AVX512(k, f32(&a[0]), arow, f32(&b[0]), f32(&c[0]), ldc, rows, cols, flag(add))
	} else {
		quad64AVX512(k, f64(&a[0]), arow, f64(&b[0]), f64(&c[0]), ldc, rows, cols, flag(add))
	}
}
