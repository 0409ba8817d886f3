package gp

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// TestMeanNLL compares the mean with the densities of normal distributions and of the softmax,
// and a covariance of zero with a certain function.
func TestMeanNLL(t *testing.T) {
	normal := func(d, v float64) float64 { return 0.5*math.Log(2*math.Pi*v) + d*d/(2*v) }
	noise := likelihood.NewGaussian(0.5, tensor.Float64)
	y, mean, cov := []float64{1, -2}, []float64{0.25, -1}, []float64{0.7, 3}
	want := (normal(0.75, 1.2) + normal(1, 3.5)) / 2
	if got := MeanNLL(noise, y, Gaussian{Mean: mean, Cov: cov}); math.Abs(got-want) > 1e-14 {
		t.Errorf("one output: %g, want %g", got, want)
	}
	if got, want := MeanNLL(noise, y, Certain(mean, 1)), MeanNLL(noise, y, Gaussian{Mean: mean, Cov: []float64{0, 0}}); math.Abs(got-want) > 1e-14 {
		t.Errorf("a certain function: %g, with variances of 0 %g", got, want)
	}
	want = (math.Log(1+math.Exp(-1)) + math.Log(1+math.Exp(3))) / 2
	if got := MeanNLL(likelihood.Softmax{}, []float64{1, 0, 0, 1}, Certain([]float64{1, 0, 3, 0}, 2)); math.Abs(got-want) > 1e-14 {
		t.Errorf("two classes: %g, want %g", got, want)
	}
}
