package valla

import (
	"testing"

	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// stepFlops counts the multiplications and additions of the matrix products that a step of VaLLA
// on a perceptron needs: with B examples, M inducing points, C outputs, layers d_0, …, d_D and
// weights W = Σ d_{l−1} d_l, of which V = Σ d_{l−1} d_l with 1 < l < D are passed by signals
// that go back from an output to the first layer.
func stepFlops(m layers.MLP, inducing, batch int) int {
	M, B, C := inducing, batch, m.Outputs
	solves := 2*2*M*M*M + M*M*M/3 + 2*M*M*M                              // Kz·L, Lᵀ(Kz L), the factor, G and G·Kz
	back := 4*2*M*M*M + M*M*M                                            // and their derivative
	posterior := 2*B*C*M*M + B*C*C*M                                     // W = K_xz Gᵀ and half of W Wᵀ
	return kernelFlops(m, inducing, batch) + solves + back + 3*posterior // a derivative takes two products for each
}

// kernelFlops counts what the network and the kernel take of a step.
func kernelFlops(m layers.MLP, inducing, batch int) int {
	widths := append(append([]int{m.Inputs}, m.Hidden...), m.Outputs)
	weights, inner, features, signals := 0, 0, 0, 0
	for l := 1; l < len(widths); l++ {
		weights, features = weights+widths[l-1]*widths[l], features+widths[l-1]
		if l < len(widths)-1 {
			signals += widths[l]
			if l > 1 {
				inner += widths[l-1] * widths[l]
			}
		}
	}
	M, B, C := inducing, batch, m.Outputs
	network := 2*(B+M)*weights + 2*(B*C+M)*inner + 2*M*(weights+inner) // forth, back, and the derivative by Z
	cross := 2 * 2 * B * M * (features + C*signals)                    // K_xz, and its derivative by Z's features
	gram := 3 * M * M * (features + signals)                           // half a product, and a whole one for the derivative
	return network + cross + gram
}

// TestStepFlops: a step computes little beside the products of its formulas.
func TestStepFlops(t *testing.T) {
	for _, c := range benchCases {
		for _, m := range []int{100, 200} {
			f, x, y := benchFit(t, c.net, m, tensor.Float64)
			obj, err := f.Objective(x, y)
			if err != nil {
				t.Fatal(err)
			}
			_, each := obj.Program().Flops()
			if want := stepFlops(c.net, m, 100); each < want*9/10 || each > want*11/10 {
				t.Errorf("%s, M = %d: a step takes %d operations, its products %d", c.name, m, each, want)
			}
		}
	}
}
