package corrupt

import "slices"

// snow whitens the image and lays flakes over it that fall at an angle. Flakes are the places
// where noise is large. The severity sets the mean and the standard deviation of the noise,
// the magnification of the flakes, the least value that makes a flake, the length and the
// fading of their motion, and the weight of the image that is not whitened.
func snow(severity int) effect {
	mean := [5]float64{.1, .1, .15, .25, .3}[severity]
	deviation := [5]float64{.2, .2, .3, .3, .3}[severity]
	factor := [5]float64{1, 1, 1.75, 2.25, 1.25}[severity]
	least := [5]float64{.6, .5, .55, .6, .65}[severity]
	length := [5]int{8, 10, 10, 12, 14}[severity]
	fade := halfGaussian([5]float64{3, 4, 4, 6, 12}[severity], length)
	keep := [5]float64{.95, .9, .9, .85, .8}[severity]
	return func(f *frame) {
		noise := zoomed(f.normal(f.size(), mean, deviation), f.h, f.w, factor)
		flakes := make([]uint8, len(noise))
		for i, v := range noise {
			if v >= least {
				flakes[i] = quantize(v)
			}
		}
		fallen := make([]uint8, len(flakes))
		motion(fallen, flakes, f.h, f.w, fade, f.uniform(-135, -45))
		f.whiten(keep, fallen)
	}
}

// whiten mixes the image with a brighter, greyer one, in float32, and adds a layer to
// it twice, the second time turned by 180 degrees.
func (f *frame) whiten(keep float64, layer []uint8) {
	n := f.size()
	own, white := float32(keep), float32(1-keep)
	at := func(c, i int) float32 { return float32(f.src[c*n+i]) / 255 }
	for i := range n {
		grey := (.299*at(0, i)+.587*at(1, i)+.114*at(2, i))*1.5 + .5
		for c := range channels {
			v := own*at(c, i) + white*max(at(c, i), grey)
			f.dst[c*n+i] = quantize(float64(v) + float64(layer[i])/255 + float64(layer[n-1-i])/255)
		}
	}
}

// fog adds a cloud and scales the sum so that the brightest value stays in range. The severity
// sets the thickness of the cloud, and the factor by which its smaller details are weaker.
func fog(severity int) effect {
	thick := [5]float64{.2, .5, .75, 1, 1.5}[severity]
	decay := [5]float64{3, 3, 2.5, 2, 1.75}[severity]
	return onUnit(func(f *frame, x []float64) {
		most := slices.Max(x)
		cloud, side := plasma(max(f.h, f.w), decay, f.uniform)
		for i := range x {
			p := i % f.size()
			x[i] = (x[i] + thick*cloud[p/f.w*side+p%f.w]) * most / (most + thick)
		}
	})
}

// plasma returns a random surface [side,side] of values 0 to 1 by the diamond-square algorithm
// (Fournier, Fussell and Carpenter 1982) on a torus. side is the smallest power of two that
// is at least size. The deviations are uniform random numbers, whose range is divided by
// decay whenever the distance of the points is halved.
func plasma(size int, decay float64, uniform func(low, high float64) float64) (x []float64, side int) {
	for side = 2; side < size; side *= 2 {
	}
	x = make([]float64, side*side)
	at := func(y, x0 int) int { return (y&(side-1))*side + x0&(side-1) }
	wobble := 100.0
	for step := side; step >= 2; step /= 2 {
		half := step / 2
		// set sets a point to the mean of four points around it plus a random deviation.
		set := func(y0, x0 int, dy, dx [4]int) {
			for y := y0; y < side; y += step {
				for x1 := x0; x1 < side; x1 += step {
					sum := 0.0
					for k := range 4 {
						sum += x[at(y+dy[k]*half, x1+dx[k]*half)]
					}
					x[at(y, x1)] = sum/4 + wobble*uniform(-wobble, wobble)
				}
			}
		}
		diagonal, straight := [4]int{-1, -1, 1, 1}, [4]int{-1, 1, -1, 1}
		set(half, half, diagonal, straight)
		set(0, half, [4]int{0, -1, 0, 1}, [4]int{-1, 0, 1, 0})
		set(half, 0, [4]int{0, -1, 0, 1}, [4]int{-1, 0, 1, 0})
		wobble /= decay
	}
	normalise(x)
	return x, side
}

// normalise maps the values of x linearly to 0 to 1.
func normalise(x []float64) {
	low, high := slices.Min(x), slices.Max(x)
	for i := range x {
		x[i] = (x[i] - low) / (high - low)
	}
}
