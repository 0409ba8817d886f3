package gapa

import (
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// loss is a negative log predictive density, in which each output counts by itself.
type loss struct {
	classes bool // the targets are classes
	law     *law // of targets that are neither classes nor have Gaussian noise; nil for these
}

func newLoss(p gp.Problem, noiseStd float64) (loss, error) {
	l := loss{classes: likelihood.IsClass(p.Likelihood)}
	if l.classes || likelihood.IsGaussian(p.Likelihood) {
		return l, nil
	}
	l.law = &law{lik: steps.Start(p, noiseStd).Copy(tensor.Float64)}
	var err error
	l.law.term, err = steps.NewDataTerm(l.law.lik, 1, min(lawRows, p.Train.N()), p.Outputs(), tensor.Float64)
	return l, err
}

// lawRows is how many rows a law looks at at a time at most.
const lawRows = 250

// law is the loss of any observation model, from its data term for α = 1.
type law struct {
	lik  likelihood.Likelihood // with the parameters learned so far
	term *steps.DataTerm       // of some rows at a time
	grad []float64             // derivatives of the last loss by the parameters
}

// with returns the observation model with a squared noise scale, which counts for models with noise alone.
func (l *law) with(noise float64) likelihood.Likelihood { return likelihood.WithNoise(l.lik, noise) }

// loss returns the mean loss of a sample for variances v [n,C] of the outputs. It writes the derivatives by the
// variances to grad [n,C].
func (l *law) loss(s *sample, v, grad []float64, noise float64) (mean float64, err error) {
	params := graph.Flat(l.with(noise).Params())
	l.grad = make([]float64, len(params))
	weights := make([]float64, s.n())
	for i := range weights {
		weights[i] = 1 / float64(s.n())
	}
	for from := 0; from < s.n(); from += l.term.Rows {
		to := min(from+l.term.Rows, s.n())
		rows, at, end := s.part(from, to), from*s.c, to*s.c
		if err := l.term.Run(params, rows.y, rows.mean, v[at:end], weights[from:to]); err != nil {
			return 0, err
		}
		mean -= l.term.Sum()
		kernel.Scale(grad[at:end], 0.5, l.term.Lambda(to-from))
		kernel.Add(l.grad, l.grad, l.term.Gradients())
	}
	return mean, nil
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
