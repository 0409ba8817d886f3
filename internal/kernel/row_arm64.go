//go:build !noasm

package kernel

// fastPut adds sums, times alpha, to c with a single rounding, as a tile does. It returns false if add is
// not set, and the plain loop then does the work.
func fastPut[T Float](c, sums []T, alpha T, add bool) bool {
	if simd == none || !add {
		return false
	}
	Axpy(alpha, sums, c[:len(sums)])
	return true
}
