package kernel

import (
	"math/rand/v2"
	"testing"
)

// Sides around the groups of four rows that are interleaved at a time.
func TestTranspose(t *testing.T) { bothTypes(t, testTranspose[float32], testTranspose[float64]) }

func testTranspose[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, rows := range []int{0, 1, 3, 4, 5, 8, 33} {
		for _, cols := range []int{0, 1, 2, 7, 8, 9, 40} {
			src, dst := newMatrix[T](r, rows, cols, 3), newMatrix[T](r, cols, rows, 2)
			Transpose(dst.s(), dst.ld, src.s(), src.ld, rows, cols)
			for i := range rows {
				for j := range cols {
					if dst.at(j, i) != src.at(i, j) {
						t.Fatalf("%d×%d: element %d,%d is %v, want %v", rows, cols, j, i, dst.at(j, i), src.at(i, j))
					}
				}
			}
			dst.checkGuard(t)
		}
	}
}
