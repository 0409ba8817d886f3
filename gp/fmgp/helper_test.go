package fmgp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// published is the tanh network with PyTorch's weights net.0.weight [out,in], net.0.bias,
// net.2.weight, … after a prefix.
func published(t testing.TB, a fixture.Arrays, prefix string, dt tensor.Dtype) (net layers.Sequential) {
	t.Helper()
	for i := 0; a.Has(fmt.Sprint(prefix, "net.", i, ".weight")); i += 2 {
		if i > 0 {
			net = append(net, layers.Activation("tanh"))
		}
		name := fmt.Sprint(prefix, "net.", i)
		w, s := a.F64(t, name+".weight")
		turned := make([]float64, len(w))
		kernel.Transpose(turned, s[0], w, s[1], s[0], s[1])
		net = append(net, layers.Dense{
			W: graph.NewParam(name+".weight", turned, dt, s[1], s[0]),
			B: graph.NewParam(name+".bias", a.Floats(t, name+".bias"), dt, s[0]),
		})
	}
	return net
}

// oneHot are the rows of labels.
func oneHot(labels []int, c int, dt tensor.Dtype) *tensor.Dense {
	v := make([]float64, len(labels)*c)
	for i, k := range labels {
		v[i*c+k] = 1
	}
	return graph.Convert(dense.Of(v, len(labels), c), dt)
}

func normal(rng *rand.Rand, dt tensor.Dtype, shape ...int) *tensor.Dense {
	v := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return graph.Convert(dense.Of(v, shape...), dt)
}

// newProblem draws n rows of two inputs for a tanh network with five hidden units and c
// outputs: numbers around the network's, or classes.
func newProblem(t testing.TB, n, c int, classes bool, dt tensor.Dtype) gp.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), uint64(c)))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{5}, Outputs: c, Activation: "tanh"}.New(dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.09, dt), Train: gp.Examples{X: normal(rng, dt, n, 2), Y: normal(rng, dt, n, c)}}
	if classes {
		labels := make([]int, n)
		for i := range labels {
			labels[i] = rng.IntN(c)
		}
		p.Likelihood, p.Train.Y = likelihood.Softmax{}, oneHot(labels, c, dt)
	}
	return p
}

// values runs a graph once and returns the values of nodes.
func values(t testing.TB, b *graph.Builder, nodes ...*graph.Node) (out [][]float64) {
	t.Helper()
	prog, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		switch v := prog.Value(n); {
		case n.Dims() == 0:
			out = append(out, []float64{prog.Scalar(n)})
		default:
			out = append(out, graph.Floats(v))
		}
	}
	return out
}

// given is a leaf that holds v.
func given(b *graph.Builder, name string, v *tensor.Dense) *graph.Node {
	return b.Param(&graph.Param{Name: name, Value: v})
}

// fit fits settings.
func fit(t testing.TB, s Settings, p gp.Problem, r gp.Run) (*gp.Fitted, *posterior) {
	t.Helper()
	f, err := s.Fit(t.Context(), p, r)
	if err != nil {
		t.Fatal(err)
	}
	return f, f.Posterior.(*posterior)
}
