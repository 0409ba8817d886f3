package laplace

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// bothWays returns the covariances of x as differences and as the root's squares, and how
// many examples had too little variance left for the first.
func bothWays(t *testing.T, p *posterior, x *tensor.Dense) (differences, squares []float64, short int) {
	t.Helper()
	c, width := p.scan.outputs, p.predictor.width()
	differences, squares = make([]float64, x.Shape()[0]*c*c), make([]float64, x.Shape()[0]*c*c)
	err := p.scan.each(t.Context(), x, func(b batch) error {
		if err := p.predictor.marginals(b, differences[b.first*c*c:]); err != nil {
			return err
		}
		short += len(b.short)
		f := make([]float64, b.size()*width)
		if err := p.predictor.root(b, f); err != nil {
			return err
		}
		for i := range b.count {
			kernel.Syrk(false, c, width, 1, f[i*c*width:], width, 0, squares[(b.first+i)*c*c:], c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return differences, squares, short
}

// A difference is as good as the root while a ten-thousandth of each variance is left, with one prior
// and with one for each layer.
func TestDifferences(t *testing.T) {
	for _, outputs := range []int{1, 3} {
		prob := newProblem(t, 21, tensor.Float64, 12, 9, outputs)
		for name, o := range map[string]options{
			"one prior":         {PriorStd: 1, NoiseStd: 0.5},
			"a prior per layer": {Priors: priorsPerLayer, NoiseStd: 0.5},
		} {
			o.Space = spaceFunctions
			p := prob.fit(t, o)
			for what, x := range map[string]*tensor.Dense{"training": prob.x, "others": prob.probe} {
				got, want, short := bothWays(t, p, x)
				if short > 0 {
					t.Errorf("%s: %d %s points with little variance, expected none", name, short, what)
				}
				fixture.Close(t, label(name, ", ", outputs, " outputs, ", what), got, want, 1e-12)
			}
		}
	}
}

// Where the data leave nearly nothing of a variance the root is taken, for those examples alone:
// an example's covariance is the same whatever is beside it in a batch.
func TestLittleVarianceLeft(t *testing.T) {
	const n, outputs = 4, 2
	prob := newProblem(t, 22, tensor.Float64, n, 40, outputs)
	p := prob.fit(t, options{PriorStd: 1, NoiseStd: 1e-6, Space: spaceFunctions, BatchSize: 2 * n})
	size := prob.x.Shape()[1]
	others := small.Normal(newRand(23), tensor.Float64, n, size).Float64s()
	x := append(append([]float64(nil), others...), prob.x.Float64s()...)
	mixed := tensor.New(tensor.WithShape(2*n, size), tensor.WithBacking(x))
	got, want, short := bothWays(t, p, mixed)
	if short != n {
		t.Fatalf("%d of %d points with little variance, expected the %d training points", short, 2*n, n)
	}
	fixture.Close(t, "others", got[:n*outputs*outputs], want[:n*outputs*outputs], 1e-11)
	fixture.Close(t, "training", got[n*outputs*outputs:], want[n*outputs*outputs:], 1e-12)
	alone, _, _ := bothWays(t, p, tensor.New(tensor.WithShape(n, size), tensor.WithBacking(others)))
	for i, v := range alone {
		if math.Float64bits(v) != math.Float64bits(got[i]) {
			t.Fatalf("covariance %d: %g beside training points, %g without", i, got[i], v)
		}
	}

	c, err := p.Compile(gp.Request{Shape: []int{size}, Size: 2 * n})
	if err != nil {
		t.Fatal(err)
	}
	var g gp.Gaussian
	if err := c.Predict(t.Context(), x, &g); err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "compiled", g.Cov, got, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Predict(ended, x, &g); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, expected that of the context", err)
	}
}
