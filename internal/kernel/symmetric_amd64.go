//go:build !noasm

package kernel

// The assembly for eigenvalues of symmetric matrices uses AVX2. Other processors have none.

//go:noescape
func symv64AVX2(x, y, m *float64, ldm int, c *float64, n int, sums *float64)

//go:noescape
func poles64AVX2(z, p *float64, x float64, n int) (sum, squares float64)

// fastSymv4 sets sums to the inner products of x with four rows of m, which are ldm apart. It adds
// each row, times an element of c, to y.
func fastSymv4(x, y, m []float64, ldm int, c []float64, sums *[4]float64) bool {
	n := len(x)
	if n == 0 || simd == none {
		return false
	}
	symv64AVX2(&x[0], &y[0], &m[0], ldm, &c[0], n, &sums[0])
	return true
}

// fastPoles computes Poles without the last len(z)%4 terms.
func fastPoles(z, p []float64, x float64) (sum, squares float64, ok bool) {
	if len(z) < 4 || simd == none {
		return 0, 0, false
	}
	sum, squares = poles64AVX2(&z[0], &p[0], x, len(z)&^3)
	return sum, squares, true
}
