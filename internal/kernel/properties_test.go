package kernel

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"pgregory.net/rapid"
)

func TestCopyLower(t *testing.T) { bothTypes(t, testCopyLower[float32], testCopyLower[float64]) }

// testCopyLower: the upper triangle becomes the lower one, which stays, at sizes around those at which
// triangles are cut.
func testCopyLower[T Float](t *testing.T) {
	r := source(30)
	for _, n := range []int{1, 2, 8, 15, smallTriangle, smallTriangle + 1, 33, 64, 100, 131} {
		a := newMatrix[T](r, n, n, n%3)
		got := a.clone()
		CopyLower(n, got.s(), got.ld)
		got.checkGuard(t)
		for i := range n {
			for j := range n {
				if want := a.at(max(i, j), min(i, j)); got.at(i, j) != want {
					t.Fatalf("element %d,%d of order %d is %g, want %g", i, j, n, got.at(i, j), want)
				}
			}
		}
	}
}

// TestGemmTransposed: (A·B)ᵀ = Bᵀ·Aᵀ, whichever way the operands are stored.
func TestGemmTransposed(t *testing.T) {
	bothTypes(t, testGemmTransposed[float32], testGemmTransposed[float64])
}

func testGemmTransposed[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 60)
		p := newProduct[T](source(rapid.Uint64().Draw(t, "seed")), rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB"),
			side.Draw(t, "m"), side.Draw(t, "n"), side.Draw(t, "k"), 1, 0, rapid.IntRange(0, 2).Draw(t, "pad"))
		c, turned := p.c.clone(), newMatrix[T](source(1), p.n, p.m, 1)
		p.run(c)
		Gemm(!p.transB, !p.transA, p.n, p.m, p.k, 1, p.b.s(), p.b.ld, p.a.s(), p.a.ld, 0, turned.s(), turned.ld)
		for i := range p.m {
			for j := range p.n {
				near(t, "transposed product", float64(turned.at(j, i)), float64(c.at(i, j)), rounding[T](p.k+1))
			}
		}
	})
}

// TestGemmAlphaBeta: a product with alpha and beta is the sum of its parts; alpha = 0 leaves beta·C.
func TestGemmAlphaBeta(t *testing.T) {
	bothTypes(t, testGemmAlphaBeta[float32], testGemmAlphaBeta[float64])
}

func testGemmAlphaBeta[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 40)
		eighths := rapid.IntRange(-16, 16) // far from subnormal numbers, which may count as 0
		alpha, beta := T(eighths.Draw(t, "alpha"))/8, T(eighths.Draw(t, "beta"))/8
		p := newProduct(source(rapid.Uint64().Draw(t, "seed")), false, rapid.Bool().Draw(t, "transB"),
			side.Draw(t, "m"), side.Draw(t, "n"), side.Draw(t, "k"), alpha, beta, 1)
		both, product, rest := p.c.clone(), p.c.clone(), p.c.clone()
		p.run(both)
		p.alpha, p.beta = 1, 0
		p.run(product)
		p.alpha, p.beta = 0, beta
		p.run(rest)
		for i := range p.m {
			for j := range p.n {
				if want := beta * p.c.at(i, j); rest.at(i, j) != want {
					t.Fatalf("beta·C[%d,%d] is %g, want %g", i, j, rest.at(i, j), want)
				}
				want := float64(alpha)*float64(product.at(i, j)) + float64(rest.at(i, j))
				near(t, "alpha·A·B + beta·C", float64(both.at(i, j)), want, 4*rounding[T](p.k+1))
			}
		}
	})
}

// TestBLASSingle: the functions of float32 agree with gonum's for every combination of flags.
func TestBLASSingle(t *testing.T) {
	r := source(31)
	const m, n, k = 37, 29, 41
	a, b, c := newMatrix[float32](r, k, k, 2), newMatrix[float32](r, k, k, 1), newMatrix[float32](r, k, k, 0)
	for i := range k {
		a.set(i, i, 50) // well-conditioned as a triangle
	}
	compare := func(what string, f func(impl blas.Float32, c []float32)) {
		t.Helper()
		x, y := c.clone(), c.clone()
		f(BLAS{}, x.s())
		f(gonum.Implementation{}, y.s())
		for i := range x.all {
			near(t, what, float64(x.all[i]), float64(y.all[i]), 2e-3) // k·ε·Σ|a||b| is 1e-3
		}
	}
	for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			compare("Sgemm", func(impl blas.Float32, c []float32) {
				impl.Sgemm(tA, tB, m, n, k, 2, a.s(), a.ld, b.s(), b.ld, 0.5, c, k)
			})
		}
		for _, ul := range []blas.Uplo{blas.Upper, blas.Lower} {
			compare("Ssyrk", func(impl blas.Float32, c []float32) {
				impl.Ssyrk(ul, tA, n, k, 2, a.s(), a.ld, 0.5, c, k)
			})
			for _, side := range []blas.Side{blas.Left, blas.Right} {
				compare("Strsm", func(impl blas.Float32, c []float32) {
					impl.Strsm(side, ul, tA, blas.NonUnit, m, n, 0.1, a.s(), a.ld, c, k)
				})
			}
		}
	}
}

// TestConvThen: ConvForwardThen and ConvInputThen give the bits of the functions without work, and do the
// work once on each result or not at all, as they report.
func TestConvThen(t *testing.T) { bothTypes(t, testConvThen[float32], testConvThen[float64]) }

func testConvThen[T Float](t *testing.T) {
	const images = 5
	for _, c := range []Conv{tiledShapes[2], {In: 3, Height: 6, Width: 7, Out: 4, KernelHeight: 3, KernelWidth: 2, Stride: 2, Padding: 1}} {
		n := ConvRows{X: images, W: 1, Y: images}
		call := newConv[T](source(32), c, n)
		x, w, y := call.x.s(), call.w.s(), call.y.s()
		for what, f := range map[string]func(then Then) (without, with []T, done bool){
			"ConvForward": func(then Then) (without, with []T, done bool) {
				without, with = make([]T, len(y)), make([]T, len(y))
				ConvForward(c, n, x, w, without)
				return without, with, ConvForwardThen(c, n, x, w, with, then)
			},
			"ConvInput": func(then Then) (without, with []T, done bool) {
				without, with = make([]T, len(x)), make([]T, len(x))
				ConvInput(c, n, y, w, without)
				return without, with, ConvInputThen(c, n, y, w, with, then)
			},
		} {
			var worked [images]atomic.Int32
			without, with, done := f(Then{Rows: 2, Parts: 3, Run: func(_, from, to int) {
				for i := from; i < to; i++ {
					worked[i].Add(1)
				}
			}})
			if !slices.Equal(without, with) {
				t.Errorf("%s %v: other bits with work that follows", what, c)
			}
			for i := range worked {
				if got := worked[i].Load(); (got == 1) != done || got > 1 {
					t.Errorf("%s %v, done %t: work on result %d was done %d times", what, c, done, i, got)
				}
			}
		}
	}
	if !ConvForwardThen[T](tiledShapes[0], ConvRows{}, nil, nil, nil, Then{}) || !ConvInputThen[T](tiledShapes[0], ConvRows{}, nil, nil, nil, Then{}) {
		t.Error("work on no results was not done")
	}
}

// TestConvString: messages name every size.
func TestConvString(t *testing.T) {
	c := Conv{In: 1, Height: 2, Width: 3, Out: 4, KernelHeight: 5, KernelWidth: 6, Stride: 7, Padding: 8}
	if got, want := fmt.Sprint(c), "of 1×2×3 by 4 filters 5×6, stride 7, padding 8"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if c.ChannelsLast = true; fmt.Sprint(c) != "of 1×2×3 by 4 filters 5×6, stride 7, padding 8, channels last" {
		t.Error(c)
	}
}

// TestSoftmax agrees with the definition, does not overflow, and works in place.
func TestSoftmax(t *testing.T) {
	everyLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			f := rapid.SliceOfN(rapid.Float64Range(-800, 800), 1, 30).Draw(t, "f")
			p, most, sum := make([]float64, len(f)), slices.Max(f), 0.0
			Softmax(p, f)
			for _, v := range f {
				sum += math.Exp(v - most)
			}
			for i, v := range f {
				near(t, name("p of ", i), p[i], math.Exp(v-most)/sum, 1e-14)
			}
			if Softmax(f, f); !slices.Equal(f, p) {
				t.Fatalf("in place %v, want %v", f, p)
			}
		})
	})
	p := make([]float64, 2)
	if Softmax(p, []float64{math.Inf(-1), 3}); p[0] != 0 || p[1] != 1 {
		t.Errorf("an output of −∞ has the probability %g", p[0])
	}
	if Softmax(p, []float64{math.NaN(), 3}); p[1] == p[1] {
		t.Errorf("NaN gives the probabilities %v", p)
	}
}

// TestParts: parts are at most the units, leave enough work to each, and are one for one thread.
func TestParts(t *testing.T) {
	defer SetThreads(Threads())
	rapid.Check(t, func(t *rapid.T) {
		threads := rapid.IntRange(1, 9).Draw(t, "threads")
		SetThreads(threads)
		units, amount, least := rapid.IntRange(0, 50).Draw(t, "units"), rapid.IntRange(0, 1e6).Draw(t, "amount"), rapid.IntRange(1, 1e5).Draw(t, "least")
		parts := Parts(units, amount, least)
		switch {
		case Threads() != threads:
			t.Fatalf("%d threads, want %d", Threads(), threads)
		case parts < 1 || parts > max(1, units) || parts > partsPerThread*threads:
			t.Fatalf("%d parts of %d units for %d threads", parts, units, threads)
		case parts > 1 && (threads == 1 || amount/parts < least):
			t.Fatalf("%d parts of the amount %d, at least %d each, for %d threads", parts, amount, least, threads)
		}
	})
	SetThreads(0)
	if Threads() < 1 || Nanoseconds(3200) != 100 {
		t.Errorf("%d threads, %d ns", Threads(), Nanoseconds(3200))
	}
}

// TestCut: the parts of a range follow one another without gaps, at multiples of the unit.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, unit, parts := rapid.IntRange(0, 200).Draw(t, "n"), rapid.IntRange(1, 20).Draw(t, "unit"), rapid.IntRange(1, 20).Draw(t, "parts")
		at := 0
		for part := range parts {
			lo, hi := cut(n, unit, part, parts)
			if lo != at || hi < lo || hi != n && hi%unit != 0 {
				t.Fatalf("part %d of %d is %d to %d, after %d", part, parts, lo, hi, at)
			}
			if size := float64(hi-lo) / float64(unit); size > largest(n, unit, parts)*float64((n+unit-1)/unit)+1e-9 {
				t.Fatalf("part %d of %d has %g units, more than the largest", part, parts, size)
			}
			at = hi
		}
		if at != n {
			t.Fatalf("the parts end at %d of %d", at, n)
		}
	})
}

// TestAddSymmetricParts: ranges of rows add up to the whole product, wherever they are cut.
func TestAddSymmetricParts(t *testing.T) {
	everyLevel(t, testAddSymmetricParts)
}

func testAddSymmetricParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		r := source(rapid.Uint64().Draw(t, "seed"))
		a, x := newMatrix[float64](r, n, n, 1), newMatrix[float64](r, 1, n, 0)
		whole, parts := make([]float64, n), make([]float64, n)
		AddSymmetric(0, n, n, a.s(), a.ld, x.s(), whole)
		for lo := 0; lo < n; {
			hi := rapid.IntRange(lo+1, n).Draw(t, "hi")
			AddSymmetric(lo, hi, n, a.s(), a.ld, x.s(), parts)
			lo = hi
		}
		for i := range n {
			near(t, name("element ", i), parts[i], whole[i], rounding[float64](n))
		}
	})
}

// TestFiniteFindsFirst: FirstNonFinite finds the same element as a loop with Finite, of any numbers.
func TestFiniteFindsFirst(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64(), rapid.Float64(), rapid.Float64(), rapid.SampledFrom(bad))
		x := rapid.SliceOfN(number, 0, 40).Draw(t, "x")
		want := slices.IndexFunc(x, func(v float64) bool { return !Finite(v) })
		i, v := FirstNonFinite(x)
		if i != want || i >= 0 && !same(v, x[i]) || i < 0 && v != 0 {
			t.Fatalf("element %d, %g, want element %d of %v", i, v, want, x)
		}
		if Finite(math.Float64frombits(0x7ff<<52)) || Finite(float32(math.NaN())) || !Finite(float32(math.MaxFloat32)) {
			t.Fatal("Finite errs")
		}
	})
}

// TestAdamNotFinite: NaN in a gradient reaches the parameter and the moments of its element and of no other.
func TestAdamNotFinite(t *testing.T) {
	bothTypes(t, testAdamNotFinite[float32], testAdamNotFinite[float64])
}

func testAdamNotFinite[T Float](t *testing.T) {
	c := AdamCoefficients[T]{Beta1: 0.9, Rest1: 0.1, Beta2: 0.99, Rest2: 0.01, Rate: 0.5, Unbias: 1, Eps: 1e-3, Keep: 1}
	for _, n := range []int{1, 5, 16, 33} {
		for bad := range n {
			theta, m, v, g := make([]T, n), make([]T, n), make([]T, n), make([]T, n)
			for i := range g {
				g[i] = 1
			}
			g[bad] = T(math.NaN())
			Adam(theta, m, v, g, &c)
			for _, s := range [][]T{theta, m, v} {
				for i, x := range s {
					if Finite(x) == (i == bad) {
						t.Fatalf("NaN at %d of %d: element %d is %g", bad, n, i, x)
					}
				}
			}
		}
	}
}
