package corrupt

import (
	"bytes"
	"fmt"
	stdimage "image"
	"image/color"
	"image/jpeg"

	"github.com/go-valla/valla/data/internal/resize"
)

// pixelate shrinks the image, and then enlarges it to its size again. The severity sets to
// which fraction each side shrinks.
func pixelate(severity int) effect {
	left := [5]float64{.95, .9, .85, .75, .65}[severity]
	return func(f *frame) {
		h, w := max(int(left*float64(f.h)), 1), max(int(left*float64(f.w)), 1)
		small := make([]uint8, channels*h*w)
		var r resize.Resizer
		r.Resize(small, h, w, f.src, f.h, f.w, resize.Box)
		r.Resize(f.dst, f.h, f.w, small, h, w, resize.Box)
	}
}

// jpegCompression encodes the image as JPEG and decodes it. The severity sets the quality, on
// libjpeg's scale of 1 to 100.
func jpegCompression(severity int) effect {
	quality := [5]int{80, 65, 58, 50, 40}[severity]
	return func(f *frame) {
		var file bytes.Buffer
		if err := jpeg.Encode(&file, f.rgba(), &jpeg.Options{Quality: quality}); err != nil {
			panic(fmt.Sprintf("corrupt: %d×%d pixels as JPEG: %v", f.h, f.w, err)) // a side of 65,536
		}
		decoded, err := jpeg.Decode(&file)
		if err != nil {
			panic(fmt.Sprintf("corrupt: JPEG just written: %v", err))
		}
		f.fromYCbCr(decoded.(*stdimage.YCbCr))
	}
}

// rgba returns src as an image of the standard library.
func (f *frame) rgba() *stdimage.RGBA {
	out := stdimage.NewRGBA(stdimage.Rect(0, 0, f.w, f.h))
	n := f.size()
	for i := range n {
		copy(out.Pix[4*i:], []uint8{f.src[i], f.src[n+i], f.src[2*n+i], 255})
	}
	return out
}

// fromYCbCr converts a picture and writes the result to dst. The colours of the picture have half
// the resolution of its brightness.
func (f *frame) fromYCbCr(p *stdimage.YCbCr) {
	n := f.size()
	for i := range n {
		y, x := i/f.w, i%f.w
		blue, red := f.chroma(p.Cb, p.CStride, y, x), f.chroma(p.Cr, p.CStride, y, x)
		f.dst[i], f.dst[n+i], f.dst[2*n+i] = color.YCbCrToRGB(p.Y[y*p.YStride+x], blue, red)
	}
}

// chroma interpolates a plane of half the resolution at a pixel with the weights 9:3:3:1, as
// libjpeg does by default. The standard library takes the nearest value instead.
func (f *frame) chroma(c []uint8, stride, y, x int) uint8 {
	rows, columns := (f.h+1)/2, (f.w+1)/2
	far := func(i, n int) int { return nearest(i/2+i%2*2-1, n) }
	y1, x1 := far(y, rows), far(x, columns)
	near := 3*int(c[y/2*stride+x/2]) + int(c[y1*stride+x/2])
	next := 3*int(c[y/2*stride+x1]) + int(c[y1*stride+x1])
	return uint8((3*near + next + 8 - x%2) >> 4)
}
