package layertest

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/graph/graphtest"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// difference is the step of finite differences. It is small, so that hardly ever a kink
// of a ReLU or of a max pool lies within it; rounding costs about 1e-16/difference.
const (
	difference    = 1e-6
	tolDifference = 1e-6 // relative to the sum of the absolute terms, or to 1
	tolKernel     = 1e-10
)

// checkDerivatives compares the derivatives of ⟨outputs, ct⟩ with respect to the inputs
// and all parameters, along random directions, with finite differences: the first with
// differences of the outputs, the second with differences of the first derivatives.
func (s subject) checkDerivatives(t testing.TB) {
	t.Helper()
	net := s.net(t, tensor.Float64)
	b, x := s.graph(tensor.Float64, 2)
	y := net.Forward(b, x)
	wrt := []*graph.Node{x}
	at := []*graph.Param{{Value: dense(tensor.Float64, s.examples(2), x.Shape())}}
	for _, p := range net.Params() {
		wrt, at = append(wrt, b.Param(p)), append(at, p)
	}
	noError(t, b)
	weighted := b.Sum(b.Mul(y, b.Const("ct", normal(newRand(11), y.Shape().TotalSize()), y.Shape()...)))
	first := graph.Grad(b, weighted, wrt...)
	along := directions(newRand(12), at)
	slope := slopeAlong(t, b, first, along)
	second := graph.Grad(b, slope, wrt...)

	p := compile(t, b, append(append([]*graph.Node{weighted, slope}, first...), second...))
	bind(t, p, x, at[0].Value)
	compareSlope(t, "first derivatives", p, at, weighted, first, along)
	compareSlope(t, "second derivatives", p, at, slope, second, directions(newRand(13), at))
}

// slopeAlong is the sum of the products of gradients and directions, of shape [1].
func slopeAlong(t testing.TB, b *graph.Builder, gradients []*graph.Node, along [][]float64) *graph.Node {
	t.Helper()
	noError(t, b)
	slope := b.Fill(0, 1)
	for i, g := range gradients {
		direction := b.Const(fmt.Sprint("direction", i), along[i], g.Shape()...)
		slope = b.Add(slope, b.Reshape(b.Sum(b.Mul(g, direction)), 1))
	}
	return slope
}

// compareSlope compares the gradients of the scalar y, along a direction, with the
// difference of its values at the two ends of a short step in that direction.
func compareSlope(t testing.TB, what string, p *graph.Program, at []*graph.Param, y *graph.Node, gradients []*graph.Node, along [][]float64) {
	t.Helper()
	value := func(h float64) float64 {
		defer move(at, along, h)()
		run(t, p)
		return graph.Floats(p.Value(y))[0]
	}
	want := (value(difference) - value(-difference)) / (2 * difference)
	run(t, p)
	got, scale := 0.0, 1.0
	for i, g := range gradients {
		for k, v := range graph.Floats(p.Value(g)) {
			got += v * along[i][k]
			scale += math.Abs(v * along[i][k])
		}
	}
	if !(math.Abs(got-want) <= tolDifference*scale) {
		t.Errorf("%s: slope %.10g, finite differences give %.10g", what, got, want)
	}
}

// move adds h times the direction to the arrays and returns what undoes it, exactly.
func move(at []*graph.Param, along [][]float64, h float64) (back func()) {
	var old [][]float64
	for i, p := range at {
		old = append(old, p.Floats())
		for k, v := range old[i] {
			p.Set(k, v+h*along[i][k])
		}
	}
	return func() {
		for i, p := range at {
			for k, v := range old[i] {
				p.Set(k, v)
			}
		}
	}
}

// checkKernel compares the structured neural tangent kernel with the kernel of dense
// Jacobians: J(x) J(x)ᵀ of each example, and between the examples' first outputs.
func (s subject) checkKernel(t testing.TB) {
	t.Helper()
	k := subject{form: s.kernel, part: func(n layers.Sequential) layers.Network { return n }}
	net := k.net(t, tensor.Float64)
	const batch = 2
	b, x := k.graph(tensor.Float64, batch)
	var out []*graph.Node
	for _, dense := range []bool{false, true} {
		ntk := jacobian.NTK{Net: net, Dense: dense}
		out = append(out, ntk.Diag(b, x), ntk.Gram(b, x, make([]int, batch)))
	}
	p := compile(t, b, out)
	bind(t, p, x, dense(tensor.Float64, k.examples(batch), x.Shape()))
	run(t, p)
	for i, what := range []string{"structured and dense kernel of each example", "structured and dense kernel between examples"} {
		graphtest.Near(t, what, graph.Floats(p.Value(out[i])), graph.Floats(p.Value(out[i+2])), tolKernel)
	}
}
