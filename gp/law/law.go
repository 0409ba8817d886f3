// Package law fits the distribution of standardised residuals. For one target, a posterior gives the mean g and
// the variance V of each row. The residual of a row is z = (y − g)/√V. A [Law] says y = g + √V·e^{h(x)}·Z, where Z
// has mean 0, so the mean of the target stays g. [Fit] estimates Z and h from held-out rows, and returns the Gaussian
// if there are few.
package law

import (
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/internal/strictjson"
)

// The families of a [Law].
const (
	Gaussian = "gaussian"  // Z is a Gaussian
	StudentT = "student-t" // Z is a multiple of Student's t, or of a t of two pieces with different widths
	Mixture  = "mixture"   // Z is a mixture of shifted Gaussians with mean 0
)

// MinDoF is the smallest number of degrees of freedom of a law. The variance of Student's t is finite above 2.
const MinDoF = 2.1

// MaxParts is the largest number of Gaussians in a mixture.
const MaxParts = 6

// Law is the distribution of a target y = g + √V·e^{h(x)}·Z with E Z = 0. All methods take and return values in the
// units of Z, so a value z means (y − g)/(√V·e^{h(x)}), and the log density of y is LogDensity(z) − h(x) − ½ log V.
// The methods do not allocate, and several goroutines may call them at the same time. A Law from JSON has passed
// [Law.Check].
type Law struct {
	Family  string    `json:"family"`            // Gaussian, StudentT or Mixture
	DoF     float64   `json:"dof,omitempty"`     // degrees of freedom ν of Student's t, at least MinDoF
	Scale   float64   `json:"scale,omitempty"`   // Z is Scale times a standard Gaussian, a standard t, or a shifted t of two pieces
	Skew    float64   `json:"skew,omitempty"`    // κ: a t is e^−κ times as wide below a point, and e^κ times as wide above it
	Weights []float64 `json:"weights,omitempty"` // weights w of the parts of a mixture, Σ w = 1
	Shifts  []float64 `json:"shifts,omitempty"`  // means δ of the parts, Σ wδ = 0
	Scales  []float64 `json:"scales,omitempty"`  // standard deviations of the parts
	Own     *OwnScale `json:"own,omitempty"`     // h(x); nil if h is 0

	memo *memo // variance and quantiles, see Remembering; nil: none are remembered
}

// Normal returns the law of a standard Gaussian Z, which is the law of a posterior without a fit.
func Normal() Law { return Law{Family: Gaussian, Scale: 1} }

// UnmarshalJSON reads a law, and refuses unknown fields and a law that [Law.Check] refuses.
func (l *Law) UnmarshalJSON(text []byte) error {
	type plain Law
	var p plain
	if err := strictjson.Decode(text, &p); err != nil {
		return err
	}
	read := Law(p)
	if err := read.Check(); err != nil {
		return err
	}
	*l = read
	return nil
}

// String names the law for people: its family, and whether rows have scales of their own.
func (l Law) String() string {
	if l.Own != nil {
		return l.Family + " with own scale"
	}
	return l.Family
}

// LogDensity returns the log density of Z at z.
func (l *Law) LogDensity(z float64) float64 {
	if l.Family == Mixture {
		return l.parts().logDensity(z)
	}
	return l.student().logDensity(z)
}

// CDF returns the probability that Z is at most z.
func (l *Law) CDF(z float64) float64 { return l.tail(z, false) }

// Survival returns the probability that Z is larger than z, without the loss of digits of 1 − CDF(z).
func (l *Law) Survival(z float64) float64 { return l.tail(z, true) }

// Mean returns the mean of Z, 0.
func (l *Law) Mean() float64 { return 0 }

// Variance returns the variance of Z.
func (l *Law) Variance() float64 {
	switch {
	case l.memo != nil:
		return l.memo.variance
	case l.Family == Mixture:
		return l.parts().variance()
	}
	return l.student().variance()
}

// Draw returns a draw of Z.
func (l *Law) Draw(rng *rand.Rand) float64 {
	if l.Family == Mixture {
		return l.parts().draw(rng)
	}
	return l.student().draw(rng)
}

// CRPS returns the continuous ranked probability score ∫ (CDF(t) − 1{t ≥ z})² dt of the value z. The score of y is
// √V·e^{h(x)} times the result.
func (l *Law) CRPS(z float64) float64 {
	if l.Family == Mixture {
		return l.parts().crps(z)
	}
	return l.student().crps(z)
}

// tail returns P(Z > z) if upper is set, and P(Z ≤ z) otherwise.
func (l *Law) tail(z float64, upper bool) float64 {
	if l.Family == Mixture {
		return l.parts().tail(z, upper)
	}
	return l.student().tail(z, upper)
}

// parts returns the Gaussians of a mixture.
func (l *Law) parts() mixture { return mixture{l.Weights, l.Shifts, l.Scales} }

// student returns Student's t of the law. The Gaussian has an infinite number of degrees of freedom.
func (l *Law) student() student {
	if l.Family == Gaussian {
		return student{dof: math.Inf(1), scale: l.Scale}
	}
	return student{l.DoF, l.Scale, l.Skew}
}
