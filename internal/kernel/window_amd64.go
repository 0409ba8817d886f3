//go:build !noasm

package kernel

// The assembly computes up to 8 rows of three AVX-512 vectors (window…AVX512)
// or 4 rows of three AVX2 vectors (window…AVX2); add is 0 or 1.

//go:noescape
func window32AVX512(count int, steps *step, a *float32, arow int, b, c *float32, ldc, rows, cols, add int)

//go:noescape
func window64AVX512(count int, steps *step, a *float64, arow int, b, c *float64, ldc, rows, cols, add int)

//go:noescape
func window32AVX2(count int, steps *step, a *float32, arow int, b, c *float32, ldc, rows, cols, add int)

//go:noescape
func window64AVX2(count int, steps *step, a *float64, arow int, b, c *float64, ldc, rows, cols, add int)

// window is windowGo by the best kernel at hand.
func window[T Float](steps []step, a []T, arow int, b, c []T, ldc, rows, cols int, add bool) {
	flag, wide := 0, sizeOf[T]() == 8
	if add {
		flag = 1
	}
	switch {
	case simd == none:
		windowGo(steps, a, arow, b, c, ldc, rows, cols, add)
	case simd == avx2:
		windowAVX2(steps, a, arow, b, c, ldc, rows, cols, flag)
	case wide:
		window64AVX512(len(steps), &steps[0], f64(&a[0]), arow, f64(&b[0]), f64(&c[0]), ldc, rows, cols, flag)
	default:
		window32AVX512(len(steps), &steps[0], f32(&a[0]), arow, f32(&b[0]), f32(&c[0]), ldc, rows, cols, flag)
	}
}

// windowAVX2 covers a window by up to four kernels of half the height and width.
func windowAVX2[T Float](steps []step, a []T, arow int, b, c []T, ldc, rows, cols, add int) {
	const h = windowRows / 2
	w := windowCols[T]() / 2
	for j := 0; j < cols; j += w {
		for i := 0; i < rows; i += h {
			r, q, at := min(h, rows-i), min(w, cols-j), i*ldc+j
			if sizeOf[T]() == 4 {
				window32AVX2(len(steps), &steps[0], f32(&a[i*arow]), arow, f32(&b[j]), f32(&c[at]), ldc, r, q, add)
			} else {
				window64AVX2(len(steps), &steps[0], f64(&a[i*arow]), arow, f64(&b[j]), f64(&c[at]), ldc, r, q, add)
			}
		}
	}
}
