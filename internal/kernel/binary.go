package kernel

import "math"

// The vectors of one call must have equal lengths. dst may be one of the operands;
// otherwise the vectors must not overlap.

// operation names one operation on the elements of a and b and a number c.
// The assembly uses the same numbers.
type operation int

const (
	sum        operation = iota // a + b
	difference                  // a - b
	product                     // a·b
	quotient                    // a/b
	scaleBy                     // c·a
	shiftBy                     // c + a
	axpy                        // c·a + b
	reluOf                      // max(a, 0)
	stepOf                      // c if a > 0, else 0
	recipOf                     // c/a
	sqrtOf                      // √a
)

// arithmetic sets dst = op(a, b, c).
func arithmetic[T Float](op operation, dst, a, b []T, c T) {
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	if fastArithmetic(op, dst, a, b, c) {
		return
	}
	switch op {
	case sum:
		for i, x := range a {
			dst[i] = x + b[i]
		}
	case difference:
		for i, x := range a {
			dst[i] = x - b[i]
		}
	case product:
		for i, x := range a {
			dst[i] = x * b[i]
		}
	case quotient:
		for i, x := range a {
			dst[i] = x / b[i]
		}
	case axpy:
		for i, x := range a {
			dst[i] = c*x + b[i]
		}
	default:
		unaryArithmetic(op, dst, a, c)
	}
}

// unaryArithmetic sets dst = op(a, c).
func unaryArithmetic[T Float](op operation, dst, a []T, c T) {
	for i, x := range a {
		switch op {
		case scaleBy:
			x *= c
		case shiftBy:
			x += c
		case recipOf:
			x = c / x
		case sqrtOf:
			x = T(math.Sqrt(float64(x)))
		case reluOf:
			if x < 0 {
				x = 0
			}
		case stepOf:
			if x > 0 {
				x = c
			} else {
				x = 0
			}
		}
		dst[i] = x
	}
}

// Add computes dst = a + b.
func Add[T Float](dst, a, b []T) { arithmetic(sum, dst, a, b, 0) }

// Sub computes dst = a - b.
func Sub[T Float](dst, a, b []T) { arithmetic(difference, dst, a, b, 0) }

// Mul computes dst = a·b, element by element.
func Mul[T Float](dst, a, b []T) { arithmetic(product, dst, a, b, 0) }

// Div computes dst = a/b, element by element.
func Div[T Float](dst, a, b []T) { arithmetic(quotient, dst, a, b, 0) }

// Scale computes dst = alpha·a.
func Scale[T Float](dst []T, alpha T, a []T) { arithmetic(scaleBy, dst, a, a, alpha) }

// AddScalar computes dst = alpha + a.
func AddScalar[T Float](dst []T, alpha T, a []T) { arithmetic(shiftBy, dst, a, a, alpha) }

// Axpy computes y += alpha·x. Whether the product is rounded before the sum
// depends on the processor.
func Axpy[T Float](alpha T, x, y []T) { arithmetic(axpy, y, x, y, alpha) }

// MulAdd computes dst = a·b + c, element by element. Whether the product is
// rounded before the sum depends on the processor.
func MulAdd[T Float](dst, a, b, c []T) {
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	checkLength(len(dst), len(c))
	if fastMulAdd(dst, a, b, c) {
		return
	}
	for i, x := range a {
		dst[i] = x*b[i] + c[i]
	}
}
