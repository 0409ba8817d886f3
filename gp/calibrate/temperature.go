package calibrate

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// Bounds of the temperatures.
const least, most = 1e-2, 1e2

// ErrEdge is the error where no number between bounds corrects best.
var ErrEdge = errors.New("no correction is best")

// Temperature returns the T that minimises the negative log-likelihood of classes when the
// logits are divided by T (Guo et al. 2017). The logits of n rows are Gaussian with means and variances [n,C]; without
// a posterior the variances are 0. The probabilities come from the probit approximation, softmax(f/√(T² + (π/8) Q)).
// labels [n] are the true classes.
//
// The error is an [ErrEdge] if no T from 0.01 to 100 is best. If all rows are classified correctly, the best T is 0; if the
// logits say nothing about the classes, the best T is infinite.
func Temperature(mean, variance []float64, labels []int) (float64, error) {
	nll := func(logT float64) float64 { return temperatureNLL(mean, variance, labels, math.Exp(logT)) }
	t, below, above := lowest(nll)
	switch {
	case below:
		return 0, fmt.Errorf("%w: the negative log-likelihood falls down to the temperature %g: either all calibration rows are classified correctly, where more rows are needed and none that training or fit has used, or the posterior's variances alone are too large", ErrEdge, least)
	case above:
		return 0, fmt.Errorf("%w: the negative log-likelihood falls up to the temperature %g: the logits say nothing about the classes of the calibration rows", ErrEdge, float64(most))
	}
	return t, nil
}

// lowest returns the temperature from least to most where a function of log T is lowest, or that it is nowhere lower than at
// one of the ends.
func lowest(f func(logT float64) float64) (t float64, below, above bool) {
	const steps = 40
	low, width := math.Log(least), math.Log(most/least)/steps
	best, value := 0, f(low)
	first, last := value, f(low+steps*width)
	for i := 1; i <= steps; i++ {
		if v := f(low + float64(i)*width); v < value {
			best, value = i, v
		}
	}
	if below, above = value >= first, value >= last; below || above {
		return 0, below, above
	}
	return math.Exp(kernel.Golden(f, low+float64(best-1)*width, low+float64(best+1)*width)), false, false
}

// temperatureNLL returns the mean negative log-likelihood that [Temperature] minimises.
func temperatureNLL(mean, variance []float64, labels []int, temperature float64) float64 {
	c, sum := len(mean)/len(labels), 0.0
	scaled := func(i int) float64 { return mean[i] / math.Sqrt(temperature*temperature+math.Pi/8*variance[i]) }
	for row, label := range labels {
		top, total := math.Inf(-1), 0.0
		for i := row * c; i < (row+1)*c; i++ {
			top = max(top, scaled(i))
		}
		for i := row * c; i < (row+1)*c; i++ {
			total += math.Exp(scaled(i) - top)
		}
		sum += top + math.Log(total) - scaled(row*c+label)
	}
	return sum / float64(len(labels))
}

// DeviationOf returns the factor of all standard deviations, from 0.01 to 100, with the smallest negative log-likelihood nll.
// The error is an [ErrEdge] if none of these is best.
func DeviationOf(nll func(factor float64) float64) (float64, error) {
	t, below, above := lowest(func(log float64) float64 { return nll(math.Exp(log)) })
	if below || above {
		return 0, fmt.Errorf("%w: no factor of the standard deviations from %g to %g is best: are these rows predicted exactly?", ErrEdge, float64(least), float64(most))
	}
	return t, nil
}

// Deviation returns the factor of all standard deviations that minimises the negative log-likelihood of a regression with
// Gaussian predictions: the root of the mean of (y − μ)²/v over the rows and targets, for means μ, variances v and targets
// y, [n,T] each. The error is an [ErrEdge] if this is 0 or infinite.
func Deviation(mean, variance, y []float64) (float64, error) {
	sum := 0.0
	for i, v := range y {
		sum += (v - mean[i]) * (v - mean[i]) / variance[i]
	}
	t := math.Sqrt(sum / float64(len(y)))
	if !(t > 0) || math.IsInf(t, 0) {
		return 0, fmt.Errorf("%w: the best factor of the standard deviations is %g, expected a positive number: are these rows predicted exactly?", ErrEdge, t)
	}
	return t, nil
}
