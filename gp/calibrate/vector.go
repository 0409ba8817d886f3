package calibrate

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/optimize"
)

// Vector scales and shifts the logits of each class: f becomes f' = Scale∘f + Bias. A Gaussian
// stays one, with the mean Scale∘μ + Bias and the covariance diag(Scale) Q diag(Scale).
type Vector struct {
	Scale []float64 `json:"scale"` // factors of the logits [C]
	Bias  []float64 `json:"bias"`  // summands of the logits [C]
}

// Check returns an error if the vector is wrong for c classes.
func (v *Vector) Check(c int) error {
	if len(v.Scale) != c || len(v.Bias) != c {
		return fmt.Errorf("%d scales and %d biases of logits, expected %d of each", len(v.Scale), len(v.Bias), c)
	}
	for k, w := range v.Scale {
		if !kernel.Finite(w) || !kernel.Finite(v.Bias[k]) {
			return fmt.Errorf("the scale %g and the bias %g of class %d (counting from 0), expected finite numbers", w, v.Bias[k], k)
		}
	}
	return nil
}

// separated bounds the negative log-likelihood: a smaller value means that all rows are classified correctly.
const separated = 1e-5

// FindVector returns the scales and biases that minimise the negative log-likelihood of classes (Guo et al. 2017,
// vector scaling), for logits and labels as in [Temperature]. These are 2C numbers, which need many rows. The
// probabilities come from the probit approximation, softmax(f'/√(1 + (π/8) Q')). Without variances, the biases are
// determined up to a number that is added to all biases.
//
// It is an error if a class is not among the labels, since its bias would be −∞; if there is no temperature; if scales
// and biases exist that classify all rows correctly; and if a scale exceeds the bound of temperatures, for example
// because the variances are too large. A scale may be below 0: then the logits of the other classes say more about a
// class than its own logit.
func FindVector(mean, variance []float64, labels []int) (*Vector, error) {
	c := len(mean) / len(labels)
	for k := range c {
		if !slices.Contains(labels, k) {
			return nil, fmt.Errorf("no calibration row is of class %d (counting from 0): expected rows of each class", k)
		}
	}
	t, err := Temperature(mean, variance, labels)
	if err != nil {
		return nil, err
	}
	start := make([]float64, 2*c)
	for k := range c {
		start[k] = 1 / t
	}
	best, err := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { return vectorNLL(mean, variance, labels, x, nil) },
		Grad: func(grad, x []float64) { vectorNLL(mean, variance, labels, x, grad) },
	}, start, &optimize.Settings{GradientThreshold: 1e-7, MajorIterations: 10_000}, &optimize.BFGS{})
	if best == nil || !kernel.Finite(best.F) {
		return nil, fmt.Errorf("vector scaling: %w", err)
	}
	v := &Vector{Scale: best.X[:c:c], Bias: best.X[c:]}
	if best.F < separated {
		return nil, fmt.Errorf("scales and biases tell all %d calibration rows right: more rows are needed", len(labels))
	}
	for k, w := range v.Scale {
		if !(math.Abs(w) < 1/least) {
			return nil, fmt.Errorf("the best scale of class %d (counting from 0) is %.3g, expected %g at most: the rows are too few, or its variances are too large", k, w, 1/least)
		}
	}
	return v, nil
}

// vectorNLL returns the mean negative log-likelihood that [FindVector] minimises, for the scales and biases
// x [2C]. It writes the derivatives to grad [2C], unless grad is nil.
func vectorNLL(mean, variance []float64, labels []int, x, grad []float64) float64 {
	c, sum, n := len(x)/2, 0.0, float64(len(labels))
	clear(grad)
	u, d := make([]float64, c), make([]float64, c)
	for i, label := range labels {
		g, v := mean[i*c:(i+1)*c], variance[i*c:(i+1)*c]
		for k := range u {
			d[k] = math.Sqrt(1 + math.Pi/8*x[k]*x[k]*v[k])
			u[k] = (x[k]*g[k] + x[c+k]) / d[k]
		}
		top, total := slices.Max(u), 0.0
		for k := range u {
			total += math.Exp(u[k] - top)
		}
		sum += (top + math.Log(total) - u[label]) / n
		for k := range grad[:len(grad)/2] {
			by := math.Exp(u[k]-top) / total / n
			if k == label {
				by -= 1 / n
			}
			grad[k] += by * (g[k] - x[c+k]*math.Pi/8*x[k]*v[k]) / (d[k] * d[k] * d[k])
			grad[c+k] += by / d[k]
		}
	}
	return sum
}
