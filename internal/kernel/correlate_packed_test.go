package kernel

import (
	"slices"
	"testing"
)

// packedShape is a convolution of some images with the same filters.
type packedShape struct {
	Conv
	images int
}

// packedShapes have pixels in place of planes in one and several chunks and images beside each other, planes that do not fill
// a window with strides and without, one and several blocks of steps, and rows of filters that are no multiple of a tile.
var packedShapes = []packedShape{
	{Conv{200, 24, 25, 25, 1, 1, 1, 0, false}, 3}, {Conv{64, 43, 43, 48, 1, 1, 1, 0, true}, 2}, {Conv{24, 70, 71, 25, 1, 1, 1, 0, false}, 2}, {Conv{24, 70, 71, 24, 1, 1, 1, 0, true}, 1},
	{Conv{180, 4, 4, 90, 3, 3, 1, 1, false}, 7}, {Conv{180, 4, 5, 90, 3, 3, 1, 1, true}, 5}, {Conv{100, 3, 5, 90, 5, 3, 1, 2, false}, 4},
	{Conv{150, 9, 8, 101, 3, 3, 2, 1, false}, 7}, {Conv{400, 9, 8, 340, 1, 1, 2, 0, false}, 3}, {Conv{400, 9, 8, 340, 1, 1, 2, 0, true}, 1},
}

// packedDeep have small planes of so many channels that they are computed in chunks, or few beside each other.
var packedDeep = []packedShape{{Conv{6000, 4, 5, 24, 3, 3, 1, 1, false}, 3}, {Conv{3000, 7, 7, 24, 1, 1, 1, 0, false}, 5}, {Conv{24, 7, 7, 3000, 1, 1, 1, 0, true}, 5}}

// Packed filters give the bits of windows, with which filters of their own are computed.
func TestPacked(t *testing.T) {
	everyLevel(t, func(t *testing.T) {
		bothTypes(t, func(t *testing.T) { testPacked[float32](t, packedShapes) }, func(t *testing.T) { testPacked[float64](t, packedShapes) })
	})
}

func TestPackedDeep(t *testing.T) {
	bothTypes(t, func(t *testing.T) { testPacked[float32](t, packedDeep) }, func(t *testing.T) { testPacked[float64](t, packedDeep) })
}

func testPacked[T Float](t *testing.T, shapes []packedShape) {
	defer SetThreads(0)
	for _, s := range shapes {
		n := ConvRows{X: s.images, W: 1, Y: s.images}
		own := n
		own.Own = true
		call := newConv[T](source(1), s.Conv, n)
		windows := convCall[T]{call.Conv, own, call.x, call.w, call.y}.results()
		for k, r := range call.results()[:2] {
			if tilesConv[T](s.Conv, n) {
				t.Fatalf("%v is computed by tiles of pixels", s.Conv)
			}
			for _, threads := range []int{1, 3} {
				SetThreads(threads)
				want, got := r.out.clone(), r.out.clone()
				windows[k].run(want.s())
				r.run(got.s())
				got.checkGuard(t)
				if !slices.Equal(got.s(), want.s()) {
					t.Errorf("%s %v of %d images on %d threads: other bits than from windows", r.what, s.Conv, s.images, threads)
				}
			}
		}
	}
}

// Every shape of the test is packed in at least one direction.
func TestPackedShapes(t *testing.T) {
	for _, s := range append(packedShapes, packedDeep...) {
		n := ConvRows{X: s.images, W: 1, Y: s.images}
		forward, input := correlation[float32]{n: n, out: s.Out, stride: 1}, correlation[float32]{n: n, out: s.In, stride: s.Stride}
		rows, _ := s.rows().transposed(0)
		cols, _ := s.columns().transposed(0)
		if !forward.packs(&view{channels: s.In, rows: s.rows(), cols: s.columns()}) && !input.packs(&view{channels: s.Out, rows: rows, cols: cols}) {
			t.Errorf("%v of %d images is not packed", s.Conv, s.images)
		}
	}
}
