//go:build !noasm

package kernel

// The assembly sets n > 0 elements of dst to a function of those of src.

//go:noescape
func tanh32AVX2(dst, src *float32, n int)

//go:noescape
func tanh64AVX2(dst, src *float64, n int)

//go:noescape
func exp32AVX2(dst, src *float32, n int)

//go:noescape
func exp64AVX2(dst, src *float64, n int)

//go:noescape
func log32AVX2(dst, src *float32, n int)

//go:noescape
func log64AVX2(dst, src *float64, n int)

//go:noescape
func softplus32AVX2(dst, src *float32, n int)

//go:noescape
func softplus64AVX2(dst, src *float64, n int)

//go:noescape
func sigmoid32AVX2(dst, src *float32, n int)

//go:noescape
func sigmoid64AVX2(dst, src *float64, n int)

//go:noescape
func tanh32AVX512(dst, src *float32, n int)

//go:noescape
func tanh64AVX512(dst, src *float64, n int)

//go:noescape
func exp32AVX512(dst, src *float32, n int)

//go:noescape
func exp64AVX512(dst, src *float64, n int)

//go:noescape
func log32AVX512(dst, src *float32, n int)

//go:noescape
func log64AVX512(dst, src *float64, n int)

//go:noescape
func softplus32AVX512(dst, src *float32, n int)

//go:noescape
func softplus64AVX512(dst, src *float64, n int)

//go:noescape
func sigmoid32AVX512(dst, src *float32, n int)

//go:noescape
func sigmoid64AVX512(dst, src *float64, n int)

// fastElementary computes the function and returns true. It returns false if the caller
// has to use the plain loop.
func fastElementary[T Float](f elementary, dst, src []T) bool {
	n := len(dst)
	if n == 0 || simd == none || f >= erfOf {
		return false
	}
	switch {
	case sizeOf[T]() == 4 && simd == avx512:
		elementary32AVX512(f, f32(&dst[0]), f32(&src[0]), n)
	case sizeOf[T]() == 4:
		elementary32AVX2(f, f32(&dst[0]), f32(&src[0]), n)
	case simd == avx512:
		elementary64AVX512(f, f64(&dst[0]), f64(&src[0]), n)
	default:
		elementary64AVX2(f, f64(&dst[0]), f64(&src[0]), n)
	}
	return true
}

func elementary32AVX2(f elementary, dst, src *float32, n int) {
	switch f {
	case tanhOf:
		tanh32AVX2(dst, src, n)
	case expOf:
		exp32AVX2(dst, src, n)
	case logOf:
		log32AVX2(dst, src, n)
	case softplusOf:
		softplus32AVX2(dst, src, n)
	case sigmoidOf:
		sigmoid32AVX2(dst, src, n)
	}
}

func elementary64AVX2(f elementary, dst, src *float64, n int) {
	switch f {
	case tanhOf:
		tanh64AVX2(dst, src, n)
	case expOf:
		exp64AVX2(dst, src, n)
	case logOf:
		log64AVX2(dst, src, n)
	case softplusOf:
		softplus64AVX2(dst, src, n)
	case sigmoidOf:
		sigmoid64AVX2(dst, src, n)
	}
}

func elementary32AVX512(f elementary, dst, src *float32, n int) {
	switch f {
	case tanhOf:
		tanh32AVX512(dst, src, n)
	case expOf:
		exp32AVX512(dst, src, n)
	case logOf:
		log32AVX512(dst, src, n)
	case softplusOf:
		softplus32AVX512(dst, src, n)
	case sigmoidOf:
		sigmoid32AVX512(dst, src, n)
	}
}

func elementary64AVX512(f elementary, dst, src *float64, n int) {
	switch f {
	case tanhOf:
		tanh64AVX512(dst, src, n)
	case expOf:
		exp64AVX512(dst, src, n)
	case logOf:
		log64AVX512(dst, src, n)
	case softplusOf:
		softplus64AVX512(dst, src, n)
	case sigmoidOf:
		sigmoid64AVX512(dst, src, n)
	}
}
