//go:build !noasm

package kernel

// The assembly sets n > 0 elements of dst to a function of those of src.

//go:noescape
func tanh32(dst, src *float32, n int)

//go:noescape
func tanh64(dst, src *float64, n int)

//go:noescape
func exp32(dst, src *float32, n int)

//go:noescape
func exp64(dst, src *float64, n int)

//go:noescape
func log32(dst, src *float32, n int)

//go:noescape
func log64(dst, src *float64, n int)

//go:noescape
func softplus32(dst, src *float32, n int)

//go:noescape
func softplus64(dst, src *float64, n int)

//go:noescape
func sigmoid32(dst, src *float32, n int)

//go:noescape
func sigmoid64(dst, src *float64, n int)

// fastElementary computes the function and returns true. It returns false if the caller
// has to use the plain loop.
func fastElementary[T Float](f elementary, dst, src []T) bool {
	n := len(dst)
	if n == 0 || simd == none || f >= erfOf {
		return false
	}
	if sizeOf[T]() == 4 {
		elementary32(f, f32(&dst[0]), f32(&src[0]), n)
	} else {
		elementary64(f, f64(&dst[0]), f64(&src[0]), n)
	}
	return true
}

func elementary32(f elementary, dst, src *float32, n int) {
	switch f {
	case tanhOf:
		tanh32(dst, src, n)
	case expOf:
		exp32(dst, src, n)
	case logOf:
		log32(dst, src, n)
	case softplusOf:
		softplus32(dst, src, n)
	case sigmoidOf:
		sigmoid32(dst, src, n)
	}
}

func elementary64(f elementary, dst, src *float64, n int) {
	switch f {
	case tanhOf:
		tanh64(dst, src, n)
	case expOf:
		exp64(dst, src, n)
	case logOf:
		log64(dst, src, n)
	case softplusOf:
		softplus64(dst, src, n)
	case sigmoidOf:
		sigmoid64(dst, src, n)
	}
}
