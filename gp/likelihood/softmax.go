package likelihood

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Softmax is the categorical likelihood; targets are one-hot rows.
type Softmax struct{}

// Params implements Likelihood: there are none.
func (Softmax) Params() []*graph.Param { return nil }

// DataTerm implements Likelihood: (1/α) log softmax(α log softmax(F))_y with the
// probit-scaled logits F of [ProbitLogits].
func (Softmax) DataTerm(b *graph.Builder, y, mean, variance *graph.Node, alpha float64) *graph.Node {
	if !checkAlpha(b, alpha, alpha > 0) || !checkShapes(b, y, mean, variance, 1) {
		return nil
	}
	logp := b.LogSoftmax(ProbitLogits(b, mean, variance))
	if alpha != 1 {
		logp = b.Scale(b.LogSoftmax(b.Scale(logp, alpha)), 1/alpha)
	}
	return sumOutputs(b, b.Mul(y, logp))
}

// ProbitLogits scales logits by their variance, F_c = f_c / √(1 + (π/8) Q_cc), so
// that softmax(F) approximates the mean of softmax(f) under f ~ N(mean, Q)
// (MacKay 1992). mean [B,C] and the variances Q_cc [B,C] give [B,C].
func ProbitLogits(b *graph.Builder, mean, variance *graph.Node) *graph.Node {
	return b.Div(mean, b.Sqrt(b.Affine(variance, math.Pi/8, 1)))
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
	probs := dst[(c-1)*c : c*c] // the last row, which is overwritten at last
	for j, v := range f {
		probs[j] = math.Exp(v - total)
	}
	for i := range c {
		p, diagonal := probs[i], 0.0
		row := dst[i*c : (i+1)*c]
		for j, q := range probs {
			row[j] = -p * q
			if j != i {
				diagonal -= row[j]
			}
		}
		row[i] = diagonal
	}
}

// Root implements Likelihood: w and m are p = kernel.Softmax(f), because the p_c sum to 1.
func (Softmax) Root(w, m, f []float64) {
	kernel.Softmax(m[:len(f)], f)
	copy(w, m[:len(f)])
}

// LogPredictive implements Likelihood: log kernel.Softmax(F)_c with the probit-scaled logits
// F_c = f_c / √(1 + (π/8) Q_cc), see ProbitLogits.
func (s Softmax) LogPredictive(y, mean, cov []float64) float64 { return s.log(y, mean, cov, len(y)+1) }

// LogMarginal implements Likelihood.
func (s Softmax) LogMarginal(y, mean, variance []float64) float64 { return s.log(y, mean, variance, 1) }

// log returns log softmax(F)_y. Each step-th number of v is a variance.
func (s Softmax) log(y, mean, v []float64, step int) float64 {
	f := make([]float64, len(y))
	for i := range f {
		f[i] = mean[i] / math.Sqrt(1+math.Pi/8*v[i*step])
	}
	return s.LogDensity(y, f)
}

// LogSumExp is log Σ exp(f_c), computed without overflow.
func LogSumExp(f []float64) float64 {
	top := math.Inf(-1)
	for _, v := range f {
		top = max(top, v)
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for _, v := range f {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

// Kind implements Likelihood.
func (Softmax) Kind() Kind { return Class }

// Width implements Likelihood.
func (Softmax) Width() int { return 1 }

// Check implements Likelihood: y is a single 1 among zeros.
func (Softmax) Check(y []float64) error {
	if len(y) < 2 {
		return fmt.Errorf("%v, expected at least two classes", y)
	}
	if slices.Max(y) != 1 || slices.Min(y) != 0 || kernel.Sum(y) != 1 {
		return fmt.Errorf("%v, expected one 1 among zeros", y)
	}
	return nil
}

// LogDensityNode implements Likelihood.
func (Softmax) LogDensityNode(b *graph.Builder, y, f *graph.Node) *graph.Node {
	if !checkPair(b, y, f, 1) {
		return nil
	}
	return sumOutputs(b, b.Mul(y, b.LogSoftmax(f)))
}

// Predict implements Likelihood: classes have no distribution of numbers.
func (Softmax) Predict(int, float64, float64) Distribution { return nil }
