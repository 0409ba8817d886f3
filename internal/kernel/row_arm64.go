//go:build !noasm

package kernel

func fastRow[T Float]([]T, []T, int, int, []T, int, int, bool) bool { return false }

// fastPut adds sums, times alpha, to c, as a tile does, which rounds once. It leaves the rest to the plain
// loop.
func fastPut[T Float](c, sums []T, alpha T, add bool) bool {
	if simd == none || !add {
		return false
	}
	Axpy(alpha, sums, c[:len(sums)])
	return true
}
