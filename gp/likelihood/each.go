package likelihood

import (
	"fmt"

	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Scalar is an observation model of one output. A network with several outputs has the model for
// each output by itself, see [Each]. What a Scalar does not give follows by quadrature over f; a
// Scalar with closed forms implements [Objective] or [Predictive], and a Scalar of the form
// y = f + s·ε implements [ScalarNoise].
type Scalar interface {
	// String, Kind and Width are those of the Likelihood.
	String() string
	Kind() Kind
	Width() int
	// Check returns an error, see Likelihood, if y [W] is no target.
	Check(y []float64) error
	// Params returns the trainable parameters θ. Their shapes have one axis.
	Params() []*graph.Param
	// Copy returns a model with parameters of its own, of an element type.
	Copy(dt tensor.Dtype) Scalar
	// Node returns log p(y | f) of each element, from the W parts of the targets, each of the shape of f.
	Node(b *graph.Builder, y []*graph.Node, f *graph.Node) *graph.Node
	// Given returns p(y | f) as numbers for the present parameters.
	Given() Conditional
}

// Conditional is p(y | f) of one output for known parameters.
type Conditional interface {
	LogDensity(y []float64, f float64) float64 // log p(y | f) of the target y [W]
	Slope(y []float64, f float64) float64      // ∂ log p(y | f)/∂f
	Curvature(f float64) float64               // Λ(f) = E[−∂² log p(y | f)/∂f²] ≥ 0 for y ~ p(y | f)
	Mean(f float64) float64                    // E[y | f]
	Variance(f float64) float64                // Var[y | f], +Inf where there is none
	CDF(y, f float64) float64                  // P(Y ≤ y | f)
}

// Objective is implemented by a Scalar with a closed form of the data term.
type Objective interface {
	// Objective returns (1/α) log E[p(y | f)^α], for α = 0 E[log p(y | f)], of each element for
	// f ~ N(mean, q). The parts of y, mean and q have one shape. Without a closed form for alpha
	// Objective returns nil.
	Objective(b *graph.Builder, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node
}

// Predictive is implemented by a Scalar with a closed form of the predictive distribution.
type Predictive interface {
	// Predict returns the distribution of y for f ~ N(mean, q).
	Predict(mean, q float64) Distribution
}

// LogPredictive is implemented by a Scalar with a closed form of the predictive density.
type LogPredictive interface {
	// LogPredictive returns log ∫ p(y | f) N(f; mean, q) df of the target y [W].
	LogPredictive(y []float64, mean, q float64) float64
}

// ScalarNoise is implemented by a Scalar y = f + s·ε, see [LocationScale].
type ScalarNoise interface {
	NoiseVariance() float64            // s²
	WithNoise(variance float64) Scalar // a copy in float64 with another s²
}

// Each returns the likelihood that has the model s for each output by itself: given f the targets are
// independent.
func Each(s Scalar) Likelihood {
	if n, ok := s.(ScalarNoise); ok {
		return eachNoisy{each{s}, n}
	}
	return each{s}
}

// Of returns the model of one output of a likelihood that [Each] made, and whether it is one.
func Of(l Likelihood) (Scalar, bool) {
	switch e := l.(type) {
	case each:
		return e.Scalar, true
	case eachNoisy:
		return e.Scalar, true
	}
	return nil, false
}

// each is a Scalar for each output.
type each struct{ Scalar }

// eachNoisy is an each that is a LocationScale.
type eachNoisy struct {
	each
	noise ScalarNoise // the same Scalar
}

// NoiseVariance implements LocationScale.
func (e eachNoisy) NoiseVariance() float64 { return e.noise.NoiseVariance() }

// WithNoise implements LocationScale.
func (e eachNoisy) WithNoise(variance float64) Likelihood { return Each(e.noise.WithNoise(variance)) }

// Copy implements Likelihood.
func (e each) Copy(dt tensor.Dtype) Likelihood { return Each(e.Scalar.Copy(dt)) }

// Check implements Likelihood.
func (e each) Check(y []float64) error {
	w := e.Width()
	for c := range len(y) / w {
		err := e.Scalar.Check(y[c*w : (c+1)*w])
		if err != nil && len(y) > w {
			err = fmt.Errorf("%v: output %d (counting from 0) has %w", y, c, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DataTerm implements Likelihood: the sum over the outputs of the closed form, or of the quadrature.
func (e each) DataTerm(b *graph.Builder, y, mean, variance *graph.Node, alpha float64) *graph.Node {
	if !checkAlpha(b, alpha, alpha >= 0) || !checkShapes(b, y, mean, variance, e.Width()) {
		return nil
	}
	return sumOutputs(b, term(b, e.Scalar, e.parts(b, y), mean, variance, alpha))
}

// term is the data term of each element: the closed form, or the quadrature.
func term(b *graph.Builder, s Scalar, y []*graph.Node, mean, q *graph.Node, alpha float64) *graph.Node {
	if o, ok := s.(Objective); ok {
		if t := o.Objective(b, y, mean, q, alpha); t != nil {
			return t
		}
	}
	return quadratureTerm(b, s, y, mean, q, alpha)
}

// LogDensityNode implements Likelihood.
func (e each) LogDensityNode(b *graph.Builder, y, f *graph.Node) *graph.Node {
	if !checkPair(b, y, f, e.Width()) {
		return nil
	}
	return sumOutputs(b, e.Node(b, e.parts(b, y), f))
}

// parts returns the W parts [B,C] of targets [B,W·C].
func (e each) parts(b *graph.Builder, y *graph.Node) []*graph.Node {
	w := e.Width()
	if w == 1 {
		return []*graph.Node{y}
	}
	out := make([]*graph.Node, w)
	for i := range out {
		out[i] = b.Every(b.Slice(y, 1, i, y.Shape()[1]), 1, w)
	}
	return out
}

// LogDensity implements Likelihood.
func (e each) LogDensity(y, f []float64) float64 {
	sum, w, given := 0.0, e.Width(), e.Given()
	for c, v := range f {
		sum += given.LogDensity(y[c*w:(c+1)*w], v)
	}
	return sum
}

// Gradient implements Likelihood.
func (e each) Gradient(dst, y, f []float64) {
	w, given := e.Width(), e.Given()
	for c, v := range f {
		dst[c] = given.Slope(y[c*w:(c+1)*w], v)
	}
}

// Curvature implements Likelihood: a diagonal matrix.
func (e each) Curvature(dst, f []float64) {
	clear(dst)
	given := e.Given()
	for c, v := range f {
		dst[c*len(f)+c] = given.Curvature(v)
	}
}

// Root implements Likelihood: w is the diagonal of Λ and m is 0.
func (e each) Root(w, m, f []float64) {
	clear(m[:len(f)])
	given := e.Given()
	for c, v := range f {
		w[c] = given.Curvature(v)
	}
}

// LogPredictive implements Likelihood.
func (e each) LogPredictive(y, mean, cov []float64) float64 { return e.logs(y, mean, cov, len(mean)+1) }

// LogMarginal implements Likelihood.
func (e each) LogMarginal(y, mean, variance []float64) float64 { return e.logs(y, mean, variance, 1) }

// logs returns the sum over the outputs. Each step-th number of v is a variance.
func (e each) logs(y, mean, v []float64, step int) float64 {
	sum, w := 0.0, e.Width()
	for c, m := range mean {
		sum += logPredictive(e.Scalar, y[c*w:(c+1)*w], m, v[c*step])
	}
	return sum
}

// Predict implements Likelihood.
func (e each) Predict(_ int, mean, variance float64) Distribution {
	return predict(e.Scalar, mean, variance)
}

// predict is the predictive distribution of one output: the closed form, or the quadrature.
func predict(s Scalar, mean, variance float64) Distribution {
	if p, ok := s.(Predictive); ok {
		return p.Predict(mean, variance)
	}
	return newMixed(s, mean, variance)
}
