package corrupt

// cutoff is the number of standard deviations after which a Gaussian is cut off.
const cutoff = 4

// gaussianBlur filters with a Gaussian. The severity sets its standard deviation in pixels.
func gaussianBlur(severity int) effect {
	return blur([5]float64{.4, .6, .7, .8, 1}[severity])
}

// blur filters each channel with a Gaussian of standard deviation sigma, in pixels.
func blur(sigma float64) effect {
	k := gaussian(sigma, reach(sigma, cutoff))
	return onUnit(func(f *frame, x []float64) {
		for c := range channels {
			smooth(plane(f, x, c), f.h, f.w, k, nearest)
		}
	})
}

// glassBlur moves pixels to neighbouring places between two Gaussian blurs. The severity
// sets the standard deviation of the blurs and the number of rounds of moving.
func glassBlur(severity int) effect {
	soften := blur([5]float64{.05, .25, .4, .25, .4}[severity])
	rounds := [5]int{1, 1, 1, 2, 2}[severity]
	return func(f *frame) {
		soften(f)
		for range rounds {
			f.scatter()
		}
		soften(&frame{h: f.h, w: f.w, dst: f.dst, src: f.dst})
	}
}

// scatter gives each pixel of dst, from the last to the third in both directions, its own
// colour or the colour of the pixel to the left, above, or both, all equally likely.
//
// The original loop is meant to swap the two pixels. Because NumPy's slices are views, it
// only overwrites one by the other, and the published images show this.
func (f *frame) scatter() {
	for y := f.h - 1; y > 1; y-- {
		for x := f.w - 1; x > 1; x-- {
			left, up := f.rng.IntN(2), f.rng.IntN(2)
			for c := range channels {
				p := plane(f, f.dst, c)
				p[y*f.w+x] = p[(y-up)*f.w+x-left]
			}
		}
	}
}

// defocusBlur takes the mean over a disk with a softened edge. The severity sets the radius
// of the disk and the standard deviation of the softening.
func defocusBlur(severity int) effect {
	radius := [5]float64{.3, .4, .5, 1, 1.5}[severity]
	soften := [5]float64{.4, .5, .6, .2, .1}[severity]
	k := disk(radius, gaussian(soften, 1))
	return func(f *frame) {
		x, out := f.unit(), make([]float64, len(f.src))
		for c := range channels {
			correlate(plane(f, out, c), plane(f, x, c), f.h, f.w, k)
		}
		f.finish(out)
	}
}

// A patch holds the weights of the pixels around a pixel.
type patch [5][5]float64

// disk returns a disk of a radius below 2, filtered with the three weights of soften in both
// directions. The weights are rounded to float32, as in the original, because the rounding
// decides whether a mean that is a whole number is cut off to the next lower one.
func disk(radius float64, soften []float64) (k patch) {
	n := 0
	for y := -1; y <= 1; y++ {
		for x := -1; x <= 1; x++ {
			if float64(x*x+y*y) > radius*radius {
				continue
			}
			n++
			for i := range 9 {
				k[1+y+i/3][1+x+i%3] += float64(float32(soften[i/3]) * float32(soften[i%3]))
			}
		}
	}
	for y := range k {
		for x := range k {
			k[y][x] = float64(float32(k[y][x] / float64(n)))
		}
	}
	return k
}

// correlate sets each pixel of out [h,w] to the sum, weighted by k, of the pixels of x [h,w]
// around it.
func correlate(out, x []float64, h, w int, k patch) {
	const margin = 2
	wide := w + 2*margin
	around := make([]float64, (h+2*margin)*wide)
	for i := range around {
		around[i] = x[reflect101(i/wide-margin, h)*w+reflect101(i%wide-margin, w)]
	}
	for dy, row := range k {
		for dx, weight := range row {
			if weight == 0 {
				continue
			}
			for y := range h {
				from := around[(y+dy)*wide+dx:]
				for i := range w {
					out[y*w+i] += float64(weight * from[i])
				}
			}
		}
	}
}
