package kernel

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"
)

// precision in bits of the exact references: enough for 53 digits after the
// cancellations below, which cost at most 100.
const precision = 300

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func add(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Add(x, y) }
func sub(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Sub(x, y) }
func mul(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Mul(x, y) }
func quo(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Quo(x, y) }

var one = bigFloat(1)

// bigExp is exp(x) = exp(x/2²⁰)^(2²⁰), the inner one by its series.
func bigExp(x *big.Float) *big.Float {
	y := quo(x, bigFloat(1<<20))
	sum, term := one, one
	for i := 1; i <= 30; i++ { // |y| < 1e-3: the next term is below 1e-120
		term = quo(mul(term, y), bigFloat(float64(i)))
		sum = add(sum, term)
	}
	for range 20 {
		sum = mul(sum, sum)
	}
	return sum
}

// bigLog improves math.Log(x) by one step of Halley's method, which triples
// its digits.
func bigLog(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := bigFloat(log(f))
	e := bigExp(y)
	return add(y, quo(mul(bigFloat(2), sub(x, e)), add(x, e)))
}

// The elementary functions in float64 are within 2 units in the last place of
// the exact value. Arguments are kept where bigExp and bigLog are exact: other
// ones are compared with package math in TestUnary.
func TestElementaryExact(t *testing.T) { everyLevel(t, testElementaryExact) }

func testElementaryExact(t *testing.T) {
	r := source(9)
	x := make([]float64, 1500)
	for i := range x {
		x[i] = r.NormFloat64() * math.Exp(float64(i%8-4))
	}
	x[0], x[1] = 709.5, 709.78 // eˣ is near the largest number
	positive := make([]float64, len(x))
	for i, v := range x {
		positive[i] = math.Exp(v / 4)
	}
	exact := func(fn string, f func(dst, src []float64), src []float64, want func(x *big.Float) *big.Float) {
		t.Helper()
		dst, worst, at := make([]float64, len(src)), 0.0, 0.0
		f(dst, src)
		for i, v := range src {
			w := want(bigFloat(v))
			near, _ := w.Float64()
			unit := math.Nextafter(math.Abs(near), math.Inf(1)) - math.Abs(near)
			d, _ := quo(sub(bigFloat(dst[i]), w), bigFloat(unit)).Float64()
			if worse(math.Abs(d), worst) {
				worst, at = math.Abs(d), v
			}
		}
		t.Logf("%-8s %.2f ulp at %v", fn, worst, at)
		if !(worst <= 2) {
			t.Errorf("%s(%v) is off by %.2f ulp", fn, at, worst)
		}
	}
	minus := func(x *big.Float) *big.Float { return new(big.Float).Neg(x) }
	exact("Exp", Exp[float64], x, bigExp)
	exact("Log", Log[float64], positive, bigLog)
	exact("Tanh", Tanh[float64], x, func(x *big.Float) *big.Float {
		e := bigExp(mul(x, bigFloat(2)))
		return quo(sub(e, one), add(e, one))
	})
	exact("Sigmoid", Sigmoid[float64], x, func(x *big.Float) *big.Float { return quo(one, add(one, bigExp(minus(x)))) })
	exact("Softplus", Softplus[float64], x, func(x *big.Float) *big.Float { return bigLog(add(one, bigExp(x))) })
}

// FuzzVector feeds numbers of any bit pattern to every function of vectors.
func FuzzVector(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0\x7f\x01\x00\x00\x00\x00\x00\x00\x80"))
	f.Add([]byte("some other bits, eight for each number, and a few more of them."))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := make([]float64, len(data)/8)
		y := make([]float32, len(x))
		for i := range x {
			x[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
			y[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[8*i:]))
		}
		fuzzVector(t, x)
		fuzzVector(t, y)
	})
}

func fuzzVector[T Float](t *testing.T, x []T) {
	for fn, u := range unaries[T]() {
		dst := make([]T, len(x))
		u.f(dst, x)
		for i, v := range x {
			// Both sides may be 2 units off.
			if d := ulps(dst[i], u.want(float64(v))); !(d <= 4) {
				t.Fatalf("%s(%v) = %v is %v ulp away from %v", fn, v, dst[i], d, u.want(float64(v)))
			}
		}
	}
	k := len(x) / 3
	checkBinary(t, x[:k], x[k:2*k], x[2*k:3*k])
}
