package along_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/along"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// posterior returns a posterior along three directions of a network with two inputs and two outputs,
// and five inputs.
func posterior(t *testing.T, root []float64) (*along.Posterior, *tensor.Dense) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{4}, Outputs: 2, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	normal := func(shape ...int) *tensor.Dense {
		v := make([]float64, tensor.Shape(shape).TotalSize())
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return dense.Of(v, shape...)
	}
	p := &along.Posterior{
		Name: "test", Net: net, Input: tensor.Shape{2}, V: normal(3, layers.Count(net)),
		Root: root, Scale: 0.25, Limit: 1 << 30,
	}
	return p, normal(5, 2)
}

// marginals returns the prediction at x.
func marginals(t *testing.T, p *along.Posterior, x *tensor.Dense) gp.Gaussian {
	t.Helper()
	return small.Predict(t, p, x)
}

// TestJointAndMarginals: the covariance is the product of J v R with itself, and the joint covariance
// has the covariances of single inputs on its diagonal.
func TestJointAndMarginals(t *testing.T) {
	for name, root := range map[string][]float64{"identity": nil, "triangle": {2, 0, 0, 1, 3, 0, -1, 0.5, 1}} {
		p, x := posterior(t, root)
		mean, cov, err := p.Joint(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		_, w, err := p.All(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, 100)
		for i := range 10 {
			for j := range 10 {
				for k := range 3 {
					want[10*i+j] += 0.25 * w[3*i+k] * w[3*j+k]
				}
			}
		}
		fixture.Close(t, name+": joint covariance", cov.Float64s(), want, 1e-12)
		g := marginals(t, p, x)
		fixture.Close(t, name+": mean", g.Mean, mean.Float64s(), 0)
		var blocks []float64
		for i := range 10 {
			blocks = append(blocks, want[10*i+i/2*2:10*i+i/2*2+2]...)
		}
		fixture.Close(t, name+": covariances", g.Cov, blocks, 1e-12)
	}
}

// TestRoot: a root turns J v, and the identity changes nothing.
func TestRoot(t *testing.T) {
	bare, x := posterior(t, nil)
	want := marginals(t, bare, x)
	same, _ := posterior(t, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1})
	fixture.Close(t, "identity", marginals(t, same, x).Cov, want.Cov, 1e-14)
	turned, _ := posterior(t, []float64{0, 1, 0, 0, 0, -1, 1, 0, 0})
	fixture.Close(t, "rotation", marginals(t, turned, x).Cov, want.Cov, 1e-12)
}

// TestErrors: inputs of another shape and a small limit are errors that name the method.
func TestErrors(t *testing.T) {
	p, x := posterior(t, nil)
	if _, err := p.Compile(gp.Request{Shape: []int{3}, Size: 1}); err == nil || err.Error() != "test: inputs of shape [3], expected (2)" {
		t.Errorf("error %v", err)
	}
	var refused *graph.MemoryError
	if _, err := p.Compile(gp.Request{Shape: []int{2}, Size: 100, Limit: 100}); !errors.As(err, &refused) {
		t.Errorf("100 bytes for a prediction: error %v", err)
	}
	if _, _, err := p.Joint(t.Context(), dense.Of(nil, 0, 2)); err == nil || !strings.HasPrefix(err.Error(), "test: joint prediction: inputs of shape (0, 2)") {
		t.Errorf("error %v", err)
	}
	if p.Limit = 8 * 10 * (10 + 3); third(p.Joint(t.Context(), x)) != nil {
		t.Error("a joint covariance at the limit is refused")
	}
	p.Limit--
	if err := third(p.Joint(t.Context(), x)); !errors.As(err, &refused) || refused.Need != p.Limit+1 {
		t.Errorf("a joint covariance beyond the limit: error %v", err)
	}
	p, _ = posterior(t, nil)
	if p.Limit = 10; !errors.As(p.Prepare(), &refused) {
		t.Error("features within 10 bytes")
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }
