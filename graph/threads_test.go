package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// TestThreadsAgree: products and Gram matrices of stacks, sums, and chains of functions, large
// enough to be shared, have the same bits with one thread and with several.
func TestThreadsAgree(t *testing.T) {
	defer kernel.SetThreads(0)
	run := func(threads int) [][]float64 {
		kernel.SetThreads(threads)
		rng := rand.New(rand.NewPCG(5, 6))
		b := NewBuilder(tensor.Float64)
		u, v := b.Input("u", 301, 7, 90), b.Input("v", 301, 90, 9)
		few := b.Slice(u, 1, 0, 2)
		odd, row := b.Slice(b.Reshape(u, 301, 630), 1, 0, 97), b.Slice(b.Reshape(v, 301, 810), 1, 100, 197)
		outputs := []*Node{
			b.MatMul(u, v, false, false), b.Gram(u), b.Gram(few),
			b.SumTo(u, 1, 7, 1), b.SumTo(u, 301, 1, 90), b.SumTo(u, 7, 90), b.Sum(u),
			b.SumTo(b.Mul(u, b.Slice(u, 0, 0, 1)), 1, 7, 1), b.SumTo(b.Mul(u, u), 1, 1, 90),
			b.Tanh(b.Add(b.Mul(odd, row), b.Slice(row, 0, 0, 1))), b.Exp(b.Neg(b.Square(odd))), b.Softplus(b.Slice(odd, 0, 0, 53)),
		}
		p, err := Compile(b, outputs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, leaf := range []*Node{u, v} {
			d := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(leaf.Shape()...))
			for i := range d.Float64s() {
				d.Float64s()[i] = rng.NormFloat64()
			}
			if err := p.Bind(leaf, d); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		var values [][]float64
		for _, n := range outputs {
			values = append(values, slices.Clone(p.Value(n).Float64s()))
		}
		return values
	}
	one := run(1)
	for _, threads := range []int{2, 3} {
		for i, v := range run(threads) {
			if !slices.Equal(v, one[i]) {
				t.Errorf("output %d differs between 1 and %d threads", i, threads)
			}
		}
	}
}
