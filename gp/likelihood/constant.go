package likelihood

// Constant returns the output f that is the same for all targets y [N·W] of one output and has the largest mean log density, and this
// mean. Of a model whose log density is not concave, f is a stationary point.
func Constant(s Scalar, y []float64) (f, mean float64) {
	given, w := s.Given(), s.Width()
	slope := func(f float64) (sum float64) {
		for i := 0; i < len(y); i += w {
			sum += given.Slope(y[i:i+w], f)
		}
		return sum
	}
	low, high := 0.0, 0.0
	if slope(0) > 0 {
		for high = 1; high < farthest && slope(high) > 0; high *= 2 {
			low = high
		}
	} else {
		for low = -1; low > -farthest && slope(low) < 0; low *= 2 {
			high = low
		}
	}
	for range 60 {
		if f = low + (high-low)/2; slope(f) > 0 {
			low = f
		} else {
			high = f
		}
	}
	for i := 0; i < len(y); i += w {
		mean += given.LogDensity(y[i:i+w], f)
	}
	return f, mean * float64(w) / float64(len(y))
}

// farthest bounds the search of Constant, for targets whose best output is infinite.
const farthest = 1e18
