//go:build !noasm

package kernel

// The assembly sets n > 0 elements of dst to a function of the elements of src.

//go:noescape
func elementary32AVX2(dst, src *float32, n int, f elementary)

//go:noescape
func elementary64AVX2(dst, src *float64, n int, f elementary)

//go:noescape
func elementary32AVX512(dst, src *float32, n int, f elementary)

//go:noescape
func elementary64AVX512(dst, src *float64, n int, f elementary)

// fastElementary computes the function and returns true. It returns false if the caller
// has to use the plain loop.
func fastElementary[T Float](f elementary, dst, src []T) bool {
	n := len(dst)
	if single := sizeOf[T]() == 4; n == 0 || simd == none || f >= sinOf && !(f == erfOf && single) {
		return false
	}
	switch {
	case sizeOf[T]() == 4 && simd == avx512:
		elementary32AVX512(f32(&dst[0]), f32(&src[0]), n, f)
	case sizeOf[T]() == 4:
		elementary32AVX2(f32(&dst[0]), f32(&src[0]), n, f)
	case simd == avx512:
		elementary64AVX512(f64(&dst[0]), f64(&src[0]), n, f)
	default:
		elementary64AVX2(f64(&dst[0]), f64(&src[0]), n, f)
	}
	return true
}
