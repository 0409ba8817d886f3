package augment

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/data/internal/resize"
)

// channels is the number of channels of an image.
const channels = 3

// A view is an image of H×W pixels, which is a window on a store of pixels. Cropping and
// mirroring move the window and copy no pixel. The pixels are copied once, at the end,
// however many steps there are.
type view struct {
	h, w     int     // size in pixels
	y, x     int     // where the view begins in the store
	mirrored bool    // the view is read from right to left
	store    []uint8 // the pixels [3,height,stride]
	stride   int     // the width of the store
	live     box     // the part of the store that is shown; pixels beyond it are black
	scratch  *scratch
}

// A box is the pixels y0...y1-1, x0...x1-1.
type box struct {
	y0, x0 int // the first row and column
	y1, x1 int // the row and the column after the last
}

// scratch is the memory that resizing needs.
type scratch struct {
	resizer resize.Resizer // keeps its weights for the next image
	flat    []uint8        // [3,H,W] before resizing
	sized   []uint8        // [3,H,W] after resizing
}

// show makes v show the whole image pixels [3,h,w].
func (v *view) show(pixels []uint8, h, w int) {
	*v = view{h: h, w: w, store: pixels, stride: w, live: box{0, 0, h, w}, scratch: v.scratch}
}

// crop crops v to the h×w pixels that begin at row top and column left. Pixels outside of v
// are black.
func (v *view) crop(top, left, h, w int) {
	if h < 1 || w < 1 {
		panic(fmt.Sprintf("augment: crop of %d×%d pixels", h, w))
	}
	v.live = box{max(v.live.y0, v.y), max(v.live.x0, v.x), min(v.live.y1, v.y+v.h), min(v.live.x1, v.x+v.w)}
	if v.mirrored {
		left = v.w - left - w
	}
	v.y, v.x, v.h, v.w = v.y+top, v.x+left, h, w
}

// mirror exchanges left and right.
func (v *view) mirror() { v.mirrored = !v.mirrored }

// resize resizes v to h×w pixels.
func (v *view) resize(h, w int) {
	s := v.scratch
	s.flat = sized(s.flat, channels*v.h*v.w)
	render(v, s.flat, &identity)
	s.sized = sized(s.sized, channels*h*w)
	s.resizer.Resize(s.sized, h, w, s.flat, v.h, v.w, resize.Triangle)
	v.show(s.sized, h, w)
}

// sized returns a slice of n bytes, in the memory of x if that is large enough.
func sized(x []uint8, n int) []uint8 { return slices.Grow(x[:0], n)[:n] }

// identity is the table for render that keeps every byte as it is.
var identity = func() (t [channels][256]uint8) {
	for c := range t {
		for v := range t[c] {
			t[c][v] = uint8(v)
		}
	}
	return t
}()

// render writes the pixels that v shows to dst [3,H,W]. It replaces each pixel by its value
// in the table of its channel.
func render[T any](v *view, dst []T, table *[channels][256]T) {
	for c := range table {
		for y := range v.h {
			renderRow(v, dst[(c*v.h+y)*v.w:(c*v.h+y+1)*v.w], c, y, &table[c])
		}
	}
}

func renderRow[T any](v *view, dst []T, c, y int, value *[256]T) {
	// The columns from...to-1 of dst, read from left to right, are live.
	from := min(max(v.live.x0-v.x, 0), len(dst))
	to := min(max(v.live.x1-v.x, from), len(dst))
	if row := v.y + y; row < v.live.y0 || row >= v.live.y1 {
		from, to = 0, 0
	}
	if from == to {
		fill(dst, value[0])
		return
	}
	at := len(v.store)/channels*c + (v.y+y)*v.stride + v.x
	src := v.store[at+from : at+to]
	if v.mirrored {
		from, to = len(dst)-to, len(dst)-from
	}
	fill(dst[:from], value[0])
	fill(dst[to:], value[0])
	dst = dst[from:to][:len(src)] // with this the compiler leaves out bounds checks
	if !v.mirrored {
		for i, p := range src {
			dst[i] = value[p]
		}
		return
	}
	for i, p := range src {
		dst[len(src)-1-i] = value[p]
	}
}

func fill[T any](dst []T, value T) {
	for i := range dst {
		dst[i] = value
	}
}
