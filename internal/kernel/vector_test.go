package kernel

import (
	"math"
	"runtime"
	"slices"
	"testing"
)

// specials are the arguments at which formulas break: zeros, infinities, NaN,
// denormals, extremes, and the places where eˣ overflows or vanishes.
var specials = []float64{
	0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(),
	1, -1, 0.5, -0.5, math.Ln2, 1e-10, -1e-10, 1e-300, -1e-300,
	5e-324, -5e-324, 1e-310, 1e-40, -1e-40, 1e-45, math.MaxFloat64, -math.MaxFloat64,
	math.MaxFloat32, -math.MaxFloat32, 0x1p-126, 0x1p-1022,
	709.78, 709.79, -708.3, -708.5, -745.1, -745.2, 88.72, 88.73, -87.3, -87.4, -103.9, -104,
	9, -9, 19, -19, 22, -22, 36, -36, 40, -40, 100, -100, 1000, -1000,
}

// unaries are the functions of one vector beside their references.
func unaries[T Float]() map[string]struct {
	f    func(dst, src []T)
	want func(float64) float64
} {
	type row = struct {
		f    func(dst, src []T)
		want func(float64) float64
	}
	return map[string]row{
		"Tanh": {Tanh[T], math.Tanh}, "Exp": {Exp[T], exp}, "Log": {Log[T], log},
		"Sqrt": {Sqrt[T], math.Sqrt}, "Erf": {Erf[T], math.Erf}, "Sin": {Sin[T], math.Sin}, "Cos": {Cos[T], math.Cos},
		"Softplus": {Softplus[T], softplus}, "Sigmoid": {Sigmoid[T], sigmoid},
		"Neg": {Neg[T], func(x float64) float64 { return -x }}, "Square": {Square[T], func(x float64) float64 { return x * x }},
		"ReLU": {ReLU[T], func(x float64) float64 {
			if x < 0 {
				return 0
			}
			return x
		}},
		"Step": {Step[T], func(x float64) float64 {
			if x > 0 {
				return 1
			}
			return 0
		}},
	}
}

// arguments are the specials and random numbers of all sizes.
func arguments[T Float]() []T {
	r := source(7)
	var x []T
	for _, v := range specials {
		x = append(x, T(v))
	}
	for i := range 20000 {
		x = append(x, T(r.NormFloat64()*math.Exp(float64(i%12-6))))
	}
	return x
}

// ulps is the distance of got from want in units in the last place of T.
func ulps[T Float](got T, want float64) float64 {
	rounded := T(want)
	if got == rounded || got != got && rounded != rounded {
		return 0
	}
	unit := float64(math.Nextafter(math.Abs(float64(rounded)), math.Inf(1)) - math.Abs(float64(rounded)))
	if isFloat32[T]() {
		v := float32(math.Abs(float64(rounded)))
		unit = float64(math.Nextafter32(v, float32(math.Inf(1)))) - float64(v)
	}
	return math.Abs(float64(got)-want) / unit
}

// worse reports whether a distance is larger than the largest so far. NaN, the distance from
// an infinity, is larger than all numbers.
func worse(d, worst float64) bool { return d > worst || d != d }

func TestUnary(t *testing.T) { bothTypes(t, testUnary[float32], testUnary[float64]) }

func testUnary[T Float](t *testing.T) {
	src := arguments[T]()
	for fn, u := range unaries[T]() {
		dst := make([]T, len(src))
		u.f(dst, src)
		worst, at := 0.0, T(0)
		for i, x := range src {
			if d := ulps(dst[i], u.want(float64(x))); worse(d, worst) {
				worst, at = d, x
			}
		}
		t.Logf("%-8s %.2f ulp at %v", fn, worst, at)
		if !(worst <= 2) {
			t.Errorf("%s(%v) is %.1f ulp away from %v", fn, at, worst, u.want(float64(at)))
		}
	}
}

// Every length from 0 to 40 and every offset, in place and not, gives the same
// elements as one long call and touches nothing else.
func TestUnaryTails(t *testing.T) { bothTypes(t, testUnaryTails[float32], testUnaryTails[float64]) }

func testUnaryTails[T Float](t *testing.T) {
	src := arguments[T]()[:100]
	want := make([]T, len(src))
	for fn, u := range unaries[T]() {
		u.f(want, src)
		for n := range 41 {
			for _, inPlace := range []bool{false, true} {
				dst, in := make([]T, 60), src[n:2*n]
				for i := range dst {
					dst[i] = guard
				}
				if inPlace {
					in = dst[3 : 3+n]
					copy(in, src[n:])
				}
				u.f(dst[3:3+n], in)
				for i, got := range dst {
					expected := T(guard)
					if i >= 3 && i < 3+n {
						expected = want[n+i-3]
					}
					if !same(got, expected) {
						t.Fatalf("%s of %d elements, in place %v: element %d is %v, want %v", fn, n, inPlace, i-3, got, expected)
					}
				}
			}
		}
	}
}

// same tells whether two numbers agree bit by bit, all NaN being one.
func same[T Float](a, b T) bool {
	return a != a && b != b || math.Float64bits(float64(a)) == math.Float64bits(float64(b))
}

func TestBinary(t *testing.T) { bothTypes(t, testBinary[float32], testBinary[float64]) }

func testBinary[T Float](t *testing.T) {
	x, y, z := arguments[T](), arguments[T]()[5:], arguments[T]()[9:]
	for n := range 41 {
		for off := range 60 {
			checkBinary(t, x[off:off+n], y[off:off+n], z[off:off+n])
		}
	}
}

// checkBinary compares every function of several vectors with its definition.
func checkBinary[T Float](t *testing.T, a, b, c []T) {
	t.Helper()
	n, s := len(a), T(1.5)
	check := func(fn string, f func(dst []T), want func(i int) T) {
		t.Helper()
		dst := make([]T, n+2)
		dst[0], dst[n+1] = guard, guard
		f(dst[1 : n+1])
		if dst[0] != guard || dst[n+1] != guard {
			t.Fatalf("%s of %d elements wrote outside", fn, n)
		}
		for i, got := range dst[1 : n+1] {
			if w := want(i); !same(got, w) {
				t.Fatalf("%s(%v, %v, %v)[%d of %d] = %v, want %v", fn, a[i], b[i], c[i], i, n, got, w)
			}
		}
	}
	check("Add", func(d []T) { Add(d, a, b) }, func(i int) T { return a[i] + b[i] })
	check("Sub", func(d []T) { Sub(d, a, b) }, func(i int) T { return a[i] - b[i] })
	check("Mul", func(d []T) { Mul(d, a, b) }, func(i int) T { return a[i] * b[i] })
	check("Div", func(d []T) { Div(d, a, b) }, func(i int) T { return a[i] / b[i] })
	check("Scale", func(d []T) { Scale(d, s, a) }, func(i int) T { return s * a[i] })
	check("AddScalar", func(d []T) { AddScalar(d, s, a) }, func(i int) T { return s + a[i] })
	check("Add in place", func(d []T) { copy(d, a); Add(d, d, b) }, func(i int) T { return a[i] + b[i] })
	check("Sub in place", func(d []T) { copy(d, b); Sub(d, a, d) }, func(i int) T { return a[i] - b[i] })
	checkFused(t, "MulAdd", a, b, c, func(d []T) { MulAdd(d, a, b, c) })
	checkFused(t, "MulAdd in place", a, b, c, func(d []T) { copy(d, c); MulAdd(d, a, b, d) })
	all := make([]T, n)
	for i := range all {
		all[i] = s
	}
	checkFused(t, "Axpy", all, a, b, func(d []T) { copy(d, b); Axpy(s, a, d) })
}

func TestByRow(t *testing.T) { bothTypes(t, testByRow[float32], testByRow[float64]) }

// testByRow compares functions of rows with their definition: rows shorter than a vector, whole
// vectors and a rest, operands with gaps, and one that is the same in all rows; in place as well.
func testByRow[T Float](t *testing.T) {
	x, y := arguments[T](), arguments[T]()[5:]
	for _, n := range []int{0, 1, 3, 4, 7, 8, 9, 16, 37, 64} {
		for _, r := range []Rows{{1, 0, 0}, {2, n, n}, {3, 0, n}, {3, n, 0}, {5, n + 2, n + 1}} {
			checkByRow(t, n, r, x, y)
		}
	}
}

// checkByRow compares each function of rows of n elements with its definition.
func checkByRow[T Float](t *testing.T, n int, r Rows, x, y []T) {
	t.Helper()
	for fn, f := range map[string]struct {
		run   func(r Rows, dst, a, b []T)
		still bool // rows of a are single numbers
		want  func(a, b T) T
	}{
		"AddByRow": {AddByRow[T], false, func(a, b T) T { return a + b }}, "SubByRow": {SubByRow[T], false, func(a, b T) T { return a - b }},
		"MulByRow": {MulByRow[T], false, func(a, b T) T { return a * b }}, "DivByRow": {DivByRow[T], false, func(a, b T) T { return a / b }},
		"ScaleByRow": {ScaleByRow[T], true, func(a, b T) T { return a * b }}, "ShiftByRow": {ShiftByRow[T], true, func(a, b T) T { return a + b }},
		"LowerByRow": {LowerByRow[T], true, func(a, b T) T { return b - a }},
	} {
		dst := make([]T, r.Count*n+1)
		for _, inPlace := range []bool{false, true} {
			b := y
			if inPlace = inPlace && r.B == n; inPlace {
				copy(dst, y[:r.Count*n])
				b = dst
			}
			dst[r.Count*n] = guard
			f.run(r, dst[:r.Count*n], x, b)
			for i, got := range dst[:r.Count*n] {
				at := i/n*r.A + i%n
				if f.still {
					at = i / n * r.A
				}
				if want := f.want(x[at], y[i/n*r.B+i%n]); !same(got, want) {
					t.Fatalf("%s of rows of %d %+v, in place %v: element %d is %v, want %v", fn, n, r, inPlace, i, got, want)
				}
			}
			if dst[r.Count*n] != guard {
				t.Fatalf("%s of rows of %d %+v wrote outside", fn, n, r)
			}
		}
	}
}

func TestByRowRejectsShortOperands(t *testing.T) {
	dst, x := make([]float32, 12), make([]float32, 12)
	MulByRow(Rows{3, 4, 4}, dst, x, x)
	ScaleByRow(Rows{3, 5, 4}, dst, x[:11], x)
	panics(t, "no row", func() { MulByRow(Rows{0, 4, 4}, dst, x, x) })
	panics(t, "rows of unequal length", func() { MulByRow(Rows{5, 2, 2}, dst, x, x) })
	panics(t, "short operand", func() { MulByRow(Rows{3, 4, 4}, dst, x, x[:11]) })
	panics(t, "few numbers", func() { ScaleByRow(Rows{3, 5, 4}, dst, x[:10], x) })
	panics(t, "rows backwards", func() { AddByRow(Rows{3, 4, -1}, dst, x, x) })
}

// fused is a·b + c, rounded once. In float32, math.FMA would round twice.
func fused[T Float](a, b, c T) T {
	v := math.FMA(float64(a), float64(b), float64(c))
	if !isFloat32[T]() || v == 0 || v-v != 0 {
		return T(v)
	}
	exact, _ := add(mul(bigFloat(float64(a)), bigFloat(float64(b))), bigFloat(float64(c))).Float32()
	return T(exact)
}

// checkFused accepts a·b + c with one rounding or with two.
func checkFused[T Float](t *testing.T, fn string, a, b, c []T, f func(dst []T)) {
	t.Helper()
	dst := make([]T, len(a)+2)
	dst[0], dst[len(a)+1] = guard, guard
	f(dst[1 : len(a)+1])
	if dst[0] != guard || dst[len(a)+1] != guard {
		t.Fatalf("%s of %d elements wrote outside", fn, len(a))
	}
	for i, got := range dst[1 : len(a)+1] {
		twice := T(a[i]*b[i]) + c[i]
		once := fused(a[i], b[i], c[i])
		if !same(got, twice) && !same(got, once) {
			t.Fatalf("%s: %v·%v + %v = %v, want %v or %v", fn, a[i], b[i], c[i], got, once, twice)
		}
	}
}

func TestReductions(t *testing.T) { bothTypes(t, testReductions[float32], testReductions[float64]) }

func testReductions[T Float](t *testing.T) {
	r := source(4)
	for _, n := range []int{0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 40, 63, 64, 65, 100, 1000} {
		x, y := newMatrix[T](r, 1, n, 0).s(), newMatrix[T](r, 1, n, 0).s()
		dot, sum, absDot, absSum := 0.0, 0.0, 0.0, 0.0
		for i := range x {
			v := float64(x[i]) * float64(y[i])
			dot, absDot = dot+v, absDot+math.Abs(v)
			sum, absSum = sum+float64(x[i]), absSum+math.Abs(float64(x[i]))
		}
		near(t, name("Dot of ", n), float64(Dot(x, y)), dot, float64(n)*absDot*epsilon[T]())
		near(t, name("Sum of ", n), float64(Sum(x)), sum, float64(n)*absSum*epsilon[T]())
		if n > 0 && Largest(x) != slices.Max(x) {
			t.Fatalf("largest of %d numbers: %v, expected %v", n, Largest(x), slices.Max(x))
		}
		for i := range x {
			kept := x[i]
			x[i] = T(math.NaN())
			if s, d := Sum(x), Dot(x, y); s == s || d == d {
				t.Fatalf("NaN at %d of %d: Sum %v, Dot %v", i, n, s, d)
			}
			x[i] = kept
		}
	}
}

func TestVectorsRejectUnequalLengths(t *testing.T) {
	a, b := make([]float32, 3), make([]float32, 4)
	for fn, u := range unaries[float32]() {
		panics(t, fn, func() { u.f(a, b) })
	}
	panics(t, "Add", func() { Add(a, a, b) })
	panics(t, "MulAdd", func() { MulAdd(a, a, a, b) })
	panics(t, "Dot", func() { Dot(a, b) })
	panics(t, "Axpy", func() { Axpy(1, a, b) })
}

func TestNothingAllocates(t *testing.T) { bothTypes(t, testAllocs[float32], testAllocs[float64]) }

// allocations is how often f allocates memory each time: the least of ten calls, since
// workspaces are made by the first call on each processor, and again after the collector has
// taken them. It leaves GOMAXPROCS as it is, unlike testing.AllocsPerRun, since workspaces stay
// with their processor.
func allocations(f func()) uint64 {
	var before, after runtime.MemStats
	least := uint64(math.MaxUint64)
	for range 10 {
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	return least
}

func testAllocs[T Float](t *testing.T) {
	const n = 200
	defer SetThreads(0)
	SetThreads(2)
	r := source(5)
	a, b, c := newMatrix[T](r, n, n, 0), newMatrix[T](r, n, n, 0), newMatrix[T](r, n, n, 0)
	l := lowerFactor[T](r, n, 0)
	x, y, z := a.s(), b.s(), c.s()
	work := map[string]func(){
		"Gemm":     func() { Gemm(false, true, n, n, n, 1, x, n, y, n, 0, z, n) },
		"gemv":     func() { Gemm(false, false, n, 1, n, 1, x, n, y, n, 0, z, n) },
		"Syrk":     func() { Syrk(false, n, n, 1, x, n, 0, z, n) },
		"Trsm":     func() { Trsm(false, false, n, n, l.s(), n, y, n) },
		"right":    func() { Trsm(true, true, n, n, l.s(), n, y, n) },
		"Cholesky": func() { Cholesky(n, z, n) },
		"Add":      func() { Add(x, y, z) },
		"Dot":      func() { Dot(x, y) },
	}
	for fn, u := range unaries[T]() {
		work[fn] = func() { u.f(z, x) }
	}
	for fn, f := range work {
		if n := allocations(f); n != 0 {
			t.Errorf("%s allocates %v times", fn, n)
		}
	}
}

// TestErf32 compares every 1009th number of float32, of both signs, with math.Erf, NaN among them.
func TestErf32(t *testing.T) {
	var src []float32
	for bits := uint32(0); bits <= 0x7fc00000; bits += 1009 {
		src = append(src, math.Float32frombits(bits), -math.Float32frombits(bits))
	}
	everyLevel(t, func(t *testing.T) {
		dst := make([]float32, len(src))
		Erf(dst, src)
		worst, at := 0.0, float32(0)
		for i, x := range src {
			if d := ulps(dst[i], math.Erf(float64(x))); worse(d, worst) {
				worst, at = d, x
			}
			if x == x && math.Signbit(float64(dst[i])) != math.Signbit(float64(x)) {
				t.Fatalf("erf(%v) is %v, of another sign", x, dst[i])
			}
		}
		t.Logf("%.2f ulp at %v", worst, at)
		if !(worst <= 1) {
			t.Errorf("erf(%v) is %.2f ulp away from %v", at, worst, math.Erf(float64(at)))
		}
	})
}
