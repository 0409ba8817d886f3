package corrupt

import "math/rand/v2"

// A frame is one image on its way from src to dst, both [3,h,w].
type frame struct {
	h, w     int        // height and width in pixels
	dst, src []uint8    // [3,h,w], the result and the image
	rng      *rand.Rand // the random numbers of the image
}

// unit returns src as values of 0 to 1, [3,h,w].
func (f *frame) unit() []float64 {
	x := make([]float64, len(f.src))
	for i, v := range f.src {
		x[i] = float64(v) / 255
	}
	return x
}

// finish converts the values x, which are 0 to 1, to bytes and writes them to dst. Values
// outside of that range are clipped. Fractions of a byte are cut off.
func (f *frame) finish(x []float64) {
	for i, v := range x {
		f.dst[i] = quantize(v)
	}
}

func quantize(v float64) uint8 { return uint8(min(max(v, 0), 1) * 255) }

// size returns the number of pixels of a channel.
func (f *frame) size() int { return f.h * f.w }

// plane returns channel c of x, which is [3,h,w].
func plane[T any](f *frame, x []T, c int) []T { return x[c*f.size() : (c+1)*f.size()] }

// normal returns n Gaussian random numbers with a mean and a standard deviation.
func (f *frame) normal(n int, mean, deviation float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + deviation*f.rng.NormFloat64()
	}
	return x
}

// uniform returns a uniform random number between low and high.
func (f *frame) uniform(low, high float64) float64 { return low + (high-low)*f.rng.Float64() }
