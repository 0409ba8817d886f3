//go:build !noasm && (amd64 || arm64)

package kernel

import "math"

// The assembly reads these tables, one constant per vector, in the order of
// elementary_*.h.
var (
	constants32 [57][16]float32
	constants64 [42][8]float64
)

// These are the logarithm of 2 in two parts. The first part has few bits, so that its
// products with the binary exponents of eˣ (at most 1443 in float64 and 216 in float32) are
// exact.
const (
	ln2High64 = 0x1.62e42fefa38p-1
	ln2High32 = 0x1.62e4p-1
)

func init() {
	for i, v := range []float64{
		math.Log2E, 0x1.8p52, ln2High64, math.Ln2 - ln2High64, 1, 0.5, 2, math.Copysign(0, -1),
		1000, -1000, // eˣ is Inf or 0 beyond
		20, // tanh rounds to 1 from 19.1 on
		0x1p-1022, 0x1p54, 54, math.Float64frombits(1<<52 - 1), 0x1p52, 0x1p52 + 1023,
		math.Sqrt2, math.Inf(1), math.Inf(-1), math.NaN(),
	} {
		fill(constants64[i][:], v)
	}
	for i, v := range []float32{
		math.Log2E, 0x1.8p23, ln2High32, math.Ln2 - ln2High32, 1, 0.5, 2, float32(math.Copysign(0, -1)),
		150, -150,
		10, // tanh rounds to 1 from 9.02 on
		0x1p-126, 0x1p24, 24, math.Float32frombits(1<<23 - 1), 0x1p23, 0x1p23 + 127,
		math.Sqrt2, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	} {
		fill(constants32[i][:], v)
	}
	for i, v := range expCoefficients64 {
		fill(constants64[21+i][:], v)
	}
	for i, v := range logCoefficients64 {
		fill(constants64[33+i][:], v)
	}
	for i, v := range expCoefficients32 {
		fill(constants32[21+i][:], v)
	}
	for i, v := range logCoefficients32 {
		fill(constants32[33+i][:], v)
	}
	for i, v := range erfCoefficients32 {
		fill(constants32[42+i][:], v)
	}
}

func fill[T Float](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// The polynomials are Chebyshev fits, computed with 60 digits, of q(r) = (eʳ-1-r)/r² on
// |r| <= 0.3467 and of L(z) = Σ 2zⁿ/(2n+3) on 0 <= z <= 0.0401. With them
// log(1+f) = 2s + s³·L(s²), where s = f/(2+f). The relative error of eʳ-1 is 5e-19 in
// float64 and 5e-10 in float32. The relative error of the logarithm is 5e-19 and 8e-11.
var (
	expCoefficients64 = [...]float64{
		0.5, 0.16666666666666671002, 0.041666666666666669763, 0.008333333333326119862,
		0.0013888888888883737405, 0.00019841269874873975076, 0.000024801587325585838877,
		2.7557255332554409105e-6, 2.7557273594799413187e-7, 2.5105245153901369855e-8,
		2.0914707069612353372e-9,
	}
	expCoefficients32 = [...]float32{
		0.50000000134872252595, 0.16666666681647015476, 0.041666464711379082993,
		0.0083333109017259699705, 0.0013933673732931851688, 0.00019891017184302029605,
	}
	logCoefficients64 = [...]float64{
		0.66666666666666664178, 0.40000000000007941042, 0.28571428567275934598,
		0.22222223048351588063, 0.18181737626302937168, 0.15388867805613716627,
		0.13209708242059463252, 0.13609030262858498723,
	}
	logCoefficients32 = [...]float32{
		0.66666666273212781761, 0.40000313644683072112, 0.28532545003481562517,
		0.23751341765880342246,
	}
	// The error function is x + x·P(x²) up to 0.927734375 and 1 − exp(−x − x·Q(x)) above, with the coefficients of Norbert
	// Juffa's erff. The last two numbers are the split and a number whose result is 1.
	erfCoefficients32 = [...]float32{
		-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1,
		-1.72853470e-5, 3.83197126e-4, -3.88396438e-3, 2.42546219e-2, -1.06777877e-1, -6.34846687e-1, -1.28717512e-1,
		0.927734375, 4,
	}
)
