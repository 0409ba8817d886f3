package kernel

import (
	"math"
	"testing"
)

// Panels give what the naive loop gives, for any number of columns right of the last whole tile and
// of rows below it.
func TestGemmPanels(t *testing.T) { bothTypes(t, testGemmPanels[float32], testGemmPanels[float64]) }

func testGemmPanels[T Float](t *testing.T) {
	for n := range 43 {
		for i, k := range []int{0, 1, 2, 3, 4, 5, 16, 31} {
			newProduct[T](source(1), (n+i)&2 != 0, n&1 != 0, 1+(n+5*i)%30, n, k, 1, 0, i).checkPanels(t)
		}
	}
	for m := range 31 {
		newProduct[T](source(1), m&8 != 0, m&1 != 0, m, 33+m%8, 7, 1, 0, m%3).checkPanels(t)
	}
}

// checkPanels is check for GemmPanels. The panels take the place of other numbers.
func (p gemmCall[T]) checkPanels(t *testing.T) {
	t.Helper()
	panels := p.panels()
	p.checkCall(t, func(c matrix[T]) { p.runPanels(panels, c) })
}

func (p gemmCall[T]) panels() []T {
	panels := make([]T, PanelsLen(p.k, p.n))
	for i := range panels {
		panels[i] = T(math.NaN())
	}
	Panels(p.transB, p.k, p.n, p.b.s(), p.b.ld, panels)
	return panels
}

func (p gemmCall[T]) runPanels(panels []T, c matrix[T]) {
	GemmPanels(p.transA, p.m, p.n, p.k, p.a.s(), p.a.ld, panels, c.s(), c.ld)
}

// Of large matrices, too, for any number of threads. Where columns are not in quads, panels give what
// the matrix gives to the last bit.
func TestGemmPanelsLarge(t *testing.T) {
	bothTypes(t, testGemmPanelsLarge[float32], testGemmPanelsLarge[float64])
}

func testGemmPanelsLarge[T Float](t *testing.T) {
	defer SetThreads(0)
	for _, s := range [][3]int{{13, 67, 2*blockSteps + 61}, {300, 100, 19}, {2, 150, 1200}, {9, blockCols + 50, 30}, {150, stridedCols + 4, 9},
		{36, 260, 60}, {60, 20, setBytes/4 - 3}, {3, 500, setBytes/4 - 3}} {
		for _, trans := range []bool{false, true} {
			p := newProduct[T](source(1), trans, trans, s[0], s[1], s[2], 1, 0, 3)
			p.checkPanels(t)
			panels, want := p.panels(), p.c.clone()
			p.run(want)
			checkThreads(t, "GemmPanels", p.c, func(c matrix[T]) {
				p.runPanels(panels, c)
				for i := range p.m {
					for j := range p.n - quadded[T](p.n) {
						if c.at(i, j) != want.at(i, j) {
							t.Fatalf("C[%d,%d] of %d×%d×%d is %g, of the matrix itself %g", i, j, p.m, p.n, p.k, c.at(i, j), want.at(i, j))
						}
					}
				}
			})
		}
	}
}

// What is no number stays in its row and its column.
func TestGemmPanelsNaN(t *testing.T) {
	bothTypes(t, testGemmPanelsNaN[float32], testGemmPanelsNaN[float64])
}

func testGemmPanelsNaN[T Float](t *testing.T) {
	for _, k := range []int{1, 6, 7, 8} {
		for combo := range 4 {
			p := newProduct[T](source(3), combo&1 != 0, combo&2 != 0, 30, 37, k, 1, 0, 0)
			row, col := shape(p.transA, 5, 0)
			p.a.set(row, col, T(math.NaN()))
			p.b.s()[0] = T(math.Inf(-1))
			p.b.s()[len(p.b.s())-1] = T(math.Inf(1))
			p.checkPanels(t)
			clear(p.a.s())
			p.checkPanels(t)
		}
	}
}
