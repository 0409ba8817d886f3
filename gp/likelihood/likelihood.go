// Package likelihood holds observation models: how targets scatter around the latent
// function f. Each gives the data term of VaLLA's objective as a node of a graph, and the
// log density and its curvature as numbers.
package likelihood

import (
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Likelihood is an observation model. Targets y and latent values f have C elements for
// each example; classes are one-hot.
type Likelihood interface {
	// String is "gaussian" or "softmax".
	String() string
	// DataTerm returns the data term ℓ_b of VaLLA's α-objective (Ortega et al. 2024) for
	// a latent f ~ N(mean, cov), [B], from targets y [B,C], mean [B,C] and cov [B,C,C].
	// α lies in [0,1] for a Gaussian and in (0,1] otherwise. Another α and other
	// shapes, which might broadcast, are errors.
	DataTerm(b *graph.Builder, y, mean, cov *graph.Node, alpha float64) *graph.Node
	// Params returns the trainable parameters of the likelihood.
	Params() []*graph.Param
	// Copy returns a likelihood with parameters of its own, of an element type.
	Copy(dt tensor.Dtype) Likelihood

	// LogDensity returns log p(y | f) of one example.
	LogDensity(y, f []float64) float64
	// Gradient writes ∂ log p(y | f)/∂f of one example to dst [C].
	Gradient(dst, y, f []float64)
	// Curvature writes Λ = −∂² log p(y | f)/∂f², which does not depend on y, to dst [C,C].
	Curvature(dst, f []float64)
	// Root writes weights w [C] and a mean m [C] with
	//
	//	Λ = Σ_c w_c (e_c − m)(e_c − m)ᵀ,
	//
	// where e_c is the unit vector of output c. The vectors √w_c (e_c − m) are then the
	// rows of an R with Λ = RᵀR, which exists also where Λ is singular.
	Root(w, m, f []float64)
	// LogPredictive returns log ∫ p(y | f) N(f; mean, cov) df of one example, cov [C,C]:
	// exactly for Gaussian noise, by the probit approximation for classes.
	LogPredictive(y, mean, cov []float64) float64
}

// NoiseVariance returns σ² of a Gaussian likelihood, 0 of another.
func NoiseVariance(l Likelihood) float64 {
	if g, ok := l.(Gaussian); ok {
		return g.Variance()
	}
	return 0
}

// WithNoise returns a Gaussian likelihood with the noise variance σ² in place of a Gaussian l, and
// any other l as it is. With σ² = 1 the curvature Λ is the identity.
func WithNoise(l Likelihood, variance float64) Likelihood {
	if NoiseVariance(l) > 0 {
		return NewGaussian(variance, tensor.Float64)
	}
	return l
}

// Gaussian is y = f + ε with ε ~ N(0, σ²), independent for each output.
type Gaussian struct {
	LogVariance *graph.Param // log σ², shape [1]
}

// NewGaussian returns a Gaussian likelihood with noise variance σ².
func NewGaussian(variance float64, dt tensor.Dtype) Gaussian {
	return Gaussian{LogVariance: graph.NewParam("noise.log_variance", []float64{math.Log(variance)}, dt, 1)}
}

// Variance returns σ².
func (g Gaussian) Variance() float64 { return math.Exp(g.LogVariance.At(0)) }

// Params implements Likelihood.
func (g Gaussian) Params() []*graph.Param { return []*graph.Param{g.LogVariance} }

// DataTerm implements Likelihood:
//
//	α = 1:      log N(y; f, Q + σ²)
//	0 < α < 1:  (1/α) [log N(y; f, Q + σ²/α) + ½ log(2πσ²/α) − (α/2) log(2πσ²)]
//	α = 0:      log N(y; f, σ²) − Q/(2σ²), the evidence lower bound.
//
// It is a sum over the outputs. Of cov only the variances count, unlike in LogPredictive.
func (g Gaussian) DataTerm(b *graph.Builder, y, mean, cov *graph.Node, alpha float64) *graph.Node {
	if !checkAlpha(b, alpha, alpha >= 0) || !checkShapes(b, y, mean, cov) {
		return nil
	}
	logNoise := b.Param(g.LogVariance)
	noise := b.Exp(logNoise)
	q := b.Diag(cov)
	residual := b.Square(b.Sub(y, mean))
	var term *graph.Node
	if alpha == 0 {
		term = b.Sub(logNormal(b, residual, b.BroadcastTo(noise, y.Shape()...)), b.Div(q, b.Scale(noise, 2)))
	} else {
		term = logNormal(b, residual, b.Add(q, b.Scale(noise, 1/alpha)))
		// ½ log(2πσ²/α) − (α/2) log(2πσ²)
		log2pi := math.Log(2 * math.Pi)
		logC := b.Affine(logNoise, 0.5*(1-alpha), 0.5*(1-alpha)*log2pi-0.5*math.Log(alpha))
		term = b.Scale(b.Add(term, logC), 1/alpha)
	}
	return sumOutputs(b, term)
}

// logNormal is log N(y; f, v) for squared residuals (y−f)².
func logNormal(b *graph.Builder, residual, v *graph.Node) *graph.Node {
	quadratic := b.Add(b.Div(residual, v), b.Log(v))
	return b.Affine(quadratic, -0.5, -0.5*math.Log(2*math.Pi))
}

// Softmax is the categorical likelihood; targets are one-hot rows.
type Softmax struct{}

// Params implements Likelihood: there are none.
func (Softmax) Params() []*graph.Param { return nil }

// DataTerm implements Likelihood: (1/α) log softmax(α log softmax(F))_y with the
// probit-scaled logits F of [ProbitLogits].
func (Softmax) DataTerm(b *graph.Builder, y, mean, cov *graph.Node, alpha float64) *graph.Node {
	if !checkAlpha(b, alpha, alpha > 0) || !checkShapes(b, y, mean, cov) {
		return nil
	}
	logp := b.LogSoftmax(ProbitLogits(b, mean, cov))
	if alpha != 1 {
		logp = b.Scale(b.LogSoftmax(b.Scale(logp, alpha)), 1/alpha)
	}
	return sumOutputs(b, b.Mul(y, logp))
}

// ProbitLogits scales logits by their variance, F_c = f_c / √(1 + (π/8) Q_cc), so
// that softmax(F) approximates the mean of softmax(f) under f ~ N(mean, cov)
// (MacKay 1992). mean [B,C], cov [B,C,C] give [B,C].
func ProbitLogits(b *graph.Builder, mean, cov *graph.Node) *graph.Node {
	return b.Div(mean, b.Sqrt(b.Affine(b.Diag(cov), math.Pi/8, 1)))
}

func checkAlpha(b *graph.Builder, alpha float64, low bool) bool {
	if b.Err() == nil && (!low || !(alpha <= 1)) {
		b.Failf("likelihood: α = %g is out of range", alpha)
	}
	return b.Err() == nil
}

// checkShapes refuses what would broadcast to a wrong number.
func checkShapes(b *graph.Builder, y, mean, cov *graph.Node) bool {
	if y == nil || mean == nil || cov == nil {
		b.Failf("likelihood: targets, mean or covariance is nil")
		return false
	}
	m := mean.Shape()
	if len(m) != 2 || !slices.Equal(y.Shape(), m) || !slices.Equal(cov.Shape(), []int{m[0], m[1], m[1]}) {
		b.Failf("likelihood: targets of shape %v, mean %v and covariance %v, expected [B,C], [B,C] and [B,C,C]",
			y.Shape(), m, cov.Shape())
	}
	return b.Err() == nil
}

// sumOutputs sums [B,C] over the outputs to [B].
func sumOutputs(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(b.SumAxis(x, 1), x.Shape()[0])
}
