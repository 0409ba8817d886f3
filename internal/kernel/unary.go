package kernel

import "math"

// The functions of one vector set dst[i] = f(src[i]). dst may be src; otherwise the two
// must not overlap. Their lengths must be equal. The results err by at most 2 units in
// the last place.

// elementary names a function that package math computes where there is no assembly.
type elementary int

// The assembly uses the same numbers.
const (
	tanhOf elementary = iota
	expOf
	logOf
	softplusOf
	sigmoidOf
	sinOf // sinOf and cosOf have no assembly
	cosOf
	erfOf // has assembly in float32 on amd64
)

// definitions are the functions that the plain loops call.
var definitions = [...]func(float64) float64{
	tanhOf: math.Tanh, expOf: exp, logOf: log, softplusOf: softplus, sigmoidOf: sigmoid,
	sinOf: math.Sin, cosOf: math.Cos,
}

// elementwise sets dst = fn(src), by assembly where the function has assembly. The plain loop computes
// in float64, so that float32 results are rounded once.
func elementwise[T Float](fn elementary, dst, src []T) {
	checkLength(len(dst), len(src))
	if fastElementary(fn, dst, src) {
		return
	}
	f := definitions[fn]
	for i, x := range src {
		dst[i] = T(f(float64(x)))
	}
}

// exp is math.Exp, except just below the largest argument, from which on math.Exp is infinite
// too early on some processors.
func exp(x float64) float64 {
	if x > 709 {
		return math.Exp(x-1) * math.E
	}
	return math.Exp(x)
}

// log is math.Log, except for denormal numbers, for which math.Log is wrong on some
// processors.
func log(x float64) float64 {
	if 0 < x && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func sigmoid(x float64) float64 {
	e := math.Exp(-math.Abs(x))
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// Tanh computes tanh(x).
func Tanh[T Float](dst, src []T) { elementwise(tanhOf, dst, src) }

// Exp computes eˣ.
func Exp[T Float](dst, src []T) { elementwise(expOf, dst, src) }

// Log computes the natural logarithm.
func Log[T Float](dst, src []T) { elementwise(logOf, dst, src) }

// Softplus computes log(1 + eˣ) and does not overflow.
func Softplus[T Float](dst, src []T) { elementwise(softplusOf, dst, src) }

// Sigmoid computes 1/(1 + e⁻ˣ).
func Sigmoid[T Float](dst, src []T) { elementwise(sigmoidOf, dst, src) }

// Erf computes the error function.
func Erf[T Float](dst, src []T) {
	checkLength(len(dst), len(src))
	if !fastElementary(erfOf, dst, src) {
		erf(dst, src)
	}
}

// Sin computes the sine of x in radians.
func Sin[T Float](dst, src []T) { elementwise(sinOf, dst, src) }

// Cos computes the cosine of x in radians.
func Cos[T Float](dst, src []T) { elementwise(cosOf, dst, src) }

// Sqrt computes the square root, correctly rounded.
func Sqrt[T Float](dst, src []T) { vectors(sqrtOf, dst, src, src, 0) }

// ReLU computes max(x, 0); NaN stays NaN.
func ReLU[T Float](dst, src []T) { vectors(reluOf, dst, src, src, 0) }

// Step computes 1 where x > 0 and 0 elsewhere, the derivative of ReLU.
func Step[T Float](dst, src []T) { vectors(stepOf, dst, src, src, 1) }

// Neg computes -x.
func Neg[T Float](dst, src []T) { vectors(scaleBy, dst, src, src, -1) }

// Square computes x².
func Square[T Float](dst, src []T) { vectors(product, dst, src, src, 0) }
