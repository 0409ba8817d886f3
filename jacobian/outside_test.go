package jacobian_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// gain multiplies column i of x [B,n] by w_i, w [n]. It is an operation from outside of
// graph, which knows its Jacobian rows.
type gain struct{}

func (gain) Key() string { return "gain" }

func (gain) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if len(in) != 2 || len(in[0]) != 2 || len(in[1]) != 1 || in[0][1] != in[1][0] {
		return nil, fmt.Errorf("shapes %v, expected [B,n] and [n]", in)
	}
	return in[0], nil
}

func (g gain) Pullback(b *builder, i int, in []*node, _, ct *node) *node {
	if i == 0 {
		return b.Apply(g, ct, in[1])
	}
	return b.SumTo(b.Mul(ct, in[0]), in[1].Shape()...)
}

func (gain) RowWise(batched []bool, _ []tensor.Shape) bool { return batched[0] && !batched[1] }

// RowPullback: row r of the Jacobian is row r of the cotangent times its example's input.
func (gain) RowPullback(b *builder, i int, in []*node, out, ct *node) (graph.Outer, bool) {
	if i != 1 {
		return graph.Outer{}, false
	}
	rows, examples, n := ct.Shape()[0], out.Shape()[0], out.Shape()[1]
	x := b.Reshape(in[0], examples, 1, n)
	return graph.Outer{Right: b.Reshape(b.Mul(b.Reshape(ct, examples, rows/examples, n), x), rows, n)}, true
}

func (gain) Forward([]tensor.Shape, tensor.Shape) graph.Loops {
	return graph.Loops{F32: gainLoop[float32], F64: gainLoop[float64]}
}

func gainLoop[T float32 | float64](y []T, x [][]T) error {
	for i, v := range x[0] {
		y[i] = v * x[1][i%len(x[1])]
	}
	return nil
}

// outsideExamples contain operations that were defined outside of graph.
var outsideExamples = []example{
	{"gain from outside", true, with(func(b *builder, h, p *node) *node { return b.Tanh(b.Apply(gain{}, h, p)) }, hidden)},
	{"pointwise from outside", true, plain(func(b *builder, h *node) *node {
		return b.Apply(graph.Pointwise{
			Name: "cube",
			F32:  func(dst, src []float32) { cube(dst, src) },
			F64:  func(dst, src []float64) { cube(dst, src) },
			Grad: func(b *builder, x, _, ct *node) *node { return b.Mul(ct, b.Scale(b.Square(x), 3)) },
		}.Op(), h)
	})},
}

func cube[T float32 | float64](dst, src []T) {
	for i, v := range src {
		dst[i] = v * v * v
	}
}

// TestGradOfComputedInput: the kernel's gradient with respect to an input that is a
// reshaped, scaled, repeated or multiplied array is that with respect to a plain input of
// the same value.
func TestGradOfComputedInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	net, err := layers.MLP{Inputs: 4, Hidden: []int{5}, Outputs: 2, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	source, k := leaf(rng, "source", tensor.Float64, 3, 4), jacobian.NTK{Net: net}
	class := []int{0, 1, 0}
	for name, compute := range map[string]func(b *builder, s *node) *node{
		"reshaped":    func(b *builder, s *node) *node { return b.Reshape(b.Reshape(s, 12), 3, 4) },
		"the same":    func(b *builder, s *node) *node { return b.Reshape(s, 3, 4) },
		"scaled":      func(b *builder, s *node) *node { return b.Scale(s, 0.5) },
		"product":     func(b *builder, s *node) *node { return b.Mul(s, s) },
		"broadcast":   func(b *builder, s *node) *node { return b.BroadcastTo(b.SumAxis(s, 1), 3, 4) },
		"transposed":  func(b *builder, s *node) *node { return b.Reshape(b.Transpose(s), 3, 4) },
		"of examples": func(b *builder, s *node) *node { return b.Reshape(b.Reshape(s, 3, 1, 4), 3, 4) },
	} {
		t.Run(name, func(t *testing.T) {
			gradients := func(b *builder, z *node) []*node {
				y := b.Add(b.Sum(b.Square(k.Gram(b, z, class))), b.Sum(k.Diag(b, z)))
				y = b.Add(y, b.Sum(b.Tanh(k.Cross(b, z, z, class))))
				return append(graph.Grad(b, y, z), z)
			}
			b := graph.NewBuilder(tensor.Float64)
			got := compile(t, b, gradients(b, compute(b, b.Param(source)))...).run(t)
			plain := graph.NewBuilder(tensor.Float64)
			want := compile(t, plain, gradients(plain, plain.Param(graph.NewParam("z", got[1], tensor.Float64, 3, 4)))...).run(t)
			near(t, "gradient", got[0], want[0], 1e-12)
		})
	}
}
