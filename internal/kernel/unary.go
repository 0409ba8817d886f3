package kernel

import "math"

// The functions of one vector set dst[i] = f(src[i]). dst may be src; otherwise
// they must not overlap. Lengths must be equal. Results are within 2 units in
// the last place.

// Tanh computes tanh(x).
func Tanh[T Float](dst, src []T) { each(dst, src, math.Tanh) }

// Exp computes eˣ.
func Exp[T Float](dst, src []T) { each(dst, src, math.Exp) }

// Log computes the natural logarithm.
func Log[T Float](dst, src []T) { each(dst, src, math.Log) }

// Sqrt computes the square root, correctly rounded.
func Sqrt[T Float](dst, src []T) { each(dst, src, math.Sqrt) }

// Erf computes the error function.
func Erf[T Float](dst, src []T) { each(dst, src, math.Erf) }

// Softplus computes log(1 + eˣ) without overflow.
func Softplus[T Float](dst, src []T) { each(dst, src, softplus) }

// Sigmoid computes 1/(1 + e⁻ˣ).
func Sigmoid[T Float](dst, src []T) { each(dst, src, sigmoid) }

// Sin computes the sine of x in radians.
func Sin[T Float](dst, src []T) { each(dst, src, math.Sin) }

// Cos computes the cosine of x in radians.
func Cos[T Float](dst, src []T) { each(dst, src, math.Cos) }

// ReLU computes max(x, 0); NaN stays NaN.
func ReLU[T Float](dst, src []T) {
	checkLength(len(dst), len(src))
	for i, x := range src {
		if x < 0 {
			x = 0
		}
		dst[i] = x
	}
}

// Step computes 1 where x > 0 and 0 elsewhere, the derivative of ReLU.
func Step[T Float](dst, src []T) {
	checkLength(len(dst), len(src))
	for i, x := range src {
		if x > 0 {
			dst[i] = 1
		} else {
			dst[i] = 0
		}
	}
}

// Neg computes -x.
func Neg[T Float](dst, src []T) {
	checkLength(len(dst), len(src))
	for i, x := range src {
		dst[i] = -x
	}
}

// Square computes x².
func Square[T Float](dst, src []T) { Mul(dst, src, src) }

// Recip computes 1/x.
func Recip[T Float](dst, src []T) {
	checkLength(len(dst), len(src))
	for i, x := range src {
		dst[i] = 1 / x
	}
}

// each applies f in float64, so that float32 results are rounded once.
func each[T Float](dst, src []T, f func(float64) float64) {
	checkLength(len(dst), len(src))
	for i, x := range src {
		dst[i] = T(f(float64(x)))
	}
}

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func sigmoid(x float64) float64 {
	e := math.Exp(-math.Abs(x))
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}
