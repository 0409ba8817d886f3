package corrupt

import (
	"math"
	"math/big"
)

// A border returns which of the pixels 0...n-1 replaces pixel i, where i is outside of this range.
type border func(i, n int) int

func nearest(i, n int) int { return min(max(i, 0), n-1) }

// reflect mirrors the pixels and repeats the outermost one: … 1 0 | 0 1 2 … n-1 | n-1 n-2 …
func reflect(i, n int) int {
	if i >= 0 && i < n {
		return i
	}
	i = ((i % (2 * n)) + 2*n) % (2 * n)
	return min(i, 2*n-1-i)
}

// reflect101 mirrors the pixels and does not repeat the outermost one:
// … 2 1 | 0 1 2 … n-1 | n-2 n-3 …
func reflect101(i, n int) int {
	if i >= 0 && i < n {
		return i
	}
	if n == 1 {
		return 0
	}
	i = ((i % (2*n - 2)) + 2*n - 2) % (2*n - 2)
	return min(i, 2*n-2-i)
}

// smooth filters the values x [h,w] with the Gaussian weights k in both directions: first
// along the columns, then along the rows. It does the operations of
// scipy.ndimage.gaussian_filter in the same order. Each sum starts at the pixel itself and
// then goes from the outermost weights inwards.
func smooth(x []float64, h, w int, k []float64, at border) {
	radius := len(k) / 2
	line := make([]float64, max(h, w)+2*radius)
	for c := range w {
		smoothLine(x[c:], h, w, k, line, at)
	}
	for r := range h {
		smoothLine(x[r*w:], w, 1, k, line, at)
	}
}

// smoothLine filters n values of x, which are step apart. line has room for them and the
// border.
func smoothLine(x []float64, n, step int, k, line []float64, at border) {
	radius := len(k) / 2
	for i := range n + 2*radius {
		if inside := i - radius; inside >= 0 && inside < n {
			line[i] = x[inside*step]
		} else {
			line[i] = x[at(inside, n)*step]
		}
	}
	for i := range n {
		part := line[i : i+len(k)]
		sum := part[radius] * k[radius]
		for j := range radius {
			// The conversion keeps the compiler from fusing the two operations.
			sum += float64((part[j] + part[len(k)-1-j]) * k[j])
		}
		x[i*step] = sum
	}
}

// gaussian returns the weights [2·radius+1] of a Gaussian with standard deviation sigma, as
// scipy.ndimage computes them.
func gaussian(sigma float64, radius int) []float64 {
	k := make([]float64, 2*radius+1)
	for i := range radius + 1 {
		d := float64(i)
		k[radius+i] = exp(-0.5 / (sigma * sigma) * (d * d))
		k[radius-i] = k[radius+i]
	}
	return toOne(k)
}

// toOne divides the weights k by their sum.
func toOne(k []float64) []float64 {
	sum := 0.0
	for _, v := range k {
		sum += v
	}
	for i := range k {
		k[i] /= sum
	}
	return k
}

// reach returns the radius, in pixels, of a Gaussian of standard deviation sigma that is cut
// off at some number of standard deviations.
func reach(sigma, deviations float64) int { return int(deviations*sigma + 0.5) }

// exp returns eˣ for x <= 0, correctly rounded. The last digit of a weight decides whether
// white stays 255 or becomes 254 when a sum is cut off to a byte. The last digit of math.Exp
// differs between processors.
func exp(x float64) float64 {
	const bits, halvings, terms = 200, 10, 30 // |x|/2¹⁰ < 1 down to where eˣ is zero
	if x < -1000 {
		return 0
	}
	part := new(big.Float).SetPrec(bits).SetFloat64(math.Ldexp(x, -halvings))
	sum, term := big.NewFloat(1).SetPrec(bits), big.NewFloat(1).SetPrec(bits)
	for n := 1.0; n <= terms; n++ {
		term.Mul(term, part).Quo(term, big.NewFloat(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	out, _ := sum.Float64()
	return out
}
