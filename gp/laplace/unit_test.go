package laplace

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// The unit vectors of the outputs are found, and what is written for them is what their rows lead to.
func TestUnitCotangents(t *testing.T) {
	for _, kind := range []structureKind{kindKFAC, kindDiagonal} {
		for name, prob := range map[string]problem{
			"numbers": newProblem(t, 81, tensor.Float64, 40, 5, 3),
			"classes": newClasses(t, 82, tensor.Float64, 40, 5, 4),
		} {
			what, o := label(kind, ", ", name), options{Structure: kind, PriorStd: 0.7, NoiseStd: 0.5, BatchSize: 7}
			if name == "classes" {
				o.Likelihood, o.NoiseStd = likelihood.Softmax{}, 0
			}
			got := prob.fit(t, o)
			if got.scan.unit == nil {
				t.Fatalf("%s: the last layer's cotangents are not found", what)
			}
			compareVariances(t, what, prob, got)
			neverUnit = true
			want := prob.fit(t, o)
			neverUnit = false
			if want.scan.unit != nil {
				t.Fatalf("%s: the rows were not used", what)
			}
			compareVariances(t, what+", by rows", prob, want)
			fixture.Close(t, what+": log marginal likelihood", one(got.LogMarginalLikelihood()), one(want.LogMarginalLikelihood()), 1e-12)
			_, cov := small.Moments(t, got, prob.probe)
			_, other := small.Moments(t, want, prob.probe)
			fixture.Close(t, what+": covariance", cov, other, 1e-11)
		}
	}
}

// A wide bias, of whose part of H the diagonal is kept alone, has unit cotangents as well.
func TestUnitBias(t *testing.T) {
	defer func(w int) { widestRows = w }(widestRows)
	widestRows = 2
	prob := newClasses(t, 83, tensor.Float64, 40, 5, 4)
	numbers := newProblem(t, 84, tensor.Float64, 40, 5, 3)
	for _, of := range []struct {
		problem
		options
	}{
		{prob, options{Likelihood: likelihood.Softmax{}, PriorStd: 0.7}},
		{numbers, options{PriorStd: 0.7, NoiseStd: 0.5}},
	} {
		o := of.options
		o.BatchSize, o.Weights, o.Structure = 7, []string{"dense2.bias"}, kindDiagonal
		_, want := small.Moments(t, of.fit(t, o), of.probe)
		o.Structure = kindKFAC
		_, got := small.Moments(t, of.fit(t, o), of.probe)
		fixture.Close(t, "covariance of a wide bias", got, want, 1e-12)
	}
}

// The memory of predictions of class probabilities does not grow with the square of the number of classes.
func TestUnitMemory(t *testing.T) {
	prob := newClasses(t, 85, tensor.Float64, 40, 5, 200)
	p := prob.fit(t, options{Likelihood: likelihood.Softmax{}, PriorStd: 0.7, Structure: kindKFAC})
	const size = 64
	if p.scan.batch < 40 {
		t.Errorf("the fit takes %d examples at a time, expected all 40", p.scan.batch)
	}
	c, err := p.Compile(gp.Request{Shape: prob.probe.Shape()[1:], Size: size, Limit: 8 * size * 200 * 200 / 8, Marginal: true})
	if err != nil {
		t.Fatal(err)
	}
	x := graph.Floats(prob.probe)[:2]
	var g gp.Gaussian
	if err := c.Predict(t.Context(), x, &g); err != nil {
		t.Fatal(err)
	}
	_, cov := small.Moments(t, p, prob.probe)
	for k := range 200 {
		fixture.Close(t, "variance", one(g.Variance(0, k)), one(cov[k*200+k]), 1e-12)
	}
}

// compareVariances compares variances with the diagonals of the covariances.
func compareVariances(t *testing.T, what string, prob problem, p *posterior) {
	t.Helper()
	err := p.scan.each(t.Context(), prob.probe, func(b batch) error {
		c := b.outputs
		v, cov, diagonal := make([]float64, b.size()), make([]float64, b.size()*c), make([]float64, b.size())
		if !p.predictor.(byVariance).variances(b, v) {
			t.Errorf("%s: no variances", what)
		}
		if err := p.predictor.marginals(b, cov); err != nil {
			return err
		}
		for i := range diagonal {
			diagonal[i] = cov[i*c+i%c]
		}
		fixture.Close(t, what+": variances", v, diagonal, 1e-12)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
