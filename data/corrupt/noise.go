package corrupt

import "gonum.org/v1/gonum/stat/distuv"

// gaussianNoise adds Gaussian noise. The severity sets its standard deviation.
func gaussianNoise(severity int) effect {
	deviation := [5]float64{.04, .06, .08, .09, .10}[severity]
	return onValues(func(f *frame, v float64) float64 { return v + deviation*f.rng.NormFloat64() })
}

// shotNoise counts photons. The severity sets how many photons make full brightness; fewer
// photons mean more noise.
func shotNoise(severity int) effect {
	photons := [5]float64{500, 250, 100, 75, 50}[severity]
	return onValues(func(f *frame, v float64) float64 {
		if v == 0 {
			return 0
		}
		return distuv.Poisson{Lambda: v * photons, Src: f.rng}.Rand() / photons
	})
}

// impulseNoise sets values to 0 or to 255, with equal probability. The severity sets the
// fraction of the values that are changed. The three values of a pixel are independent.
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

// speckleNoise multiplies values by Gaussian factors of mean 1. The severity sets their
// standard deviation.
func speckleNoise(severity int) effect {
	deviation := [5]float64{.06, .1, .12, .16, .2}[severity]
	return onValues(func(f *frame, v float64) float64 { return v + v*deviation*f.rng.NormFloat64() })
}
