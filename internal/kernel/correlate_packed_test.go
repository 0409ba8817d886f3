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

// packedShapes have one and several blocks of steps, passes without steps, images beside each other in a block, planes of
// several chunks, rows of filters that are no multiple of a tile, and pixels in place.
var packedShapes = []packedShape{
	{Conv{200, 3, 7, 25, 1, 1, 1, 0, false}, 23}, {Conv{64, 7, 7, 48, 1, 1, 1, 0, true}, 40},
	{Conv{20, 7, 7, 30, 3, 3, 1, 1, false}, 11}, {Conv{20, 7, 7, 30, 3, 3, 1, 1, true}, 11},
	{Conv{60, 9, 8, 27, 3, 3, 2, 1, false}, 30}, {Conv{60, 9, 8, 27, 3, 3, 2, 1, true}, 30},
	{Conv{26, 12, 13, 31, 1, 1, 2, 0, false}, 9}, {Conv{25, 12, 13, 31, 2, 2, 3, 1, false}, 30},
	{Conv{24, 40, 41, 24, 1, 1, 1, 0, false}, 2}, {Conv{24, 40, 41, 25, 3, 3, 2, 1, false}, 2}, {Conv{24, 30, 31, 24, 5, 3, 1, 2, false}, 1},
}

// packedDeep have small planes of so many channels that they are computed in chunks.
var packedDeep = []packedShape{{Conv{2100, 7, 7, 24, 3, 3, 1, 1, false}, 6}, {Conv{1900, 13, 9, 24, 3, 3, 2, 1, false}, 8}, {Conv{24, 13, 9, 1900, 3, 3, 2, 1, true}, 8}}

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
		forward := correlation[float32]{n: n, out: s.Out, height: s.OutHeight(), width: s.OutWidth(), stride: 1}
		input := correlation[float32]{n: n, out: s.In, height: s.Height, width: s.Width, stride: s.Stride}
		if !forward.packs() && !input.packs() {
			t.Errorf("%v of %d images is not packed", s.Conv, s.images)
		}
	}
}
