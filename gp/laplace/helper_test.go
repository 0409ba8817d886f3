package laplace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
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
	return problem{net: net, x: small.Normal(rng, tensor.Float64, n, 2), y: small.Normal(rng, tensor.Float64, n, c), probe: small.Normal(rng, tensor.Float64, 7, 2)}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func (p problem) fit(t testing.TB, o options) *posterior {
	t.Helper()
	q, err := fitOptions(context.Background(), p.net, p.x, p.y, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// unfitted is the posterior before it has seen the data.
func (p problem) unfitted(t testing.TB, d gp.Examples, o options) *posterior {
	t.Helper()
	q, err := unfitted(p.net, d.X.Shape()[1:].Clone(), outputs(d, o.likelihood()), d.N(), o)
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

// run computes the nodes that f writes for the inputs x with a network, as float64.
func run(t testing.TB, net layers.Network, x *tensor.Dense, f func(b *graph.Builder, x *graph.Node) []*graph.Node) [][]float64 {
	t.Helper()
	b := graph.NewBuilder(net.Params()[0].Value.Dtype())
	return small.Values(t, b, f(b, small.Given(b, "the inputs", graph.Convert(x, b.Dtype())))...)
}

// label names a case in messages.
func label(parts ...any) string { return fmt.Sprint(parts...) }

// LogMarginalLikelihoodGradient returns the derivatives of LogMarginalLikelihood in
// each log σ₀, in the order of Priors, and in log σ if there is a σ. It costs about as much as a
// factorisation.
func (p *posterior) LogMarginalLikelihoodGradient() (logPriorStds []float64, logNoiseStd float64) {
	return p.evidence.gradient(p.hyper, p.prior.sums(p.factor.shares(context.Background())))
}
