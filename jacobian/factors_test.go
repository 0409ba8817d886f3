package jacobian_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The factors of every parameter, multiplied out by plain loops, are its rows; those
// of a weight have the layer's input, shared by the outputs, on the left.
func TestFactorsMultipliedOut(t *testing.T) {
	const examples, outputs = 4, 3
	rng := rand.New(rand.NewPCG(7, 7))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{5}, Outputs: outputs, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, alg := range []bool{factored, dense} {
		b := graph.NewBuilder(tensor.Float64)
		x := b.Param(leaf(rng, "x", tensor.Float64, examples, 2))
		k := jacobian.NTK{Net: net, Dense: alg}
		for i, uses := range k.Factors(b, x) {
			rows := k.Rows(b, x)[i]
			got := make([]float64, rows.Shape().TotalSize())
			for _, o := range uses {
				multiplyOut(t, b, got, o, examples*outputs)
			}
			fixture.Close(t, net.Params()[i].Name, got, small.Values(t, b, rows)[0], 1e-15)
			if left := uses[0].Left; alg == factored && i == 0 && (left == nil || left.Shape()[0] != examples) {
				t.Errorf("the weight's left factor %v is not shared by the outputs", left)
			}
		}
	}
	b := graph.NewBuilder(tensor.Float64)
	if f := (jacobian.NTK{Net: net}).Factors(b, nil); f != nil || b.Err() == nil {
		t.Errorf("factors at no input: %v, error %v", f, b.Err())
	}
}

// multiplyOut adds Left⊗Right to the rows of sum.
func multiplyOut(t *testing.T, b *graph.Builder, sum []float64, o graph.Outer, rows int) {
	row := func(n *graph.Node, r int) []float64 {
		if n == nil {
			return []float64{1}
		}
		v, width := small.Values(t, b, n)[0], n.Shape()[1]
		r /= rows / n.Shape()[0]
		return v[r*width : (r+1)*width]
	}
	for r, part := range slices.Collect(slices.Chunk(sum, len(sum)/rows)) {
		left, right := row(o.Left, r), row(o.Right, r)
		for i, l := range left {
			for k, v := range right {
				part[i*len(right)+k] += l * v
			}
		}
	}
}
