package gapa

import (
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
)

// loss is a negative log predictive density, in which each output counts by itself.
type loss struct {
	classes bool // the targets are classes
}

func newLoss(l likelihood.Likelihood) loss {
	_, classes := l.(likelihood.Softmax)
	return loss{classes}
}

// at returns the loss of one example with the targets y, the mean f and the variances v, all
// [C], and the noise variance of targets that are no classes. It writes the derivatives by
// the variances to grad [C]; those by the noise variance are their sum.
func (l loss) at(y, f, v []float64, noise float64, grad []float64) float64 {
	if l.classes {
		return probit(y, f, v, grad)
	}
	sum := 0.0
	for k, e := range y {
		e -= f[k]
		total := v[k] + noise
		sum += 0.5 * (math.Log(2*math.Pi*total) + e*e/total)
		grad[k] = 0.5 * (1 - e*e/total) / total
	}
	return sum
}

// probit is −log softmax(F)_y with F_c = f_c/√(1 + (π/8) v_c) (MacKay 1992).
func probit(y, f, v, grad []float64) float64 {
	right, top := 0.0, math.Inf(-1)
	for k := range f {
		grad[k] = f[k] / math.Sqrt(1+math.Pi/8*v[k])
		right += y[k] * grad[k]
		top = max(top, grad[k])
	}
	kernel.AddScalar(grad, -top, grad)
	kernel.Exp(grad, grad)
	sum := kernel.Sum(grad)
	for k, e := range grad {
		root := 1 + math.Pi/8*v[k]
		grad[k] = -(e/sum - y[k]) * f[k] * math.Pi / 16 / (root * math.Sqrt(root))
	}
	return math.Log(sum) + top - right
}
