// Package resize resizes images of bytes as Pillow does, byte for byte.
package resize

import (
	"fmt"
	"math"
	"slices"
)

// Filter says how the pixels of a resized image are weighed. Seen from a pixel
// of the result, a distance of 1 is one pixel of the original.
type Filter int

const (
	// Box takes the mean over the area that a pixel of the result covers, which is at
	// least one pixel. It is Pillow's BOX.
	Box Filter = iota
	// Triangle weighs with a triangle that reaches to the distance 1, or to the distance s
	// where the image gets s times smaller. This is bilinear interpolation with
	// antialiasing. It is Pillow's BILINEAR, which torchvision's resizing transforms use
	// for images that are no tensors.
	Triangle
)

// precision is the number of binary digits after the point of a weight, as in
// Pillow.
const precision = 32 - 8 - 2

// A Resizer changes the size of images and keeps its working memory for the next call. The
// zero value is ready for use, by one goroutine at a time.
type Resizer struct {
	x, y   weights // weights of the columns and of the rows
	narrow []uint8 // resized in the columns only
}

// weights are the weights of one direction: pixel i of the result is the sum over j of
// tap[i][j] times pixel from[i]+j of the original.
type weights struct {
	from []int     // [to], the first pixel of the original
	tap  [][]int32 // [to], weights in units of 2⁻²²
	all  []int32   // the memory of tap
	raw  []float64 // of one pixel, before rounding
}

// Resize resizes src, which is [N,h,w] row-major, to [N,toH,toW] and writes the result to
// the front of dst. It resizes the width first, then the height. It rounds values to bytes
// after each of the two, and weights to 2⁻²². The result equals the result of Pillow's resize, byte
// for byte. It panics unless all sizes are positive, src is a whole number of images and dst
// is long enough.
func (r *Resizer) Resize(dst []uint8, toH, toW int, src []uint8, h, w int, by Filter) {
	if min(h, w, toH, toW) < 1 || len(src)%(h*w) != 0 {
		panic(fmt.Sprintf("resize: %d pixels of %d×%d to %d×%d", len(src), h, w, toH, toW))
	}
	r.x.set(toW, w, by)
	r.y.set(toH, h, by)
	r.narrow = slices.Grow(r.narrow[:0], h*toW)[:h*toW]
	for at, to := 0, 0; at < len(src); at, to = at+h*w, to+toH*toW {
		for y := range h {
			r.x.row(r.narrow[y*toW:(y+1)*toW], src[at+y*w:at+(y+1)*w])
		}
		for y := range toH {
			r.y.column(dst[to+y*toW:to+(y+1)*toW], r.narrow, y)
		}
	}
}

// row computes a row of the result from a row of the original.
func (k *weights) row(dst, src []uint8) {
	for i := range dst {
		sum := int32(1 << (precision - 1))
		for j, weight := range k.tap[i] {
			sum += weight * int32(src[k.from[i]+j])
		}
		dst[i] = clip(sum)
	}
}

// column computes row y of the result from rows of src, which are as long as dst.
func (k *weights) column(dst, src []uint8, y int) {
	for x := range dst {
		sum := int32(1 << (precision - 1))
		at := k.from[y]*len(dst) + x
		for _, weight := range k.tap[y] {
			sum += weight * int32(src[at])
			at += len(dst)
		}
		dst[x] = clip(sum)
	}
}

func clip(sum int32) uint8 { return uint8(min(max(sum>>precision, 0), 255)) }

// set computes the weights that turn n pixels into to pixels.
func (k *weights) set(to, n int, by Filter) {
	scale := float64(n) / float64(to)
	wide := max(scale, 1)
	reach := wide
	if by == Box {
		reach = wide / 2
	}
	k.from, k.tap, k.all = k.from[:0], k.tap[:0], k.all[:0]
	// all grows before it is used, so that the slices of tap stay in its memory.
	k.all = slices.Grow(k.all, to*(2*int(math.Ceil(reach))+1))
	for i := range to {
		center := (float64(i) + 0.5) * scale
		first := max(int(center-reach+0.5), 0)
		last := min(int(center+reach+0.5), n)
		k.from = append(k.from, first)
		k.tap = append(k.tap, k.one(first, last, center, wide, by))
	}
}

// one returns the weights of the pixels first to last-1, which add up to 1.
func (k *weights) one(first, last int, center, wide float64, by Filter) []int32 {
	k.raw = k.raw[:0]
	sum := 0.0
	for p := first; p < last; p++ {
		weight := by.at((float64(p) - center + 0.5) / wide)
		k.raw = append(k.raw, weight)
		sum += weight
	}
	at := len(k.all)
	for _, weight := range k.raw {
		k.all = append(k.all, int32(0.5+weight/sum*(1<<precision)))
	}
	return k.all[at:]
}

// at returns the weight of a pixel at a distance, up to a constant factor.
func (by Filter) at(distance float64) float64 {
	if by == Box {
		if distance > -0.5 && distance <= 0.5 {
			return 1
		}
		return 0
	}
	return max(1-math.Abs(distance), 0)
}
