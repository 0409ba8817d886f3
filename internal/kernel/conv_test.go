package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// convCall holds the arguments of ConvForward, ConvInput and ConvFilter.
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

// products calls f for the products in the definition of a convolution, with the indices of their
// factors. A call stands for a number of products at consecutive places of a row: their y are
// consecutive, their x are Stride apart, and their w is the same. Pixels outside the image take no part.
func (c convCall[T]) products(f func(x, w, y, count int)) {
	terms := max(c.n.X, c.n.W, c.n.Y)
	for r := range terms {
		i, j, l := r*c.n.X/terms, r*c.n.W/terms, r*c.n.Y/terms
		for out := range c.Out {
			for in := range c.In {
				for ky := range c.KernelHeight {
					for kx := range c.KernelWidth {
						w := ((out*c.In+in)*c.KernelHeight+ky)*c.KernelWidth + kx
						if c.ChannelsLast {
							w = ((out*c.KernelHeight+ky)*c.KernelWidth+kx)*c.In + in
						}
						first, last := c.columnsInside(kx)
						for oy := range c.OutHeight() {
							y, x := oy*c.Stride+ky-c.Padding, first*c.Stride+kx-c.Padding
							if y >= 0 && y < c.Height && first < last {
								f(((i*c.In+in)*c.Height+y)*c.Width+x, j*c.Out*c.taps()+w,
									((l*c.Out+out)*c.OutHeight()+oy)*c.OutWidth()+first, last-first)
							}
						}
					}
				}
			}
		}
	}
}

// columnsInside returns the range of places of a row at which column kx of the filter meets a pixel.
func (c convCall[T]) columnsInside(kx int) (first, last int) {
	for first < c.OutWidth() && first*c.Stride+kx < c.Padding {
		first++
	}
	for last = first; last < c.OutWidth() && last*c.Stride+kx-c.Padding < c.Width; last++ {
	}
	return first, last
}

// convResult is one of the three functions with its arguments.
type convResult[T Float] struct {
	what string
	out  matrix[T]
	run  func(out []T)
	// index orders the indices of a product by result and factors.
	index func(x, w, y int) (to, a, b int)
	a, b  []T
}

func (c convCall[T]) results() []convResult[T] {
	x, w, y := c.x.s(), c.w.s(), c.y.s()
	return []convResult[T]{
		{"ConvForward", c.y, func(out []T) { ConvForward(c.Conv, c.n, x, w, out) },
			func(x, w, y int) (int, int, int) { return y, x, w }, x, w},
		{"ConvInput", c.x, func(out []T) { ConvInput(c.Conv, c.n, y, w, out) },
			func(x, w, y int) (int, int, int) { return x, y, w }, y, w},
		{"ConvFilter", c.w, func(out []T) { ConvFilter(c.Conv, c.n, x, y, out) },
			func(x, w, y int) (int, int, int) { return w, x, y }, x, y},
	}
}

// naive computes every element exactly, the sum of its absolute products and
// their number.
func (c convCall[T]) naive(r convResult[T]) (want, size, count []float64) {
	n := len(r.out.s())
	want, size, count = make([]float64, n), make([]float64, n), make([]float64, n)
	sums := make([]exact, n)
	toStep, aStep, bStep := r.index(c.Stride, 0, 1)
	c.products(func(x, w, y, products int) {
		to, a, b := r.index(x, w, y)
		for range products {
			sums[to].add(float64(r.a[a]), float64(r.b[b]))
			size[to] += math.Abs(float64(r.a[a]) * float64(r.b[b]))
			count[to]++
			to, a, b = to+toStep, a+aStep, b+bStep
		}
	})
	for i := range sums {
		want[i] = sums[i].value()
	}
	return want, size, count
}

// check compares the three functions with the definition.
func (c convCall[T]) check(t tester) {
	t.Helper()
	for _, r := range c.results() {
		c.compare(t, r)
	}
}

// compare compares one function with the definition. The bound is the usual one
// for sums, number of terms·ε·Σ|products|, and two roundings.
func (c convCall[T]) compare(t tester, r convResult[T]) {
	t.Helper()
	want, size, count := c.naive(r)
	got := r.out.clone()
	r.run(got.s())
	got.checkGuard(t)
	for i, v := range got.s() {
		if tol := (count[i] + 2) * epsilon[T]() * size[i]; !within(float64(v), want[i], tol) {
			near(t, name(r.what, " ", c.Conv, " ", c.n, " at ", i), float64(v), want[i], tol)
		}
	}
}

// convRows has every way in which stacks can share their elements.
var convRows = []ConvRows{{X: 0, W: 0, Y: 0}, {X: 1, W: 1, Y: 1}, {X: 3, W: 1, Y: 3}, {X: 1, W: 3, Y: 3}, {X: 3, W: 3, Y: 1}, {X: 2, W: 4, Y: 4}, {X: 4, W: 4, Y: 2}, {X: 4, W: 2, Y: 4}, {X: 3, W: 3, Y: 3},
	{X: 1, W: 1, Y: 3}, {X: 3, W: 1, Y: 1}, {X: 1, W: 3, Y: 1}, {X: 2, W: 6, Y: 3}, {X: 6, W: 3, Y: 2}, {X: 3, W: 2, Y: 6}}

func TestConv(t *testing.T) { bothTypes(t, testConv[float32], testConv[float64]) }

func testConv[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
		side := rapid.OneOf(rapid.IntRange(1, 12), rapid.SampledFrom([]int{16, 17, 32, 33}))
		c := Conv{draw("in", 1, 17), draw("height", 1, 8), side.Draw(t, "width"), draw("out", 1, 17),
			draw("kernelHeight", 1, 5), draw("kernelWidth", 1, 5), draw("stride", 1, 3), draw("padding", 0, 2), rapid.Bool().Draw(t, "channelsLast")}
		if c.Check() != nil {
			t.Skip()
		}
		r := source(rapid.Uint64().Draw(t, "seed"))
		newConv[T](r, c, rapid.SampledFrom(convRows).Draw(t, "rows")).check(t)
	})
}

// Sizes beyond the blocks: many taps, rows wider than one block of the copying, images
// that are unfolded piece by piece, more terms than groups, and padding and
// stride beyond the filter.
func TestConvLarge(t *testing.T) { bothTypes(t, testConvLarge[float32], testConvLarge[float64]) }

func testConvLarge[T Float](t *testing.T) {
	for _, s := range []struct {
		c Conv
		n ConvRows
	}{
		{Conv{33, 8, 8, 9, 3, 3, 1, 1, false}, ConvRows{X: 2, W: 1, Y: 2}},
		{Conv{4, 5, 96, 3, 3, 3, 1, 1, false}, ConvRows{X: 1, W: 2, Y: 2}},
		{Conv{2, 6, 131, 3, 2, 3, 2, 1, false}, ConvRows{X: 2, W: 2, Y: 2}},
		{Conv{1 + unfoldBytes/(4*3*29*33), 33, 29, 1, 3, 3, 1, 1, false}, ConvRows{X: 1, W: 1, Y: 1}},
		{Conv{1, 33, 29, 1 + unfoldBytes/(4*3*29*33), 3, 3, 1, 1, false}, ConvRows{X: 1, W: 1, Y: 1}},
		{Conv{1 + unfoldBytes/(4*3*15*2*16), 33, 29, 1, 3, 3, 2, 1, false}, ConvRows{X: 1, W: 1, Y: 1}},
		{Conv{2, 4, 4, 3, 3, 3, 1, 1, false}, ConvRows{X: 37, W: 1, Y: 37}},
		{Conv{1, 3, 2, 2, 1, 1, 2, 3, false}, ConvRows{X: 2, W: 1, Y: 2}},
		{Conv{1, 3, 2, 2, 1, 2, 5, 4, false}, ConvRows{X: 1, W: 1, Y: 1}},
		{Conv{3, 9, 9, 2, 2, 2, 4, 0, false}, ConvRows{X: 2, W: 1, Y: 2}},
		{Conv{1, 2, 3, 1, 2, 2, 1 << 20, 0, false}, ConvRows{X: 1, W: 1, Y: 1}},
	} {
		newConv[T](source(1), s.c, s.n).check(t)
	}
}

func FuzzConv(f *testing.F) {
	f.Add(uint64(1), []byte{3, 8, 8, 16, 3, 3, 1, 1, 2})
	f.Add(uint64(2), []byte{5, 7, 32, 3, 2, 5, 2, 2, 9})
	f.Add(uint64(3), []byte{16, 8, 16, 16, 3, 3, 1, 1, 2}) // tile by tile
	f.Add(uint64(4), []byte{16, 8, 8, 16, 3, 3, 1, 1, 5})
	f.Fuzz(func(t *testing.T, seed uint64, b []byte) {
		if len(b) < 9 {
			t.Skip()
		}
		size := func(i, most int) int { return int(b[i]) % most }
		c := Conv{size(0, 20), size(1, 40), size(2, 40), size(3, 20), size(4, 8), size(5, 8), size(6, 6), size(7, 6), seed%2 == 1}
		if c.Check() != nil {
			t.Skip()
		}
		n := convRows[size(8, len(convRows))]
		newConv[float32](source(seed), c, n).check(t)
		newConv[float64](source(seed), c, n).check(t)
	})
}

// convSpecial are shapes that take the different ways through the code.
var convSpecial = []Conv{{3, 6, 7, 5, 3, 3, 1, 1, false}, {4, 5, 16, 3, 3, 3, 1, 1, false}, {3, 7, 6, 4, 3, 3, 2, 1, false}, {2, 6, 6, 3, 2, 2, 3, 1, false}, {17, 4, 4, 3, 3, 3, 1, 2, false},
	{3, 6, 7, 5, 3, 3, 1, 1, true}, {17, 4, 4, 3, 3, 3, 2, 1, true}}

func TestConvNaN(t *testing.T) { bothTypes(t, testConvNaN[float32], testConvNaN[float64]) }

// testConvNaN puts NaN in images, and in the results that ConvInput starts from:
// it reaches exactly the elements it belongs to.
func testConvNaN[T Float](t *testing.T) {
	for _, c := range convSpecial {
		call := newConv[T](source(3), c, ConvRows{X: 2, W: 2, Y: 2})
		for i := 0; i < len(call.x.s()); i += 37 {
			call.x.s()[i] = T(math.NaN())
		}
		results := call.results()
		call.compare(t, results[0])
		call.compare(t, results[2])
		call = newConv[T](source(4), c, ConvRows{X: 2, W: 2, Y: 2})
		for i := 0; i < len(call.y.s()); i += 37 {
			call.y.s()[i] = T(math.NaN())
		}
		call.compare(t, call.results()[1])
	}
}

func TestConvInf(t *testing.T) { bothTypes(t, testConvInf[float32], testConvInf[float64]) }

// testConvInf puts Inf everywhere: an element has the value of the definition, or NaN
// if the element meets the padding.
func testConvInf[T Float](t *testing.T) {
	for _, c := range convSpecial {
		call := newConv[T](source(5), c, ConvRows{X: 2, W: 2, Y: 2})
		for _, s := range [][]T{call.x.s(), call.w.s(), call.y.s()} {
			for i := 0; i < len(s); i += 53 {
				s[i] = T(math.Inf(1))
			}
		}
		for _, r := range call.results() {
			want, size, count := call.naive(r)
			full := slices.Max(count)
			if r.what == "ConvFilter" {
				full = float64(c.OutHeight() * c.OutWidth())
			}
			got := make([]T, len(want))
			r.run(got)
			for i, v := range got {
				if math.IsNaN(float64(v)) && count[i] < full {
					continue
				}
				if tol := (count[i] + 2) * epsilon[T]() * size[i]; !within(float64(v), want[i], tol) {
					near(t, name(r.what, " ", c, " at ", i), float64(v), want[i], tol)
				}
			}
		}
	}
}

func TestConvThreadsAgree(t *testing.T) {
	bothTypes(t, testConvThreadsAgree[float32], testConvThreadsAgree[float64])
}

func testConvThreadsAgree[T Float](t *testing.T) {
	defer SetThreads(0)
	for _, n := range []ConvRows{{X: 40, W: 1, Y: 40}, {X: 2, W: 20, Y: 20}, {X: 20, W: 20, Y: 1}, {X: 1, W: 1, Y: 1}} {
		for _, c := range []Conv{{16, 16, 16, 16, 3, 3, 1, 1, false}, {8, 16, 16, 16, 3, 3, 2, 1, false}, {16, 16, 16, 16, 3, 3, 1, 1, true}} {
			for _, r := range newConv[T](source(6), c, n).results() {
				checkThreads(t, name(r.what, " ", c, " ", n), r.out, func(m matrix[T]) { r.run(m.s()) })
			}
		}
	}
}

func TestConvAllocatesNothing(t *testing.T) {
	for _, n := range []ConvRows{{X: 9, W: 1, Y: 9}, {X: 2, W: 4, Y: 4}} {
		for _, c := range []Conv{{3, 8, 8, 4, 3, 3, 1, 1, false}, {8, 8, 8, 4, 3, 3, 2, 1, false}, {16, 8, 8, 16, 3, 3, 1, 1, false}} {
			for _, r := range newConv[float32](source(7), c, n).results() {
				if a := allocations(func() { r.run(r.out.s()) }); a != 0 {
					t.Errorf("%s %v %v allocates %v times", r.what, c, n, a)
				}
			}
		}
	}
}

func TestConvCheck(t *testing.T) {
	good := Conv{2, 3, 4, 5, 3, 2, 1, 0, false}
	for _, bad := range []func(c *Conv){
		func(c *Conv) { c.In = 0 }, func(c *Conv) { c.Height = 0 }, func(c *Conv) { c.Width = -1 },
		func(c *Conv) { c.Out = 0 }, func(c *Conv) { c.KernelHeight = 0 }, func(c *Conv) { c.KernelWidth = 0 },
		func(c *Conv) { c.Stride = 0 }, func(c *Conv) { c.Padding = -1 },
		func(c *Conv) { c.KernelHeight = 4 }, func(c *Conv) { c.KernelWidth = 5 },
		func(c *Conv) { c.Height = 1 << 40 }, func(c *Conv) { c.Padding = math.MaxInt }, func(c *Conv) { c.Stride = math.MaxInt },
		func(c *Conv) { *c = Conv{1 << 27, 1, 1, 1, 1, 1, 1, 0, false} }, // steps go over channels with what may be written past their ends
	} {
		c := good
		bad(&c)
		if c.Check() == nil {
			t.Errorf("convolution %v passes", c)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	if h, w := good.OutHeight(), good.OutWidth(); h != 1 || w != 3 {
		t.Errorf("results are %d×%d, want 1×3", h, w)
	}
}

func TestConvRejectsWrongStacks(t *testing.T) {
	c := Conv{1, 2, 2, 1, 1, 1, 1, 0, false}
	call := func(n ConvRows, x, w, y int) func() {
		return func() {
			ConvForward(c, n, make([]float64, x), make([]float64, w), make([]float64, y))
		}
	}
	call(ConvRows{X: 2, W: 1, Y: 2}, 8, 1, 8)()
	panics(t, "rows that do not divide", call(ConvRows{X: 2, W: 3, Y: 3}, 8, 3, 12))
	panics(t, "no filter", call(ConvRows{X: 2, W: 0, Y: 2}, 8, 0, 8))
	panics(t, "short x", call(ConvRows{X: 2, W: 1, Y: 2}, 7, 1, 8))
	panics(t, "short w", call(ConvRows{X: 2, W: 1, Y: 2}, 8, 0, 8))
	panics(t, "short y", call(ConvRows{X: 2, W: 1, Y: 2}, 8, 1, 7))
	c.Stride = 0
	panics(t, "no stride", call(ConvRows{X: 2, W: 1, Y: 2}, 8, 1, 8))
}
