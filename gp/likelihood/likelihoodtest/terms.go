package likelihoodtest

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// terms are the weighted data terms of a sample as a program of the means, the covariances and the parameters.
type terms struct {
	values [][]float64 // the data terms, then their gradient, then the gradient of gradient·direction
}

// newTerms computes the data terms at means f, covariances cov and the parameters of l. With a direction, which has
// an array for each of f, cov and the parameters, it computes first and second derivatives as well.
func newTerms(t *testing.T, l likelihood.Likelihood, s *sample, f, cov []float64, alpha float64, dt tensor.Dtype, direction [][]float64) terms {
	t.Helper()
	l = l.Copy(dt)
	b := graph.NewBuilder(dt)
	leaf := func(name string, v []float64, shape ...int) *graph.Node {
		return b.Param(graph.NewParam(name, v, dt, shape...))
	}
	wrt := append([]*graph.Node{leaf("mean", f, s.n, s.c), leaf("cov", cov, s.n, s.c, s.c)}, b.Params(l.Params())...)
	term := l.DataTerm(b, s.targets(b), wrt[0], b.Diag(wrt[1]), alpha)
	out := []*graph.Node{term}
	if direction != nil {
		grads := graph.Grad(b, b.Sum(b.Mul(term, leaf("weights", s.weights, s.n))), wrt...)
		var along *graph.Node
		for i, g := range grads {
			part := b.Sum(b.Mul(g, leaf(fmt.Sprint("direction", i), direction[i], g.Shape()...)))
			if along == nil {
				along = part
			} else {
				along = b.Add(along, part)
			}
		}
		out = append(append(out, grads...), graph.Grad(b, along, wrt...)...)
	}
	return terms{compute(t, b, out...)}
}

// checkGradients: first and second derivatives of the data term by mean, covariance and parameters, along one
// direction, against differences of values and of first derivatives.
func checkGradients(t *testing.T, c Case, s *sample) {
	l := c.Likelihood.Copy(tensor.Float64)
	direction := [][]float64{wave(len(s.f), 1), symmetric(s, 2)}
	start := make([][]float64, len(l.Params()))
	for i, p := range l.Params() {
		start[i] = p.Floats()
		direction = append(direction, wave(len(start[i]), float64(3+i)))
	}
	at := func(alpha, h float64, dir [][]float64) terms {
		for i, p := range l.Params() {
			for k, v := range start[i] {
				p.Set(k, v+h*direction[2+i][k])
			}
		}
		return newTerms(t, l, s, along(s.f, direction[0], h), along(s.cov, direction[1], h), alpha, tensor.Float64, dir)
	}
	n := len(direction)
	for _, alpha := range s.alphas {
		got := at(alpha, 0, direction).values
		slope := difference(func(h float64) float64 { return dot(at(alpha, h, nil).values[0], s.weights) })
		near(t, fmt.Sprintf("α = %g: slope of the data term", alpha), []float64{dots(got[1:1+n], direction)}, []float64{slope}, 1e-7)
		curve := difference(func(h float64) float64 { return dots(at(alpha, h, direction).values[1:1+n], direction) })
		near(t, fmt.Sprintf("α = %g: second derivative of the data term", alpha), []float64{dots(got[1+n:], direction)}, []float64{curve}, 1e-6)
	}
}

// checkZero: without a variance the data term is log p, with finite slopes in both element types.
func checkZero(t *testing.T, c Case, s *sample) {
	want := s.each(func(y, f, _ []float64) float64 { return c.Likelihood.LogDensity(y, f) })
	cov := make([]float64, len(s.cov))
	direction := [][]float64{wave(len(s.f), 1), wave(len(cov), 2)}
	for i, p := range c.Likelihood.Params() {
		direction = append(direction, wave(len(p.Floats()), float64(3+i)))
	}
	for _, alpha := range s.alphas {
		if likelihood.IsClass(c.Likelihood) && alpha != 1 {
			continue // the data term of softmax is normalised over the classes
		}
		for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 2e-4} {
			got := newTerms(t, c.Likelihood, s, s.f, cov, alpha, dt, direction).values
			near(t, fmt.Sprintf("α = %g, %v: data term without variance", alpha, dt), got[0], want, tol)
			for _, g := range got[1 : 1+len(direction)] {
				near(t, fmt.Sprintf("α = %g, %v: slopes without variance", alpha, dt), g, g, 0)
			}
		}
	}
}

// checkObjective: data terms and LogPredictive against the trapezoid rule with many points.
func checkObjective(t *testing.T, c Case, s *sample) {
	if likelihood.IsClass(c.Likelihood) {
		t.Skip("the data term of softmax is an approximation")
	}
	for _, alpha := range s.alphas {
		want := s.each(func(y, f, cov []float64) float64 {
			sum, w := 0.0, c.Likelihood.Width()
			for k, m := range f {
				sum += plainObjective(c.Likelihood, y[k*w:(k+1)*w], m, cov[k*s.c+k], alpha)
			}
			return sum
		})
		for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 2e-4} {
			got := newTerms(t, c.Likelihood, s, s.f, s.cov, alpha, dt, nil).values[0]
			near(t, fmt.Sprintf("α = %g, %v: data term", alpha, dt), got, want, tol)
		}
		if alpha == 1 && !likelihood.IsGaussian(c.Likelihood) {
			got := s.each(c.Likelihood.LogPredictive)
			near(t, "LogPredictive", got, want, 1e-9)
		}
	}
}

// plainObjective is (1/α) log E[p(y | f)^α], E log p for α = 0, of one output by the trapezoid rule.
func plainObjective(l likelihood.Likelihood, y []float64, m, q, alpha float64) float64 {
	const n, end = 6000, 12
	h, logs, mean := 2.0*end/n, make([]float64, 0, n+1), 0.0
	for i := range n + 1 {
		u := -end + h*float64(i)
		logW := math.Log(h) - 0.5*u*u - 0.5*math.Log(2*math.Pi)
		logP := l.LogDensity(y, []float64{m + math.Sqrt(q)*u})
		logs, mean = append(logs, logW+alpha*logP), mean+math.Exp(logW)*logP
	}
	if alpha == 0 {
		return mean
	}
	return likelihood.LogSumExp(logs) / alpha
}

// wave are n numbers of both signs.
func wave(n int, phase float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Cos(float64(3*i) + phase)
	}
	return out
}

// symmetric is a direction of covariances.
func symmetric(s *sample, phase float64) []float64 {
	out := wave(len(s.cov), phase)
	for i := range s.n {
		m := out[i*s.c*s.c:]
		for a := range s.c {
			for b := range a {
				m[a*s.c+b] = m[b*s.c+a]
			}
		}
	}
	return out
}

func along(v, direction []float64, h float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = v[i] + h*direction[i]
	}
	return out
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func dots(a, b [][]float64) float64 {
	sum := 0.0
	for i := range a {
		sum += dot(a[i], b[i])
	}
	return sum
}
