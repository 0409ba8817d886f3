package sngp

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
)

// TestLongAverage: nearly linear features of few hidden units, of which many are nearly the same, have
// a precision that float32 cannot hold: in the end the least of its eigenvalues is what is left of the
// ridge.
func TestLongAverage(t *testing.T) {
	p := problem(t, "MLP, 3 classes, float32")
	const steps, m = 6000, 96
	s := Settings{
		Features: m, LengthScale: 20, Ridge: 1e-3, Precision: decaying, Draws: drawsGaussian, Spectral: spectralNone,
		Iterations: steps, BatchSize: 10, LearningRate: 1e-300, KeepLast: true,
	}
	_, q := fit(t, s, p.Problem, gp.Run{})
	least, left := math.Inf(1), 1e-3*math.Pow(0.999, steps)
	for i := range m {
		least = min(least, math.Pow(q.cov.factors[i*m+i], 2))
	}
	if !(least >= left*(1-1e-9)) {
		t.Errorf("the least pivot of the precision is %g, and %g is left of the ridge", least, left)
	}
}
