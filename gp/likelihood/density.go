package likelihood

import (
	"math"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// String implements Likelihood.
func (Gaussian) String() string { return "gaussian" }

// Copy implements Likelihood.
func (g Gaussian) Copy(dt tensor.Dtype) Likelihood {
	c := NewGaussian(1, dt)
	c.LogVariance.Set(0, g.LogVariance.At(0))
	return c
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

// String implements Likelihood.
func (Softmax) String() string { return "softmax" }

// Copy implements Likelihood.
func (s Softmax) Copy(tensor.Dtype) Likelihood { return s }

// LogDensity implements Likelihood: log kernel.Softmax(f)_c for y one-hot of class c.
func (Softmax) LogDensity(y, f []float64) float64 {
	return kernel.Dot(y, f) - LogSumExp(f)
}

// Gradient implements Likelihood: y − kernel.Softmax(f).
func (s Softmax) Gradient(dst, y, f []float64) {
	kernel.Softmax(dst, f)
	kernel.Sub(dst, y, dst)
}

// Curvature implements Likelihood: diag(p) − ppᵀ with p = kernel.Softmax(f). It is singular. Its
// diagonal p_i(1 − p_i) is summed as p_i Σ_{j≠i} p_j, which keeps its digits where p_i is
// almost 1.
func (Softmax) Curvature(dst, f []float64) {
	c, total := len(f), LogSumExp(f)
	for i := range c {
		p, diagonal := math.Exp(f[i]-total), 0.0
		for j := range c {
			dst[i*c+j] = -p * math.Exp(f[j]-total)
			if j != i {
				diagonal -= dst[i*c+j]
			}
		}
		dst[i*c+i] = diagonal
	}
}

// Root implements Likelihood: w and m are p = kernel.Softmax(f), because the p_c sum to 1.
func (Softmax) Root(w, m, f []float64) {
	kernel.Softmax(m[:len(f)], f)
	copy(w, m[:len(f)])
}

// LogPredictive implements Likelihood: log kernel.Softmax(F)_c with the probit-scaled logits
// F_c = f_c / √(1 + (π/8) Q_cc), see ProbitLogits.
func (s Softmax) LogPredictive(y, mean, cov []float64) float64 {
	c := len(y)
	f := make([]float64, c)
	for i := range c {
		f[i] = mean[i] / math.Sqrt(1+math.Pi/8*cov[i*c+i])
	}
	return s.LogDensity(y, f)
}

// LogSumExp is log Σ exp(f_c), computed without overflow.
func LogSumExp(f []float64) float64 {
	top := math.Inf(-1)
	for _, v := range f {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range f {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}
