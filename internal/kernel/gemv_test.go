package kernel

import (
	"math"
	"testing"
)

func TestMatrixVector(t *testing.T) {
	bothTypes(t, testMatrixVector[float32], testMatrixVector[float64])
}

// testMatrixVector compares products of a matrix, a part of which is all that is read, and a vector
// with the definition.
func testMatrixVector[T Float](t *testing.T) {
	r := source(6)
	for _, rows := range []int{0, 1, 3, 4, 5, 8, 11, 30} {
		for _, cols := range []int{1, 2, 4, 7, 8, 9, 33, 70} {
			m := newMatrix[T](r, rows, cols, 3)
			x, y := newMatrix[T](r, 1, cols, 0), newMatrix[T](r, 1, rows, 0)
			got, back := newMatrix[T](r, 1, rows, 0), x.clone()
			RowDots(got.s(), m.s(), m.ld, x.s())
			AddRows(back.s(), m.s(), m.ld, y.s())
			for i := range rows {
				want := 0.0
				for j := range cols {
					want += float64(m.at(i, j)) * float64(x.at(0, j))
				}
				near(t, name("RowDots ", rows, cols), float64(got.at(0, i)), want, rounding[T](rows+cols))
			}
			for j := range cols {
				want := float64(x.at(0, j))
				for i := range rows {
					want += float64(m.at(i, j)) * float64(y.at(0, i))
				}
				near(t, name("AddRows ", rows, cols), float64(back.at(0, j)), want, rounding[T](rows+cols))
			}
			got.checkGuard(t)
			back.checkGuard(t)
		}
	}
}

func TestAddSymmetric(t *testing.T) {
	everyLevel(t, testAddSymmetric)
}

func testAddSymmetric(t *testing.T) {
	r := source(7)
	for n := 1; n < 40; n++ {
		a, x, y := newMatrix[float64](r, n, n, 2), newMatrix[float64](r, 1, n, 0), newMatrix[float64](r, 1, n, 0)
		for i := range n {
			for j := range i {
				a.set(i, j, a.at(j, i))
			}
		}
		got, cut := y.clone(), n/3
		upper := a.clone()
		for i := range n {
			for j := range i {
				upper.set(i, j, guard) // must not be read
			}
		}
		AddSymmetric(0, cut, n, upper.s(), upper.ld, x.s(), got.s())
		AddSymmetric(cut, n, n, upper.s(), upper.ld, x.s(), got.s())
		for i := range n {
			want := y.at(0, i)
			for j := range n {
				want += a.at(i, j) * x.at(0, j)
			}
			near(t, name("AddSymmetric ", n), got.at(0, i), want, rounding[float64](n))
		}
		got.checkGuard(t)
	}
}

// rounding bounds the error of a sum of n products of standard normal numbers, all below 6.
func rounding[T Float](n int) float64 { return 36 * float64(n*n) * epsilon[T]() }

func TestPoles(t *testing.T) {
	everyLevel(t, func(t *testing.T) {
		r := source(8)
		for n := range 40 {
			z, p := newMatrix[float64](r, 1, n, 0).s(), newMatrix[float64](r, 1, n, 0).s()
			sum, squares, size := 0.0, 0.0, 0.0
			for i := range z {
				term := z[i] / (p[i] - 0.1)
				sum += z[i] * term
				squares += term * term
				size += math.Abs(z[i]*term) + term*term
			}
			gotSum, gotSquares := Poles(z, p, 0.1)
			near(t, name("sum of ", n), gotSum, sum, float64(n)*size*epsilon[float64]())
			near(t, name("squares of ", n), gotSquares, squares, float64(n)*size*epsilon[float64]())
		}
	})
}
