//go:build !noasm

package kernel

// The assembly computes up to 8 rows of up to three AVX-512 vectors (window…AVX512) or up to
// 4 rows of up to three AVX2 vectors (window…AVX2). It adds them to C if add is 1 and writes
// them if add is 0.

//go:noescape
func window32AVX512(count int, steps *step, a *float32, arow int, b0, b1, b2, c *float32, ldc, rows, cols, add int)

//go:noescape
func window64AVX512(count int, steps *step, a *float64, arow int, b0, b1, b2, c *float64, ldc, rows, cols, add int)

//go:noescape
func window32AVX2(count int, steps *step, a *float32, arow int, b0, b1, b2, c *float32, ldc, rows, cols, add int)

//go:noescape
func window64AVX2(count int, steps *step, a *float64, arow int, b0, b1, b2, c *float64, ldc, rows, cols, add int)

// window is windowGo on the best instructions of this processor.
func window[T Float](steps []step, a []T, arow int, b []T, at *[3]int, c []T, ldc, rows, cols int, add bool) {
	n := len(steps)
	switch {
	case simd == none:
		windowGo(steps, a, arow, b, at, c, ldc, rows, cols, add)
	case simd == avx2:
		windowAVX2(steps, a, arow, b, at, c, ldc, rows, cols, flag(add))
	case sizeOf[T]() == 4:
		window32AVX512(n, &steps[0], f32(&a[0]), arow, f32(&b[at[0]]), f32(&b[at[1]]), f32(&b[at[2]]), f32(&c[0]), ldc, rows, cols, flag(add))
	default:
		window64AVX512(n, &steps[0], f64(&a[0]), arow, f64(&b[at[0]]), f64(&b[at[1]]), f64(&b[at[2]]), f64(&c[0]), ldc, rows, cols, flag(add))
	}
}

// windowAVX2 computes a window by up to four calls, each of half the height and about half the
// width.
func windowAVX2[T Float](steps []step, a []T, arow int, b []T, at *[3]int, c []T, ldc, rows, cols, add int) {
	const h = windowRows / 2
	v := windowCols[T]() / 6
	// The three AVX-512 vectors are six AVX2 vectors, which begin here.
	halves := [6]int{at[0], at[0] + v, at[1], at[1] + v, at[2], at[2] + v}
	for j := 0; j < cols; {
		q, at := windowWidth(cols-j, v), j/v
		b0, b1, b2 := &b[halves[at]], &b[halves[min(at+1, 5)]], &b[halves[min(at+2, 5)]]
		for i := 0; i < rows; i += h {
			n, r := len(steps), min(h, rows-i)
			x, y := &a[i*arow], &c[i*ldc+j]
			if sizeOf[T]() == 4 {
				window32AVX2(n, &steps[0], f32(x), arow, f32(b0), f32(b1), f32(b2), f32(y), ldc, r, q, add)
			} else {
				window64AVX2(n, &steps[0], f64(x), arow, f64(b0), f64(b1), f64(b2), f64(y), ldc, r, q, add)
			}
		}
		j += q
	}
}
