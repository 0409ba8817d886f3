//go:build !noasm

package kernel

// The assembly sets the n elements of y to the sum of k rows of b, ldb apart, each times an element of
// x, xstep apart. If add is 1, the sums in y are the start of the sum, and n is a multiple of the columns in
// 256 bytes. The second half of so many columns lies half elements behind the first half.

//go:noescape
func row32AVX2(y, b *float32, ldb int, x *float32, xstep, k, n, half, add int)

//go:noescape
func row64AVX2(y, b *float64, ldb int, x *float64, xstep, k, n, half, add int)

// The assembly writes the n sums in y, times alpha, to c. It adds them to c if add is 1.

//go:noescape
func rowPut32AVX2(c, y *float32, alpha float32, n, add int)

//go:noescape
func rowPut64AVX2(c, y *float64, alpha float64, n, add int)

// fastRow sets y to the sum of k rows of b, each times an element of x, in the order of a tile. It returns
// false if there is no assembly.
func fastRow[T Float](y, b []T, ldb, half int, x []T, xstep, k int, add bool) bool {
	switch {
	case simd == none:
		return false
	case sizeOf[T]() == 4:
		row32AVX2(f32(&y[0]), f32(&b[0]), ldb, f32(&x[0]), xstep, k, len(y), half, flag(add))
	default:
		row64AVX2(f64(&y[0]), f64(&b[0]), ldb, f64(&x[0]), xstep, k, len(y), half, flag(add))
	}
	return true
}

// fastPut writes sums, times alpha, to c, or adds them to c, with the roundings of a tile. It returns false
// if there is no assembly.
func fastPut[T Float](c, sums []T, alpha T, add bool) bool {
	switch {
	case simd == none:
		return false
	case sizeOf[T]() == 4:
		rowPut32AVX2(f32(&c[0]), f32(&sums[0]), float32(alpha), len(sums), flag(add))
	default:
		rowPut64AVX2(f64(&c[0]), f64(&sums[0]), float64(alpha), len(sums), flag(add))
	}
	return true
}
