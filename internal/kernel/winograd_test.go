package kernel

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"
)

// tiledShapes have planes of one vector of tiles and of several, with rows that fill bands, that do not fill them
// and that are longer, and filters that are packed.
var tiledShapes = []Conv{
	{16, 6, 32, 16, 3, 3, 1, 1, true}, {16, 12, 16, 16, 3, 3, 1, 1, false}, {16, 16, 8, 16, 3, 3, 1, 1, false},
	{16, 2, 32, 32, 3, 3, 1, 1, false}, {32, 4, 16, 16, 3, 3, 1, 1, true},
	{16, 8, 8, 48, 3, 3, 1, 1, true}, {48, 8, 8, 16, 3, 3, 1, 1, false},
	{16, 7, 7, 32, 3, 3, 1, 1, true}, {16, 14, 14, 16, 3, 3, 1, 1, false}, {16, 5, 28, 16, 3, 3, 1, 1, false},
	{16, 7, 56, 16, 3, 3, 1, 1, true}, {16, 2, 61, 32, 3, 3, 1, 1, false}, {16, 2, 92, 16, 3, 3, 1, 1, false},
	{112, 7, 7, 160, 3, 3, 1, 1, false}, {160, 7, 8, 112, 3, 3, 1, 1, true},
}

// withTiles runs a test with every set of instructions that this machine has and for which there is assembly for tiles.
func withTiles(t *testing.T, test func(t *testing.T)) {
	everyLevel(t, func(t *testing.T) {
		if !fastTiles[float32]() {
			t.Skip("there is no assembly for tiles")
		}
		test(t)
	})
}

// tiledResults are the functions that work tile by tile.
func (c convCall[T]) tiledResults() []convResult[T] {
	r := c.results()
	x, w, y := c.x.s(), c.w.s(), c.y.s()
	r[0].run = func(out []T) { convTiles(c.Conv, c.n.X, x, w, out, false, Then{}) }
	r[1].run = func(out []T) { convTiles(c.Conv, c.n.X, y, w, out, true, Then{}) }
	if c.wholeTiles() {
		r[2].run = func(out []T) { convFilter(c.Conv, c.n, x, y, out, true) }
	}
	if c.n.W != 1 || c.n.X != c.n.Y {
		return r[2:]
	}
	return r
}

func TestTiles(t *testing.T) { withTiles(t, testTiles[float32]) }

func testTiles[T Float](t *testing.T) {
	for _, c := range tiledShapes {
		if !c.tileable() {
			t.Fatalf("%v is not computed by tiles", c)
		}
		for _, n := range []ConvRows{{X: 3, W: 1, Y: 3}, {X: 1, W: 2, Y: 2}} {
			call := newConv[T](source(1), c, n)
			for _, r := range call.tiledResults() {
				call.compare(t, r)
			}
		}
	}
	// Several groups, each of several terms.
	c := Conv{16, 8, 8, 16, 3, 3, 1, 1, false}
	call := newConv[T](source(2), c, ConvRows{X: 9, W: 1, Y: 9})
	call.compare(t, call.tiledResults()[2])
}

func TestTilesNaN(t *testing.T) { withTiles(t, testTilesNaN[float32]) }

// testTilesNaN puts NaN in pixels. A NaN reaches exactly the elements of results and images that its
// pixel belongs to, and at least such elements of filters.
func testTilesNaN[T Float](t *testing.T) {
	for _, c := range tiledShapes[:3] {
		call := newConv[T](source(3), c, ConvRows{X: 1, W: 1, Y: 1})
		for _, s := range [][]T{call.x.s(), call.y.s()} {
			for i := 0; i < len(s); i += 401 {
				s[i] = T(math.NaN())
			}
		}
		r := call.tiledResults()
		call.compare(t, r[0])
		call.compare(t, r[1])
		want, _, _ := call.naive(r[2])
		r[2].run(call.w.s())
		for i, v := range call.w.s() {
			if math.IsNaN(want[i]) && !math.IsNaN(float64(v)) {
				t.Fatalf("%v: no NaN at %d of the filters", c, i)
			}
		}
	}
}

// A result does not depend on the images beside its own, nor on whether the number of vectors of
// tiles is even.
func TestTilesOfOneImage(t *testing.T) { withTiles(t, testTilesOfOneImage) }

func testTilesOfOneImage(t *testing.T) {
	c := Conv{16, 8, 8, 16, 3, 3, 1, 1, false}
	all := newConv[float32](source(4), c, ConvRows{X: 3, W: 1, Y: 3})
	for k, r := range all.tiledResults()[:2] {
		together, alone := make([]float32, len(r.out.s())), make([]float32, len(r.out.s()))
		r.run(together)
		for i := range 3 {
			size := c.imageSize()
			convTiles(c, 1, r.a[i*size:(i+1)*size], all.w.s(), alone[i*size:(i+1)*size], k == 1, Then{})
		}
		if !slices.Equal(together, alone) {
			t.Errorf("%s: an image alone has another result", r.what)
		}
	}
}

// Work that follows finds each result, once it is there, and no other call works on it.
func TestThen(t *testing.T) { withTiles(t, testThen[float32]) }

func testThen[T Float](t *testing.T) {
	SetThreads(3)
	defer SetThreads(0)
	const images = 19
	for _, c := range tiledShapes {
		all := newConv[T](source(5), c, ConvRows{X: images, W: 1, Y: images})
		for k, r := range all.tiledResults()[:2] {
			want, got := make([]T, len(r.out.s())), make([]T, len(r.out.s()))
			r.run(want)
			AddScalar(want, 1, want)
			for _, rows := range []int{1, 3, 20} {
				var used [4]atomic.Int32
				size := len(got) / images
				convTiles(c, images, r.a, all.w.s(), got, k == 1, Then{rows, len(used), func(part, from, to int) {
					if used[part].Add(1) > 1 || to-from > rows {
						t.Errorf("part %d works twice at the same time, or on more than %d results: from %d to %d", part, rows, from, to)
					}
					AddScalar(got[from*size:to*size], 1, got[from*size:to*size])
					used[part].Add(-1)
				}})
				if !slices.Equal(got, want) {
					t.Errorf("%s, %v, %d rows at a time: other results than without work that follows", r.what, c, rows)
				}
			}
		}
	}
}

// Packed filters whose rows are a multiple of a tile's, and others, are compared with filters of their own, which are not packed.
func TestTilesPacked(t *testing.T) { withTiles(t, testTilesPacked) }

func testTilesPacked(t *testing.T) {
	for _, c := range []Conv{{96, 8, 8, 192, 3, 3, 1, 1, false}, {192, 7, 7, 96, 3, 3, 1, 1, true}, {48, 8, 8, 352, 3, 3, 1, 1, false}, {144, 14, 14, 128, 3, 3, 1, 1, false}} {
		n, own := ConvRows{X: 5, W: 1, Y: 5}, ConvRows{X: 5, W: 1, Y: 5, Own: true}
		call := newConv[float32](source(6), c, n)
		windows := convCall[float32]{c, own, call.x, call.w, call.y}.results()
		for k, r := range call.tiledResults()[:2] {
			want, got := r.out.clone(), r.out.clone()
			windows[k].run(want.s())
			r.run(got.s())
			got.checkGuard(t)
			for i, v := range got.s() {
				if !within(float64(v), float64(want.s()[i]), 1e-3) {
					t.Fatalf("%s %v: element %d is %g, by windows %g", r.what, c, i, v, want.s()[i])
				}
			}
		}
	}
}
