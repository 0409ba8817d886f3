package steps

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// TestDataTerm: for each observation model λ is −2 times the slope of the weighted data term in the variance, and the
// gradients are its negative slopes in the parameters, by central differences.
func TestDataTerm(t *testing.T) {
	const n, h = 6, 1e-4
	problems := small.Must(t, gptest.ModelProblems)
	for _, p := range problems {
		if p.Dtype() != tensor.Float64 {
			continue
		}
		c := p.Outputs()
		l, err := NewDataTerm(p.Likelihood, 1, n+2, c, tensor.Float64) // with more room than rows
		if err != nil {
			t.Fatal(err)
		}
		y, mean, variance := graph.Floats(p.Train.Y)[:n*p.Train.Y.Shape()[1]], make([]float64, n*c), slices.Repeat([]float64{0.3}, n*c)
		weights, theta := []float64{1, 2, 0.5, 1, 1, 3}, graph.Flat(p.Likelihood.Params())
		run := func() float64 {
			if err := l.Run(theta, y, mean, variance, weights); err != nil {
				t.Fatal(err)
			}
			return l.Sum()
		}
		run()
		lambda, grads := l.Lambda(n), l.Gradients()
		slope := func(v *float64) float64 {
			at := *v
			*v = at + h
			up := run()
			*v = at - h
			down := run()
			*v = at
			return (up - down) / (2 * h)
		}
		for i := range variance {
			if want := -2 * slope(&variance[i]); math.Abs(lambda[i]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%s: λ %g of output %d, want %g", p.Name, lambda[i], i, want)
			}
		}
		for i := range theta {
			if want := -slope(&theta[i]); math.Abs(grads[i]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%s: gradient %g in parameter %d, want %g", p.Name, grads[i], i, want)
			}
		}
	}
}

// TestDataTermErrors: more rows than there is room for are an error.
func TestDataTermErrors(t *testing.T) {
	l, err := NewDataTerm(likelihood.NewGaussian(1, tensor.Float64), 1, 2, 1, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float64, 3)
	if err := l.Run([]float64{0}, v, v, v, v); err == nil || !strings.Contains(err.Error(), "3 values") {
		t.Errorf("error %v for 3 rows in the place of 2", err)
	}
}

// TestLargeVariances: counts whose means overflow have finite terms and slopes, in both element types.
func TestLargeVariances(t *testing.T) {
	m, err := likelihood.Lookup("poisson")
	if err != nil {
		t.Fatal(err)
	}
	poisson, err := m.New().Start(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, alpha := range []float64{0, 1} {
			l, err := NewDataTerm(poisson, alpha, 2, 1, dt)
			if err == nil {
				err = l.Run(nil, []float64{0, 7}, []float64{1, 2}, []float64{1e4, 1e12}, []float64{1, 1})
			}
			if err != nil {
				t.Fatal(err)
			}
			sum, lambda := l.Sum(), l.Lambda(2)
			if v := sum + lambda[0] + lambda[1]; v-v != 0 || alpha == 0 && !(lambda[0] > 0 && lambda[1] > 0) {
				t.Errorf("%v, α = %g: ℓ %g, λ %v, want finite numbers, for α = 0 positive λ", dt, alpha, sum, lambda)
			}
		}
	}
}

// TestStart: the noise is the given scale, other parameters stay, and the problem's likelihood keeps its own.
func TestStart(t *testing.T) {
	problems := small.Must(t, gptest.ModelProblems)
	for _, p := range problems {
		before := graph.Flat(p.Likelihood.Params())
		for _, theta := range p.Likelihood.Params() {
			theta.Set(0, theta.At(0)+0.25) // not where the model starts
		}
		moved := graph.Flat(p.Likelihood.Params())
		own, given := Start(p.Problem, 0), Start(p.Problem, 0.5)
		if !slices.Equal(graph.Flat(own.Params()), moved) || len(before) > 0 && own.Params()[0] == p.Likelihood.Params()[0] {
			t.Errorf("%s: parameters %v, want a copy of %v", p.Name, graph.Flat(own.Params()), moved)
		}
		if likelihood.Noisy(given) && math.Abs(likelihood.NoiseVariance(given)-0.25) > 1e-6 {
			t.Errorf("%s: noise variance %g, want 0.25", p.Name, likelihood.NoiseVariance(given))
		}
		for i, v := range graph.Flat(given.Params())[min(1, len(moved)):] {
			if likelihood.Noisy(given) && given.String() == "student-t" && v != moved[i+1] {
				t.Errorf("%s: log ν %g, want %g", p.Name, v, moved[i+1])
			}
		}
		if !slices.Equal(graph.Flat(p.Likelihood.Params()), moved) {
			t.Errorf("%s: the problem's likelihood has changed", p.Name)
		}
	}
}

// TestLinesNameParameters: a run does not go on from a checkpoint of another ν.
func TestLinesNameParameters(t *testing.T) {
	lines := func(nu float64) []string {
		f := toy(gp.Run{}).Fit
		f.Likelihood = likelihood.Each(likelihood.NewStudentT(nu, 1, false, tensor.Float64))
		return f.Lines()
	}
	if slices.Equal(lines(3), lines(4)) || !slices.Equal(lines(3), lines(3)) {
		t.Errorf("lines %v and %v, want others for another ν", lines(3), lines(4))
	}
}
