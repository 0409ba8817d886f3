package laplace

import "math"

// A variance is the variance of the prior less what the data take away. Where less than this share
// is left, given the outputs before, rounding may show in the twelfth digit: with 10⁻⁶ variances of
// the toy fixture were wrong by 5·10⁻¹⁰ of themselves.
const kept = 1e-4

// rounding says how products with rows R̃ in float32 are to be computed, and which share of a variance must be left.
//
// An error δ of the products J̃*R̃ᵀ changes a variance by 2Aδᵀ, with the row A = J̃*R̃ᵀ(G + sI)⁻¹. Errors of products in float32
// are about 2⁻²⁴‖J̃*‖‖R̃_i‖, and nearly independent: with ε = 2⁻²⁴ some variances of TestRounding were wrong by 1.1 times the
// bound below. With ε = 2⁻²², which leaves room, the share of the prior's variance ‖J̃*‖² that is left has an error of at most
//
//	2ε √(Σ_i A_i² G_ii) / ‖J̃*‖.
//
// A is no longer than ‖J̃*‖/(2√s), so that no error is larger than ε √(max G_ii / s).
type rounding struct {
	precise bool      // products are in float64
	share   float64   // which suffices for all variances
	squares []float64 // G_ii [n], nil where products are in float64
}

const (
	singleEpsilon  = 0x1p-22
	singleAccuracy = 4e-4 // of the variance that is left
	// mostShare is a choice: with a larger share many variances would have to be computed from residuals, which takes
	// another product with all rows, in float64. Of GP-subset on ResNet-20 the shares that are left are .001 to .1.
	mostShare = 0.1
)

// roundingOf returns the rounding for G and s.
func (f *functionSpace) roundingOf(g gram, s float64) rounding {
	share := singleEpsilon / singleAccuracy * math.Sqrt(g.largest()/s)
	if !f.rows.single() || share > mostShare {
		return rounding{precise: true}
	}
	r := rounding{share: share, squares: make([]float64, g.n)}
	for i := range r.squares {
		r.squares[i] = g.a[i*g.n+i]
	}
	return r
}

// shareOf is the share for an example with the rows A [C,n], whose prior has the variances ‖J̃*‖² [C].
func (r rounding) shareOf(a, prior []float64) (share float64) {
	n := len(r.squares)
	if n == 0 {
		return 0
	}
	for c, v := range prior {
		sum := 0.0
		for i, w := range a[c*n : (c+1)*n] {
			sum += w * w * r.squares[i]
		}
		share = max(share, 2*singleEpsilon/singleAccuracy*math.Sqrt(sum/v))
	}
	return share
}
