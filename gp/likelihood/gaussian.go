package likelihood

import (
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Gaussian is y = f + ε with ε ~ N(0, σ²), independent for each output.
type Gaussian struct {
	realNumber
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
// It is a sum over the outputs, for which Q has the variances alone, unlike in LogPredictive.
func (g Gaussian) DataTerm(b *graph.Builder, y, mean, variance *graph.Node, alpha float64) *graph.Node {
	if !checkAlpha(b, alpha, alpha >= 0) || !checkShapes(b, y, mean, variance, 1) {
		return nil
	}
	logNoise := b.Param(g.LogVariance)
	noise := b.Exp(logNoise)
	residual := b.Square(b.Sub(y, mean))
	var term *graph.Node
	if alpha == 0 {
		term = b.Sub(logNormal(b, residual, b.BroadcastTo(noise, y.Shape()...)), b.Div(variance, b.Scale(noise, 2)))
	} else {
		term = logNormal(b, residual, b.Add(variance, b.Scale(noise, 1/alpha)))
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

// String implements Likelihood.
func (Gaussian) String() string { return "gaussian" }

// Copy implements Likelihood.
func (g Gaussian) Copy(dt tensor.Dtype) Likelihood {
	return Gaussian{LogVariance: g.LogVariance.Copy(dt)}
}

// LogDensity implements Likelihood: log N(y; f, σ²) summed over the outputs.
func (g Gaussian) LogDensity(y, f []float64) float64 {
	sum, variance := 0.0, g.Variance()
	for i := range y {
		sum += (y[i] - f[i]) * (y[i] - f[i])
	}
	return -0.5*sum/variance - 0.5*float64(len(y))*math.Log(2*math.Pi*variance)
}

// Gradient implements Likelihood: (y − f)/σ².
func (g Gaussian) Gradient(dst, y, f []float64) {
	kernel.Sub(dst, y, f)
	kernel.Scale(dst, 1/g.Variance(), dst)
}

// Curvature implements Likelihood: I/σ².
func (g Gaussian) Curvature(dst, f []float64) {
	clear(dst)
	for i := range f {
		dst[i*len(f)+i] = 1 / g.Variance()
	}
}

// Root implements Likelihood: w is 1/σ² and m is 0.
func (g Gaussian) Root(w, m, f []float64) {
	clear(m[:len(f)])
	for i := range f {
		w[i] = 1 / g.Variance()
	}
}

// LogPredictive implements Likelihood: log N(y; mean, cov + σ²I), −∞ where that is no
// density.
func (g Gaussian) LogPredictive(y, mean, cov []float64) float64 {
	c := len(y)
	root, r := append([]float64(nil), cov...), make([]float64, c)
	for i := range c {
		root[i*c+i] += g.Variance()
		r[i] = y[i] - mean[i]
	}
	if kernel.Cholesky(c, root, c) >= 0 {
		return math.Inf(-1)
	}
	kernel.Trsm(false, false, c, 1, root, c, r, 1)
	out := -0.5*kernel.Dot(r, r) - 0.5*float64(c)*math.Log(2*math.Pi)
	for i := range c {
		out -= math.Log(root[i*c+i])
	}
	return out
}

// LogMarginal implements Likelihood: Σ_c log N(y_c; mean_c, variance_c + σ²), −∞ where that is no density.
func (g Gaussian) LogMarginal(y, mean, variance []float64) float64 {
	out := -0.5 * float64(len(y)) * math.Log(2*math.Pi)
	for c, v := range variance {
		if v += g.Variance(); !(v > 0) {
			return math.Inf(-1)
		}
		r := y[c] - mean[c]
		out -= 0.5 * (math.Log(v) + r*r/v)
	}
	return out
}

// NoiseVariance implements LocationScale: σ².
func (g Gaussian) NoiseVariance() float64 { return g.Variance() }

// WithNoise implements LocationScale.
func (Gaussian) WithNoise(variance float64) Likelihood { return NewGaussian(variance, tensor.Float64) }

// LogDensityNode implements Likelihood.
func (g Gaussian) LogDensityNode(b *graph.Builder, y, f *graph.Node) *graph.Node {
	if !checkPair(b, y, f, 1) {
		return nil
	}
	noise := b.BroadcastTo(b.Exp(b.Param(g.LogVariance)), y.Shape()...)
	return sumOutputs(b, logNormal(b, b.Square(b.Sub(y, f)), noise))
}

// Predict implements Likelihood: N(mean, variance + σ²).
func (g Gaussian) Predict(_ int, mean, variance float64) Distribution {
	return Normal{Mu: mean, Sigma: math.Sqrt(variance + g.Variance())}
}
