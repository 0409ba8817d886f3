package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestGemmRows: a row of a product has the same bits whatever the number of rows and of threads.
func TestGemmRows(t *testing.T) {
	bothTypes(t, testGemmRows[float32], testGemmRows[float64])
}

func testGemmRows[T Float](t *testing.T) {
	defer SetThreads(Threads())
	alphas, betas := []T{1, -1, 0.3}, []T{0, 1, 0.7}
	rapid.Check(t, func(t *rapid.T) {
		r := source(rapid.Uint64().Draw(t, "seed"))
		rows := rapid.SampledFrom([]int{2, 3, 11, 12, 13, 25, 40}).Draw(t, "rows")
		n := rapid.SampledFrom([]int{1, 2, 3, 7, 10, 16, 33, 50, 100, 513}).Draw(t, "n")
		k := rapid.SampledFrom([]int{1, 2, 5, 8, 50, 131, 521, 1100}).Draw(t, "k")
		transA, transB := rapid.Bool().Draw(t, "transA"), rapid.Bool().Draw(t, "transB")
		alpha, beta := rapid.SampledFrom(alphas).Draw(t, "alpha"), rapid.SampledFrom(betas).Draw(t, "beta")
		scale := rapid.SampledFrom([]float64{0, -72, -540}).Draw(t, "exponent") // subnormal products among them
		ah, aw := shape(transA, rows, k)
		bh, bw := shape(transB, k, n)
		a, b, c := newMatrix[T](r, ah, aw, 1), newMatrix[T](r, bh, bw, 2), newMatrix[T](r, rows, n, 0)
		for _, m := range []matrix[T]{a, b, c} {
			for i := range m.rows {
				for j := range m.cols {
					m.set(i, j, m.at(i, j)*T(math.Exp2(scale)))
				}
			}
		}
		all := c.clone()
		SetThreads(rapid.IntRange(1, 3).Draw(t, "threads"))
		Gemm(transA, transB, rows, n, k, alpha, a.s(), a.ld, b.s(), b.ld, beta, all.s(), all.ld)
		step, _ := strides(transA, a.ld)
		for _, some := range []int{1, 2, 5} {
			for _, i := range []int{0, 1, rows - some} {
				if i < 0 || i+some > rows {
					continue
				}
				got := c.clone()
				Gemm(transA, transB, some, n, k, alpha, a.s()[i*step:], a.ld, b.s(), b.ld, beta, got.s()[i*got.ld:], got.ld)
				sameBits(t, name("rows from ", i, ", ", some, " of ", rows, "×", n, "×", k), got.s()[i*got.ld:][:(some-1)*got.ld+n], all.s()[i*all.ld:])
			}
		}
	})
}

// TestGemmPanelsRows: so has a row of a product with panels.
func TestGemmPanelsRows(t *testing.T) {
	bothTypes(t, testGemmPanelsRows[float32], testGemmPanelsRows[float64])
}

func testGemmPanelsRows[T Float](t *testing.T) {
	r := source(12)
	for _, n := range []int{1, 3, 22, 32, 50, 66, 100} {
		for _, k := range []int{1, 3, 50, 600} {
			for _, trans := range []bool{false, true} {
				const rows = 30
				h, w := shape(trans, rows, k)
				a, b, all := newMatrix[T](r, h, w, 0), newMatrix[T](r, k, n, 0), newMatrix[T](r, rows, n, 0)
				panels := make([]T, PanelsLen(k, n))
				Panels(false, k, n, b.s(), b.ld, panels)
				GemmPanels(trans, rows, n, k, a.s(), a.ld, panels, all.s(), n)
				step, _ := strides(trans, a.ld)
				for _, i := range []int{0, 1, 17, rows - 1} {
					got := newMatrix[T](r, 1, n, 0)
					GemmPanels(trans, 1, n, k, a.s()[i*step:], a.ld, panels, got.s(), n)
					sameBits(t, name("row ", i, " with panels of ", k, "×", n), got.s(), all.s()[i*n:])
				}
			}
		}
	}
}

// TestTrsmRows: a system that is a row, or a column, is solved with the same bits among any others.
func TestTrsmRows(t *testing.T) {
	bothTypes(t, testTrsmRows[float32], testTrsmRows[float64])
}

func testTrsmRows[T Float](t *testing.T) {
	r := source(13)
	for _, n := range []int{1, 3, 8, 20, 65, 130} {
		l := newMatrix[T](r, n, n, 1)
		for i := range n {
			l.set(i, i, T(math.Sqrt(float64(n+1))))
		}
		for _, trans := range []bool{false, true} {
			const systems = 150
			rows := newMatrix[T](r, systems, n, 0)
			columns := newMatrix[T](r, n, systems, 0)
			for i := range systems {
				for j := range n {
					columns.set(j, i, rows.at(i, j))
				}
			}
			all, beside := rows.clone(), columns.clone()
			Trsm(true, trans, systems, n, l.s(), l.ld, all.s(), n)
			Trsm(false, trans, n, systems, l.s(), l.ld, beside.s(), systems)
			for _, i := range []int{0, 1, 127, 128, systems - 1} {
				row, column := slices.Clone(rows.s()[i*n:(i+1)*n]), slices.Clone(rows.s()[i*n:(i+1)*n])
				Trsm(true, trans, 1, n, l.s(), l.ld, row, n)
				Trsm(false, trans, n, 1, l.s(), l.ld, column, 1)
				sameBits(t, name("row ", i, " of order ", n), row, all.s()[i*n:])
				for j, v := range column {
					sameBits(t, name("column ", i, " of order ", n), []T{v}, []T{beside.at(j, i)})
				}
			}
		}
	}
}

// sameBits fails unless got equals the first elements of want; NaN equals NaN.
func sameBits[T Float](t tester, what string, got, want []T) {
	t.Helper()
	for i, v := range got {
		if v != want[i] && (v == v || want[i] == want[i]) || v == 0 && math.Signbit(float64(v)) != math.Signbit(float64(want[i])) {
			t.Fatalf("%s: element %d is %v, among all rows %v", what, i, v, want[i])
		}
	}
}

// TestConvRows: an image has the same bits alone and among others, with filters that all share and with
// filters of its own.
func TestConvRows(t *testing.T) {
	bothTypes(t, testConvRows[float32], testConvRows[float64])
}

func testConvRows[T Float](t *testing.T) {
	r := source(14)
	const images = 5
	for _, c := range []Conv{
		{In: 16, Height: 8, Width: 8, Out: 16, KernelHeight: 3, KernelWidth: 3, Stride: 1, Padding: 1},
		{In: 3, Height: 7, Width: 9, Out: 5, KernelHeight: 3, KernelWidth: 2, Stride: 2, Padding: 1},
	} {
		for _, own := range []bool{false, true} {
			filters := 1
			if own {
				filters = images
			}
			size, result, weights := c.imageSize(), c.resultSize(), c.Out*c.taps()
			x, w := newMatrix[T](r, 1, images*size, 0).s(), newMatrix[T](r, 1, filters*weights, 0).s()
			y, back := make([]T, images*result), make([]T, images*size)
			n, one := ConvRows{X: images, W: filters, Y: images, Own: own}, ConvRows{X: 1, W: 1, Y: 1, Own: own}
			ConvForward(c, n, x, w, y)
			ConvInput(c, n, y, w, back)
			for i := range images {
				f := w[min(i, filters-1)*weights:][:weights]
				alone, input := make([]T, result), make([]T, size)
				ConvForward(c, one, x[i*size:(i+1)*size], f, alone)
				sameBits(t, name("result ", i, " of ", c, own), alone, y[i*result:])
				ConvInput(c, one, alone, f, input)
				sameBits(t, name("image ", i, " of ", c, own), input, back[i*size:])
			}
		}
	}
}
