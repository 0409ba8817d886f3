//go:build !noasm && (amd64 || arm64)

package kernel

// The assembly does arithmetic on rows > 0 rows of n > 0 elements.

//go:noescape
func arithmetic32(op int, dst, a, b, c *float32, n, rows, stepA, stepB, stepC int)

//go:noescape
func arithmetic64(op int, dst, a, b, c *float64, n, rows, stepA, stepB, stepC int)

//go:noescape
func mulAdd32(dst, a, b, c *float32, n int)

//go:noescape
func mulAdd64(dst, a, b, c *float64, n int)

//go:noescape
func dot32(x, y *float32, n int) float32

//go:noescape
func dot64(x, y *float64, n int) float64

//go:noescape
func dots32(x, y *float32, ldy, n int, sums *float32)

//go:noescape
func dots64(x, y *float64, ldy, n int, sums *float64)

//go:noescape
func sum32(x *float32, n int) float32

//go:noescape
func sum64(x *float64, n int) float64

//go:noescape
func axpyRows32(y, m *float32, ldm int, x *float32, n int)

//go:noescape
func axpyRows64(y, m *float64, ldm int, x *float64, n int)

// The functions below do their work and return true. If the caller has to use the plain
// loops they do nothing and return false.

func fastArithmetic[T Float](op operation, r Rows, dst, a, b, c []T, stepC int) bool {
	if simd == none {
		return false
	}
	n := len(dst) / r.Count
	if sizeOf[T]() == 4 {
		arithmetic32(int(op), f32(&dst[0]), f32(&a[0]), f32(&b[0]), f32(&c[0]), n, r.Count, r.A, r.B, stepC)
	} else {
		arithmetic64(int(op), f64(&dst[0]), f64(&a[0]), f64(&b[0]), f64(&c[0]), n, r.Count, r.A, r.B, stepC)
	}
	return true
}

func fastMulAdd[T Float](dst, a, b, c []T) bool {
	n := len(dst)
	if n == 0 || simd == none {
		return false
	}
	if sizeOf[T]() == 4 {
		mulAdd32(f32(&dst[0]), f32(&a[0]), f32(&b[0]), f32(&c[0]), n)
	} else {
		mulAdd64(f64(&dst[0]), f64(&a[0]), f64(&b[0]), f64(&c[0]), n)
	}
	return true
}

func fastDot[T Float](x, y []T) (sum T, ok bool) {
	switch {
	case len(x) == 0 || simd == none:
		return 0, false
	case sizeOf[T]() == 4:
		return T(dot32(f32(&x[0]), f32(&y[0]), len(x))), true
	}
	return T(dot64(f64(&x[0]), f64(&y[0]), len(x))), true
}

func fastSum[T Float](x []T) (sum T, ok bool) {
	switch {
	case len(x) == 0 || simd == none:
		return 0, false
	case sizeOf[T]() == 4:
		return T(sum32(f32(&x[0]), len(x))), true
	}
	return T(sum64(f64(&x[0]), len(x))), true
}

// fastDots sets sums to the inner products of x with four rows of y, which are ldy apart.
func fastDots[T Float](x, y []T, ldy int, sums *[4]T) bool {
	if len(x) == 0 || simd == none {
		return false
	}
	if sizeOf[T]() == 4 {
		dots32(f32(&x[0]), f32(&y[0]), ldy, len(x), f32(&sums[0]))
	} else {
		dots64(f64(&x[0]), f64(&y[0]), ldy, len(x), f64(&sums[0]))
	}
	return true
}

// fastAxpy4 adds to y four rows of m, which are ldm apart, each times an element of x.
func fastAxpy4[T Float](y, m []T, ldm int, x []T) bool {
	n := len(y)
	if n == 0 || simd == none {
		return false
	}
	if sizeOf[T]() == 4 {
		axpyRows32(f32(&y[0]), f32(&m[0]), ldm, f32(&x[0]), n)
	} else {
		axpyRows64(f64(&y[0]), f64(&m[0]), ldm, f64(&x[0]), n)
	}
	return true
}
