package corrupt

import "math"

// motionBlur draws pixels out to lines at a random angle, which fade like half a Gaussian.
// The severity sets the length of a line and the standard deviation of the Gaussian, both in
// pixels.
func motionBlur(severity int) effect {
	length := [5]int{6, 6, 6, 8, 9}[severity]
	fade := halfGaussian([5]float64{1, 1.5, 2, 2, 2.5}[severity], length)
	return func(f *frame) {
		angle := f.uniform(-45, 45)
		for c := range channels {
			motion(plane(f, f.dst, c), plane(f, f.src, c), f.h, f.w, fade, angle)
		}
	}
}

// motion draws out the pixels of src at an angle in degrees and writes the result to dst; both
// are [h,w]. A pixel becomes a weighted sum of pixels, each one step further away: to the
// right at 0 degrees and downwards at 90. The steps are rounded to whole pixels. A pixel
// outside the image has the value of the nearest one inside. This is MagickMotionBlurImage
// of ImageMagick 6, which made the published set. Its sums are rounded to 16 bits and then
// cut off to 8.
func motion(dst, src []uint8, h, w int, fade []float64, angle float64) {
	sin, cos := math.Sincos(angle * math.Pi / 180)
	type step struct {
		dy, dx int // rows and columns
	}
	steps := make([]step, len(fade))
	for k := range steps {
		steps[k] = step{int(math.Ceil(float64(k)*sin - 0.5)), int(math.Ceil(float64(k)*cos - 0.5))}
	}
	for i := range dst {
		y, x, sum := i/w, i%w, 0.0
		for k, s := range steps {
			sum += float64(fade[k] * float64(src[nearest(y+s.dy, h)*w+nearest(x+s.dx, w)]))
		}
		dst[i] = uint8(int(257*sum+0.5) / 257)
	}
}

// halfGaussian returns the weights of half a Gaussian for the distances 0 to 2·radius, which
// is the width that ImageMagick gives a kernel.
func halfGaussian(sigma float64, radius int) []float64 {
	k := make([]float64, 2*radius+1)
	for i := range k {
		k[i] = math.Exp(-float64(i*i) / (2 * sigma * sigma))
	}
	return toOne(k)
}
