//go:build !noasm && (amd64 || arm64)

package kernel

//go:noescape
func adam32(theta, m, v, grad *float32, c *AdamCoefficients[float32], n int)

//go:noescape
func adam64(theta, m, v, grad *float64, c *AdamCoefficients[float64], n int)

// fastAdam makes the step and returns true. Without assembly it does nothing and returns
// false.
func fastAdam[T Float](theta, m, v, g []T, c *AdamCoefficients[T]) bool {
	n := len(theta)
	if n == 0 || simd == none {
		return false
	}
	switch c := any(c).(type) {
	case *AdamCoefficients[float32]:
		adam32(f32(&theta[0]), f32(&m[0]), f32(&v[0]), f32(&g[0]), c, n)
	case *AdamCoefficients[float64]:
		adam64(f64(&theta[0]), f64(&m[0]), f64(&v[0]), f64(&g[0]), c, n)
	}
	return true
}
