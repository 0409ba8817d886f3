package layertest

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// normal returns n standard normal numbers.
func normal(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// directions draws one direction for each array.
func directions(rng *rand.Rand, arrays []*graph.Param) [][]float64 {
	var all [][]float64
	for _, p := range arrays {
		all = append(all, normal(rng, p.Value.Shape().TotalSize()))
	}
	return all
}

func dense(dt tensor.Dtype, v []float64, shape []int) *tensor.Dense {
	return graph.NewParam("", v, dt, shape...).Value
}

// build returns the network of f, always from the same random numbers.
func build(t testing.TB, f layers.Form, dt tensor.Dtype) layers.Sequential {
	t.Helper()
	net, err := layers.Build(f, dt, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// net builds the part that is checked and moves its arrays away from special values such
// as 0 and 1: parameters in any direction, state, which may be a variance, upwards.
func (s subject) net(t testing.TB, dt tensor.Dtype) layers.Network {
	t.Helper()
	net, rng := s.part(build(t, s.form, dt)), newRand(2)
	for _, p := range net.Params() {
		for i := range p.Value.Shape().TotalSize() {
			p.Set(i, p.At(i)+0.2*rng.NormFloat64())
		}
	}
	for _, p := range layers.State(net) {
		for i := range p.Value.Shape().TotalSize() {
			p.Set(i, p.At(i)+0.5*rng.Float64())
		}
	}
	return net
}

// graph returns a builder with a leaf for a batch of inputs.
func (s subject) graph(dt tensor.Dtype, batch int) (*graph.Builder, *graph.Node) {
	b := graph.NewBuilder(dt)
	return b, b.Input("inputs", append([]int{batch}, s.form.InputShape()...)...)
}

// examples draws a batch of inputs, row-major.
func (s subject) examples(batch int) []float64 {
	return normal(newRand(3), batch*tensor.Shape(s.form.InputShape()).TotalSize())
}

// forward computes net's outputs for a batch of inputs, row-major.
func (s subject) forward(t testing.TB, net layers.Network, dt tensor.Dtype, x []float64) []float64 {
	t.Helper()
	b, in := s.graph(dt, len(x)/tensor.Shape(s.form.InputShape()).TotalSize())
	y := net.Forward(b, in)
	p := compile(t, b, []*graph.Node{y})
	bind(t, p, in, dense(dt, x, in.Shape()))
	run(t, p)
	return graph.Floats(p.Value(y))
}

func compile(t testing.TB, b *graph.Builder, out []*graph.Node) *graph.Program {
	t.Helper()
	noError(t, b)
	p, err := graph.Compile(b, out, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func noError(t testing.TB, b *graph.Builder) {
	t.Helper()
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
}

func bind(t testing.TB, p *graph.Program, leaf *graph.Node, v *tensor.Dense) {
	t.Helper()
	if err := p.Bind(leaf, v); err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, p *graph.Program) {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
}
