package laplace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// spaces are the two that must give the same posterior.
var spaces = map[string]spaceKind{"weight space": spaceWeights, "function space": spaceFunctions}

// problem is a small random regression task.
type problem struct {
	net         layers.Sequential
	x, y, probe *tensor.Dense
}

// newProblem draws n examples of two inputs and c targets, and a network of one
// hidden layer.
func newProblem(t testing.TB, seed uint64, dt tensor.Dtype, n, hidden, c int) problem {
	t.Helper()
	rng := newRand(seed)
	net, err := layers.MLP{Inputs: 2, Hidden: []int{hidden}, Outputs: c, Activation: "tanh"}.New(dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	return problem{net: net, x: normal(rng, n, 2), y: normal(rng, n, c), probe: normal(rng, 7, 2)}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func normal(rng *rand.Rand, shape ...int) *tensor.Dense {
	v := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return dense.Of(v, shape...)
}

func (p problem) fit(t testing.TB, o options) *posterior {
	t.Helper()
	q, err := fitOptions(context.Background(), p.net, p.x, p.y, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// unfitted is the posterior before it has seen the data.
func (p problem) unfitted(t testing.TB, d data, o options) *posterior {
	t.Helper()
	q, err := newPosterior(p.net, d.x.shape, d.outputs, d.n, o, func(s *scanner) structure { return newStructure(s, d.n, o) })
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func at(t testing.TB, p *posterior, priorStd, noiseStd float64) *posterior {
	t.Helper()
	q, err := p.at(context.Background(), priorStd, noiseStd)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func predict(t testing.TB, p gp.Posterior, x *tensor.Dense) (mean, cov []float64) {
	t.Helper()
	g, err := gp.Predict(context.Background(), p, x)
	if err != nil {
		t.Fatal(err)
	}
	if g.N() != x.Shape()[0] {
		t.Fatalf("prediction at %v has %d means", x.Shape(), len(g.Mean))
	}
	return g.Mean, g.Cov
}

// run computes the nodes that f writes for the inputs x with a network, as float64.
func run(t testing.TB, net layers.Network, x *tensor.Dense, f func(b *graph.Builder, x *graph.Node) []*graph.Node) [][]float64 {
	t.Helper()
	b := graph.NewBuilder(net.Params()[0].Value.Dtype())
	in := b.Param(&graph.Param{Name: "the inputs", Value: graph.Convert(x, b.Dtype())})
	nodes := f(b, in)
	p, err := graph.Compile(b, nodes, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	var out [][]float64
	for _, n := range nodes {
		out = append(out, graph.Floats(p.Value(n)))
	}
	return out
}

// label names a case in messages.
func label(parts ...any) string { return fmt.Sprint(parts...) }

// LogMarginalLikelihoodGradient returns the derivatives of LogMarginalLikelihood in
// each log σ₀, in the order of Priors, and in log σ if there is a σ. It costs about as much as a
// factorisation.
func (p *posterior) LogMarginalLikelihoodGradient() (logPriorStds []float64, logNoiseStd float64) {
	return p.evidence.gradient(p.hyper, p.prior.sums(p.factor.shares(context.Background())))
}
