//go:build !noasm

package kernel

// The assembly adds the inner products of five rows with five rows to 25 vectors of sums, see
// fives.

//go:noescape
func gram32AVX512(x, y *float32, ld, n int, sums *float32)

//go:noescape
func gram64AVX512(x, y *float64, ld, n int, sums *float64)

// hasFives reports whether the processor has the instructions of fives.
func hasFives() bool { return simd == avx512 }

// fives adds to sums the products of the first n elements of five rows x with the first n elements
// of five rows y. Rows are ld apart. Vector 5i+j of sums belongs to row i of x and row j of y.
func fives[T Float](x, y []T, ld, n int, sums []T) {
	if sizeOf[T]() == 4 {
		gram32AVX512(f32(&x[0]), f32(&y[0]), ld, n, f32(&sums[0]))
	} else {
		gram64AVX512(f64(&x[0]), f64(&y[0]), ld, n, f64(&sums[0]))
	}
}
