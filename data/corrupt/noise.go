package corrupt

import "gonum.org/v1/gonum/stat/distuv"

// gaussianNoise: the standard deviation.
func gaussianNoise(severity int) effect {
	deviation := [5]float64{.04, .06, .08, .09, .10}[severity]
	return func(f *frame) {
		x := f.unit()
		for i := range x {
			x[i] += deviation * f.rng.NormFloat64()
		}
		f.finish(x)
	}
}

// shotNoise: how many photons make full brightness. The fewer, the noisier.
func shotNoise(severity int) effect {
	photons := [5]float64{500, 250, 100, 75, 50}[severity]
	return func(f *frame) {
		x := f.unit()
		for i, v := range x {
			if v > 0 {
				x[i] = distuv.Poisson{Lambda: v * photons, Src: f.rng}.Rand() / photons
			}
		}
		f.finish(x)
	}
}

// impulseNoise: the fraction of the values that becomes 0 or 255, as many each. The
// three values of a pixel are on their own.
func impulseNoise(severity int) effect {
	amount := [5]float64{.01, .02, .03, .05, .07}[severity]
	return func(f *frame) {
		copy(f.dst, f.src)
		for i := range f.dst {
			switch u := f.rng.Float64(); {
			case u < amount/2:
				f.dst[i] = 0
			case u < amount:
				f.dst[i] = 255
			}
		}
	}
}

// speckleNoise: the standard deviation of the factor around 1.
func speckleNoise(severity int) effect {
	deviation := [5]float64{.06, .1, .12, .16, .2}[severity]
	return func(f *frame) {
		x := f.unit()
		for i, v := range x {
			x[i] += v * deviation * f.rng.NormFloat64()
		}
		f.finish(x)
	}
}
