package kernel

// The functions of several vectors need equal lengths. dst may be one of the
// operands; otherwise they must not overlap.

// Add computes dst = a + b.
func Add[T Float](dst, a, b []T) {
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	for i, x := range a {
		dst[i] = x + b[i]
	}
}

// Sub computes dst = a - b.
func Sub[T Float](dst, a, b []T) {
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	for i, x := range a {
		dst[i] = x - b[i]
	}
}

// Mul computes dst = a·b, element by element.
func Mul[T Float](dst, a, b []T) {
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	for i, x := range a {
		dst[i] = x * b[i]
	}
}

// Div computes dst = a/b, element by element.
func Div[T Float](dst, a, b []T) {
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	for i, x := range a {
		dst[i] = x / b[i]
	}
}

// MulAdd computes dst = a·b + c, element by element. Whether the product is
// rounded before the sum depends on the processor.
func MulAdd[T Float](dst, a, b, c []T) {
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	checkLength(len(dst), len(c))
	for i, x := range a {
		dst[i] = x*b[i] + c[i]
	}
}

// Scale computes dst = alpha·a.
func Scale[T Float](dst []T, alpha T, a []T) {
	checkLength(len(dst), len(a))
	for i, x := range a {
		dst[i] = alpha * x
	}
}

// AddScalar computes dst = alpha + a.
func AddScalar[T Float](dst []T, alpha T, a []T) {
	checkLength(len(dst), len(a))
	for i, x := range a {
		dst[i] = alpha + x
	}
}

// Axpy computes y += alpha·x.
func Axpy[T Float](alpha T, x, y []T) {
	checkLength(len(y), len(x))
	for i, v := range x {
		y[i] += alpha * v
	}
}

// Dot returns the sum of x·y, added in a fixed order.
func Dot[T Float](x, y []T) T {
	checkLength(len(x), len(y))
	var s [4]T
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		s[0] += x[i] * y[i]
		s[1] += x[i+1] * y[i+1]
		s[2] += x[i+2] * y[i+2]
		s[3] += x[i+3] * y[i+3]
	}
	for i := n; i < len(x); i++ {
		s[0] += x[i] * y[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// Sum returns the sum of x, added in a fixed order.
func Sum[T Float](x []T) T {
	var s [4]T
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		s[0] += x[i]
		s[1] += x[i+1]
		s[2] += x[i+2]
		s[3] += x[i+3]
	}
	for i := n; i < len(x); i++ {
		s[0] += x[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}
