package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// convCall is the arguments of the three functions.
type convCall[T Float] struct {
	Conv
	n       ConvRows
	x, w, y matrix[T] // one row each
}

func newConv[T Float](r *rand.Rand, c Conv, n ConvRows) convCall[T] {
	return convCall[T]{c, n,
		newMatrix[T](r, 1, n.X*c.imageSize(), 0),
		newMatrix[T](r, 1, n.W*c.Out*c.taps(), 0),
		newMatrix[T](r, 1, n.Y*c.resultSize(), 0)}
}

// products calls f for every product of the definition with the indices of its
// factors: pixels outside the image take no part.
func (c convCall[T]) products(f func(x, w, y int)) {
	terms := max(c.n.X, c.n.W, c.n.Y)
	for r := range terms {
		i, j, l := r*c.n.X/terms, r*c.n.W/terms, r*c.n.Y/terms
		for out := range c.Out {
			for oy := range c.OutHeight() {
				for ox := range c.OutWidth() {
					for in := range c.In {
						for ky := range c.KernelHeight {
							for kx := range c.KernelWidth {
								y, x := oy*c.Stride+ky-c.Padding, ox*c.Stride+kx-c.Padding
								if y < 0 || y >= c.Height || x < 0 || x >= c.Width {
									continue
								}
								f(((i*c.In+in)*c.Height+y)*c.Width+x,
									(((j*c.Out+out)*c.In+in)*c.KernelHeight+ky)*c.KernelWidth+kx,
									((l*c.Out+out)*c.OutHeight()+oy)*c.OutWidth()+ox)
							}
						}
					}
				}
			}
		}
	}
}

// check compares the three functions with the definition in float64. The bound
// is the usual one for sums: number of terms·ε·Σ|products|.
func (c convCall[T]) check(t tester) {
	t.Helper()
	x, w, y := c.x.s(), c.w.s(), c.y.s()
	compare := func(what string, m matrix[T], run func(out []T), index func(i, j, l int) (to, a, b int), a, b []T) {
		t.Helper()
		want, size, count := make([]float64, len(m.s())), make([]float64, len(m.s())), make([]float64, len(m.s()))
		c.products(func(i, j, l int) {
			to, p, q := index(i, j, l)
			v := float64(a[p]) * float64(b[q])
			want[to] += v
			size[to] += math.Abs(v)
			count[to]++
		})
		got := m.clone()
		run(got.s())
		got.checkGuard(t)
		for i, v := range got.s() {
			near(t, name(what, " ", c.Conv, " ", c.n, " at ", i), float64(v), want[i], (count[i]+2)*epsilon[T]()*size[i])
		}
	}
	compare("ConvForward", c.y, func(out []T) { ConvForward(c.Conv, c.n, x, w, out) },
		func(i, j, l int) (int, int, int) { return l, i, j }, x, w)
	compare("ConvInput", c.x, func(out []T) { ConvInput(c.Conv, c.n, y, w, out) },
		func(i, j, l int) (int, int, int) { return i, l, j }, y, w)
	compare("ConvFilter", c.w, func(out []T) { ConvFilter(c.Conv, c.n, x, y, out) },
		func(i, j, l int) (int, int, int) { return j, i, l }, x, y)
}

func TestConv(t *testing.T) { bothTypes(t, testConv[float32], testConv[float64]) }

func testConv[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
		c := Conv{draw("in", 1, 17), draw("height", 1, 12), draw("width", 1, 12), draw("out", 1, 17),
			draw("kernelHeight", 1, 5), draw("kernelWidth", 1, 5), draw("stride", 1, 3), draw("padding", 0, 2)}
		if c.Check() != nil {
			t.Skip()
		}
		r := source(rapid.Uint64().Draw(t, "seed"))
		newConv[T](r, c, rapid.SampledFrom(convRows).Draw(t, "rows")).check(t)
	})
}

var convRows = []ConvRows{{0, 0, 0}, {1, 1, 1}, {3, 1, 3}, {1, 3, 3}, {3, 3, 1}, {2, 4, 4}, {4, 4, 2}, {4, 2, 4}, {3, 3, 3},
	{1, 1, 3}, {3, 1, 1}, {1, 3, 1}, {2, 6, 3}, {6, 3, 2}, {3, 2, 6}}
