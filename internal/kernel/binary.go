package kernel

import (
	"fmt"
	"math"
)

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
	lessBy                      // a - c
	axpy                        // c·a + b
	reluOf                      // max(a, 0)
	stepOf                      // c if a > 0, else 0
	sqrtOf                      // √a
)

// Rows describes rows of equal length in a result and in two operands. The result has Count rows, one
// after the other. Row i begins at element i·A of the first operand and at element i·B of the second. The
// result may be an operand that has its rows at the same places.
type Rows struct {
	Count int // number of rows
	A, B  int // elements between the rows of each operand
}

// check panics unless the operands a and b hold rows of the given numbers of elements.
func (r Rows) check(dst, a, b, rowA, rowB int) {
	switch {
	case r.Count < 1 || dst%r.Count != 0:
		panic(fmt.Sprintf("kernel: %d rows of %d elements", r.Count, dst))
	case min(r.A, r.B) < 0 || (r.Count-1)*r.A+rowA > a || (r.Count-1)*r.B+rowB > b:
		panic(fmt.Sprintf("kernel: operands of %d and %d elements are too short for rows of %d and %d, %+v", a, b, rowA, rowB, r))
	}
}

// vectors sets dst = op(a, b, c).
func vectors[T Float](op operation, dst, a, b []T, c T) {
	checkLength(len(dst), len(a))
	checkLength(len(dst), len(b))
	arithmetic(op, Rows{Count: 1}, dst, a, b, []T{c}, 0)
}

// rowByNumber sets each row of dst to op(row of x, number of the row). Row i has the number
// numbers[i·A].
func rowByNumber[T Float](op operation, r Rows, dst, numbers, x []T) {
	n := len(dst) / max(r.Count, 1)
	r.check(len(dst), len(numbers), len(x), 1, n)
	arithmetic(op, Rows{r.Count, r.B, r.B}, dst, x, x, numbers, r.A)
}

// rowByRow sets each row of dst to op(row of a, row of b).
func rowByRow[T Float](op operation, r Rows, dst, a, b []T) {
	n := len(dst) / max(r.Count, 1)
	r.check(len(dst), len(a), len(b), n, n)
	arithmetic(op, r, dst, a, b, dst, 0)
}

// arithmetic sets dst = op(a, b, c), row by row. The numbers c of consecutive rows are step elements apart.
func arithmetic[T Float](op operation, r Rows, dst, a, b, c []T, step int) {
	if len(dst) == 0 || fastArithmetic(op, r, dst, a, b, c, step) {
		return
	}
	n := len(dst) / r.Count
	for i := range r.Count {
		plainArithmetic(op, dst[i*n:][:n], a[i*r.A:][:n], b[i*r.B:][:n], c[i*step])
	}
}

// plainArithmetic sets dst = op(a, b, c) without assembly.
func plainArithmetic[T Float](op operation, dst, a, b []T, c T) {
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
		case lessBy:
			x -= c
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
func Add[T Float](dst, a, b []T) { vectors(sum, dst, a, b, 0) }

// Sub computes dst = a - b.
func Sub[T Float](dst, a, b []T) { vectors(difference, dst, a, b, 0) }

// Mul computes dst = a·b, element by element.
func Mul[T Float](dst, a, b []T) { vectors(product, dst, a, b, 0) }

// Div computes dst = a/b, element by element.
func Div[T Float](dst, a, b []T) { vectors(quotient, dst, a, b, 0) }

// Scale computes dst = alpha·a.
func Scale[T Float](dst []T, alpha T, a []T) { vectors(scaleBy, dst, a, a, alpha) }

// AddScalar computes dst = alpha + a.
func AddScalar[T Float](dst []T, alpha T, a []T) { vectors(shiftBy, dst, a, a, alpha) }

// Axpy computes y += alpha·x. Whether the product is rounded before the sum
// depends on the processor.
func Axpy[T Float](alpha T, x, y []T) { vectors(axpy, y, x, y, alpha) }

// AddByRow computes dst = a + b, row by row.
func AddByRow[T Float](r Rows, dst, a, b []T) { rowByRow(sum, r, dst, a, b) }

// SubByRow computes dst = a - b, row by row.
func SubByRow[T Float](r Rows, dst, a, b []T) { rowByRow(difference, r, dst, a, b) }

// MulByRow computes dst = a·b, row by row.
func MulByRow[T Float](r Rows, dst, a, b []T) { rowByRow(product, r, dst, a, b) }

// DivByRow computes dst = a/b, row by row.
func DivByRow[T Float](r Rows, dst, a, b []T) { rowByRow(quotient, r, dst, a, b) }

// ScaleByRow sets row i of dst to numbers[i·A] times row i of x.
func ScaleByRow[T Float](r Rows, dst, numbers, x []T) { rowByNumber(scaleBy, r, dst, numbers, x) }

// ShiftByRow sets row i of dst to numbers[i·A] plus row i of x.
func ShiftByRow[T Float](r Rows, dst, numbers, x []T) { rowByNumber(shiftBy, r, dst, numbers, x) }

// LowerByRow sets row i of dst to row i of x minus numbers[i·A].
func LowerByRow[T Float](r Rows, dst, numbers, x []T) { rowByNumber(lessBy, r, dst, numbers, x) }

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
