//go:build !noasm

package kernel

// The assembly for eigenvalues of symmetric matrices uses AVX2. Other processors have none.

//go:noescape
func symv32AVX2(x, y, m *float32, ldm int, c *float32, n int, sums *float32)

//go:noescape
func symv64AVX2(x, y, m *float64, ldm int, c *float64, n int, sums *float64)

//go:noescape
func poles64AVX2(z, p *float64, x float64, n int) (sum, squares float64)

// fastSymv4 sets sums to the inner products of x with four rows of m, which are ldm apart. It adds
// each row, times an element of c, to y.
func fastSymv4[T Float](x, y, m []T, ldm int, c []T, sums *[4]T) bool {
	n := len(x)
	if n == 0 || simd == none {
		return false
	}
	if sizeOf[T]() == 4 {
		symv32AVX2(f32(&x[0]), f32(&y[0]), f32(&m[0]), ldm, f32(&c[0]), n, f32(&sums[0]))
	} else {
		symv64AVX2(f64(&x[0]), f64(&y[0]), f64(&m[0]), ldm, f64(&c[0]), n, f64(&sums[0]))
	}
	return true
}

// fastPoles computes Poles without the last len(z)%4 terms.
func fastPoles(z, p []float64, x float64) (sum, squares float64, ok bool) {
	if len(z) < 4 || simd == none {
		return 0, 0, false
	}
	sum, squares = poles64AVX2(f64(&z[0]), f64(&p[0]), x, len(z)&^3)
	return sum, squares, true
}
