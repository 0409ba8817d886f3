// Package image transforms images. It turns grey images [N,H,W]; tests of robustness show a
// classifier images of Fashion-MNIST that are turned by 10 to 180 degrees. It normalises the
// colours of images [N,3,H,W].
//
// Pixels are samples at the centres of unit squares, so the centre of an image,
// which rotation keeps in place, lies at row (H-1)/2 and column (W-1)/2: between
// pixels where a side is even. Rows are counted downwards.
package image

import (
	"fmt"
	"math"
)

// pixel is the type of the grey values.
type pixel interface{ uint8 | float32 | float64 }

// Rotate turns each image of images, which is [N,h,w] row-major, counter-clockwise about its
// centre by an angle in degrees, and returns the results. The images keep their size: pixels
// that leave the frame are lost, and pixels that enter it are zero. A value between pixels
// weighs the four pixels around its point, linearly in the row and in the column. Pixels
// outside the image are zero; they darken the pixels at its border.
//
// Angle, centre, direction and treatment of the border equal torchvision's
// transforms.functional.rotate (fill 0, no expansion). Its default takes the nearest pixel
// instead, as the released scripts of the VaLLA paper do. Values are computed in
// float64; values of uint8 are rounded to nearest, halves to even.
//
// Turning by a multiple of 180 degrees, or of a square image by a multiple of 90,
// moves pixels without changing any value.
//
// It returns an error if h or w is not positive, if images is not a whole number of
// images, or if the angle is not finite.
func Rotate[T pixel](images []T, h, w int, degrees float64) ([]T, error) {
	if h < 1 || w < 1 || len(images)%(h*w) != 0 {
		return nil, fmt.Errorf("rotation: %d pixels, expected images of %d×%d pixels", len(images), h, w)
	}
	if math.IsNaN(degrees) || math.IsInf(degrees, 0) {
		return nil, fmt.Errorf("rotation: angle %g, expected a finite number of degrees", degrees)
	}
	out, taps := make([]T, len(images)), frame{h, w}.taps(degrees)
	for at := 0; at < len(images); at += h * w {
		apply(out[at:at+h*w], images[at:at+h*w], taps)
	}
	return out, nil
}

// A tap is the contribution of one pixel of the original to a pixel of the result.
type tap struct {
	from   int     // y·w+x
	weight float64 // of the pixel, from 0 to 1
}

// taps returns the contributions to each of the h·w pixels of a turned image.
func (f frame) taps(degrees float64) [][]tap {
	sin, cos := sincos(degrees)
	cx, cy := float64(f.w-1)/2, float64(f.h-1)/2
	out := make([][]tap, 0, f.h*f.w)
	for y := range f.h {
		for x := range f.w {
			// The pixel comes from the point that is turned back, clockwise.
			dx, dy := float64(x)-cx, float64(y)-cy
			out = append(out, f.bilinear(cx+cos*dx-sin*dy, cy+sin*dx+cos*dy))
		}
	}
	return out
}

// sincos returns sine and cosine, exactly for multiples of 90 degrees. These have no exact
// value in radians.
func sincos(degrees float64) (sin, cos float64) {
	degrees = math.Mod(degrees, 360)
	if degrees < 0 {
		degrees += 360
	}
	switch degrees {
	case 0, 360:
		return 0, 1
	case 90:
		return 1, 0
	case 180:
		return 0, -1
	case 270:
		return -1, 0
	}
	return math.Sincos(degrees * (math.Pi / 180))
}

// A frame is the size of an image.
type frame struct {
	h, w int // height and width in pixels
}

func (f frame) bilinear(x, y float64) (taps []tap) {
	left, top := math.Floor(x), math.Floor(y)
	right, bottom := x-left, y-top // the weights of the pixels there
	taps = f.add(taps, left, top, (1-right)*(1-bottom))
	taps = f.add(taps, left+1, top, right*(1-bottom))
	taps = f.add(taps, left, top+1, (1-right)*bottom)
	return f.add(taps, left+1, top+1, right*bottom)
}

// add appends the pixel at the whole numbers x, y unless it is outside the frame or its
// weight is zero.
func (f frame) add(taps []tap, x, y, weight float64) []tap {
	if x < 0 || y < 0 || x >= float64(f.w) || y >= float64(f.h) || weight == 0 {
		return taps
	}
	return append(taps, tap{from: int(y)*f.w + int(x), weight: weight})
}

// apply computes the image dst from src: each pixel is the weighted sum of its taps.
func apply[T pixel](dst, src []T, taps [][]tap) {
	whole := T(1)/T(2) == 0
	for i, pixel := range taps {
		v := 0.0
		for _, t := range pixel {
			v += t.weight * float64(src[t.from])
		}
		if whole {
			v = math.RoundToEven(v)
		}
		dst[i] = T(v)
	}
}
