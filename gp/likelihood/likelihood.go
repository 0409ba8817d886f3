// Package likelihood holds observation models p(y | f; θ): how targets y scatter around the latent
// function f. A [Likelihood] gives the data term of VaLLA's objective as a node of a graph, and the
// log density, its curvature and the predictive distribution as numbers. [Each] makes a Likelihood
// of a [Scalar], a model of one output that consists of a few functions. The table of models, to
// which [Register] adds, gives models their names in files and on the command line.
package likelihood

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Kind is the kind of targets that a model describes.
type Kind string

// The kinds of targets.
const (
	Number  Kind = "number"  // real numbers, one for each output
	Count   Kind = "count"   // whole numbers from 0 on, one for each output
	Binary  Kind = "binary"  // 0 or 1 for each output: no or yes
	Ordered Kind = "ordered" // the number 0, 1, … of an ordered class for each output
	Class   Kind = "class"   // one class of C, as a one-hot row over the C outputs
)

// Likelihood is an observation model. Latent values f have C elements for each example, targets y
// have W·C elements: W numbers of the first output, then of the next. W is 1 for most models.
type Likelihood interface {
	// String returns the name of the model in the table of models.
	String() string
	// Kind returns the kind of the targets.
	Kind() Kind
	// Width returns W, how many numbers the target of one output has.
	Width() int
	// Check returns an error if y [W·C] is no target of an example. The error reads on after "the
	// targets are", such as "-1, expected a whole number from 0 on".
	Check(y []float64) error
	// DataTerm returns the data term ℓ_b of VaLLA's α-objective (Ortega et al. 2024) for
	// a latent f with a mean [B,C] and variances [B,C], and targets y [B,W·C]: [B]. Covariances
	// between the outputs do not count.
	// α lies in [0,1], for softmax in (0,1]. Another α and other shapes, which might broadcast,
	// are errors.
	DataTerm(b *graph.Builder, y, mean, variance *graph.Node, alpha float64) *graph.Node
	// LogDensityNode returns log p(y | f) of each example, [B], from targets y [B,W·C] and f [B,C].
	// Its negative mean is the loss of the training of a network.
	LogDensityNode(b *graph.Builder, y, f *graph.Node) *graph.Node
	// Params returns the trainable parameters θ of the likelihood.
	Params() []*graph.Param
	// Copy returns a likelihood with parameters of its own, of an element type.
	Copy(dt tensor.Dtype) Likelihood

	// LogDensity returns log p(y | f) of one example.
	LogDensity(y, f []float64) float64
	// Gradient writes ∂ log p(y | f)/∂f of one example to dst [C].
	Gradient(dst, y, f []float64)
	// Curvature writes Λ = E[−∂² log p(y | f)/∂f²] for y ~ p(y | f), which does not depend on y and
	// is positive semi-definite, to dst [C,C].
	Curvature(dst, f []float64)
	// Root writes weights w [C] and a mean m [C] with
	//
	//	Λ = Σ_c w_c (e_c − m)(e_c − m)ᵀ,
	//
	// where e_c is the unit vector of output c. The vectors √w_c (e_c − m) are then the
	// rows of an R with Λ = RᵀR, which exists also where Λ is singular.
	Root(w, m, f []float64)
	// LogPredictive returns log ∫ p(y | f) N(f; mean, cov) df of one example, cov [C,C]:
	// exactly for Gaussian noise, by the probit approximation for softmax, and for models of each
	// output by itself as the sum over the outputs, for which only the variances count.
	LogPredictive(y, mean, cov []float64) float64
	// LogMarginal is LogPredictive for outputs without covariances, with the variances [C].
	LogMarginal(y, mean, variance []float64) float64
	// Predict returns the predictive distribution ∫ p(y | f) N(f; mean, variance) df of output c.
	// It is nil for classes of softmax, which have probabilities instead.
	Predict(c int, mean, variance float64) Distribution
}

// LocationScale is a Likelihood of numbers y = f + s·ε, where the law of ε does not depend on f.
// Methods that search the noise choose the scale s and leave the form of ε as it is.
type LocationScale interface {
	Likelihood
	// NoiseVariance returns s². For Gaussian noise s² is the variance σ² of the noise.
	NoiseVariance() float64
	// WithNoise returns a copy in float64 with another s².
	WithNoise(variance float64) Likelihood
}

// NoiseVariance returns the squared scale s² of a [LocationScale] model, σ² of Gaussian noise, and 0
// of any other model.
func NoiseVariance(l Likelihood) float64 {
	if n, ok := l.(LocationScale); ok {
		return n.NoiseVariance()
	}
	return 0
}

// Noisy reports whether l has a noise whose scale a method can choose, see [LocationScale].
func Noisy(l Likelihood) bool {
	_, ok := l.(LocationScale)
	return ok
}

// IsGaussian reports whether l has Gaussian noise of one variance, which closed forms need.
func IsGaussian(l Likelihood) bool {
	_, ok := l.(Gaussian)
	return ok
}

// IsClass reports whether the targets of l are one-hot classes, so that predictions are softmax
// probabilities.
func IsClass(l Likelihood) bool { return l.Kind() == Class }

// WithNoise returns l with the squared scale s² if l is a [LocationScale] model, and any other l as it
// is. With Gaussian noise and s² = 1 the curvature Λ is the identity.
func WithNoise(l Likelihood, variance float64) Likelihood {
	if n, ok := l.(LocationScale); ok {
		return n.WithNoise(variance)
	}
	return l
}

func checkAlpha(b *graph.Builder, alpha float64, low bool) bool {
	if b.Err() == nil && (!low || !(alpha <= 1)) {
		b.Failf("likelihood: α = %g is out of range", alpha)
	}
	return b.Err() == nil
}

// checkShapes refuses what would broadcast to a wrong number.
func checkShapes(b *graph.Builder, y, mean, variance *graph.Node, width int) bool {
	if y == nil || mean == nil || variance == nil {
		b.Failf("likelihood: targets, mean or variance is nil")
		return false
	}
	m := mean.Shape()
	if len(m) != 2 || !slices.Equal(y.Shape(), []int{m[0], width * m[1]}) || !slices.Equal(variance.Shape(), m) {
		b.Failf("likelihood: targets of shape %v, mean %v and variance %v, expected %s, [B,C] and [B,C]",
			y.Shape(), m, variance.Shape(), targetShape(width))
	}
	return b.Err() == nil
}

// targetShape is the shape of targets for messages.
func targetShape(width int) string {
	if width == 1 {
		return "[B,C]"
	}
	return fmt.Sprintf("[B,%d·C]", width)
}

// sumOutputs sums [B,C] over the outputs to [B].
func sumOutputs(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(b.SumAxis(x, 1), x.Shape()[0])
}

// checkPair refuses targets and outputs that would broadcast.
func checkPair(b *graph.Builder, y, f *graph.Node, width int) bool {
	if b.Err() == nil {
		if s := f.Shape(); len(s) != 2 || !slices.Equal(y.Shape(), []int{s[0], width * s[1]}) {
			b.Failf("likelihood: targets of shape %v and outputs %v, expected %s and [B,C]", y.Shape(), s, targetShape(width))
		}
	}
	return b.Err() == nil
}

// realNumber is a part of the models of one real number for each output.
type realNumber struct{}

// Kind implements Likelihood and Scalar.
func (realNumber) Kind() Kind { return Number }

// Width implements Likelihood and Scalar.
func (realNumber) Width() int { return 1 }

// Check implements Likelihood and Scalar: every finite number is a target.
func (realNumber) Check(y []float64) error { return checkFinite(y) }

// checkFinite returns an error if a number of a target is not finite.
func checkFinite(y []float64) error {
	if i, v := kernel.FirstNonFinite(y); i >= 0 {
		return fmt.Errorf("%g, expected a finite number", v)
	}
	return nil
}
