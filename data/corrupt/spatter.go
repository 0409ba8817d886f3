package corrupt

import "math"

// spatter lays drops of water (severities 1 to 3) or of mud (4 and 5) over the image. Drops
// are the places where smoothed noise is large. The severity sets the mean and the standard
// deviation of the noise, the standard deviation of the Gaussian that smooths it, the least
// value that makes a drop, and the strength of water or the smoothing of mud.
func spatter(severity int) effect {
	mean := [5]float64{.62, .65, .65, .65, .65}[severity]
	deviation := [5]float64{.1, .1, .3, .1, .1}[severity]
	sigma := [5]float64{.7, .8, 1, .7, .5}[severity]
	least := [5]float64{.7, .7, .69, .69, .68}[severity]
	last := [5]float64{.5, .5, .5, .6, .6}[severity]
	k, mud := gaussian(sigma, reach(sigma, cutoff)), gaussian(last, reach(last, cutoff))
	return onUnit(func(f *frame, x []float64) {
		liquid := f.normal(f.size(), mean, deviation)
		smooth(liquid, f.h, f.w, k, nearest)
		for i, v := range liquid {
			if v < least {
				liquid[i] = 0
			}
		}
		if severity < 3 {
			f.water(x, liquid, last)
		} else {
			f.mud(x, liquid, mud)
		}
	})
}

// water adds pale turquoise to x where the liquid is thick and its relief is bright.
func (f *frame) water(x, liquid []float64, strength float64) {
	thick := make([]uint8, len(liquid))
	for i, v := range liquid {
		thick[i] = uint8(v * 255)
	}
	rim := relief(thick, f.h, f.w)
	most := 0.0
	for i, v := range rim {
		liquid[i] = float64(thick[i]) * float64(v)
		most = max(most, liquid[i])
	}
	if most > 0 { // otherwise there is no drop
		f.mix(x, [channels]float64{175. / 255, 238. / 255, 238. / 255}, func(i int) (float64, float64) {
			return 1, liquid[i] / most * strength
		})
	}
}

// mud covers x with brown where enough of the surroundings is liquid.
func (f *frame) mud(x, liquid, k []float64) {
	for i, v := range liquid {
		if v > 0 {
			liquid[i] = 1
		}
	}
	smooth(liquid, f.h, f.w, k, nearest)
	f.mix(x, [channels]float64{63. / 255, 42. / 255, 20. / 255}, func(i int) (float64, float64) {
		if liquid[i] < .8 {
			return 1, 0
		}
		return 1 - liquid[i], liquid[i]
	})
}

// mix replaces each pixel of x by a sum of itself and a colour, with the weights own and
// other that weights returns for the pixel.
func (f *frame) mix(x []float64, colour [channels]float64, weights func(i int) (own, other float64)) {
	for i := range f.size() {
		own, other := weights(i)
		for c := range channels {
			x[c*f.size()+i] = own*x[c*f.size()+i] + other*colour[c]
		}
	}
}

// relief returns the brightness of the liquid that follows from its shape: the distances to
// the nearest edge, up to 20, are equalised and lit from one side. The steps are OpenCV's
// Canny, distanceTransform (5×5), threshold, blur, equalizeHist, filter2D and blur.
func relief(thick []uint8, h, w int) []uint8 {
	far := distances(edges(thick, h, w, 50, 150), h, w)
	for i, d := range far {
		far[i] = min(d, 20)
	}
	out := make([]uint8, len(far))
	for i := range out {
		out[i] = uint8(weighed(far, i, h, w, even) / 9)
	}
	equalize(out)
	lit := make([]float64, len(out))
	for i := range lit {
		lit[i] = min(max(weighed(out, i, h, w, slopes), 0), 255)
	}
	for i := range out {
		out[i] = uint8(math.RoundToEven(weighed(lit, i, h, w, even) / 9))
	}
	return out
}

// Weights of 3×3 values: even ones, and others with which slopes to the bottom right are bright.
var (
	even   = [3][3]float64{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}
	slopes = [3][3]float64{{-2, -1, 0}, {-1, 1, 1}, {0, 1, 2}}
)

// weighed returns the weighted sum of the 3×3 values around element i of x [h,w].
func weighed[T uint8 | float64](x []T, i, h, w int, weights [3][3]float64) (sum float64) {
	for dy, row := range weights {
		for dx, weight := range row {
			sum += weight * float64(x[reflect101(i/w+dy-1, h)*w+reflect101(i%w+dx-1, w)])
		}
	}
	return sum
}

// equalize spreads the values so that their distribution becomes even.
func equalize(x []uint8) {
	var count [256]int
	for _, v := range x {
		count[v]++
	}
	first := 0
	for count[first] == 0 {
		first++
	}
	if count[first] == len(x) {
		return
	}
	var level [256]uint8
	scale := 255 / float32(len(x)-count[first])
	below := 0
	for v := first + 1; v < 256; v++ {
		below += count[v]
		level[v] = uint8(math.RoundToEven(float64(float32(below) * scale)))
	}
	for i, v := range x {
		x[i] = level[v]
	}
}
