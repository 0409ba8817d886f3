package valla

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// dotNet is the network x·w, whose kernel x·x' lets the choice be made by hand.
type dotNet struct{ w *graph.Param }

func (d dotNet) Params() []*graph.Param { return []*graph.Param{d.w} }

func (d dotNet) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.MatMul(x, b.Param(d.w), false, false)
}

func dotKernel() jacobian.NTK {
	return jacobian.NTK{Net: dotNet{graph.NewParam("w", []float64{1, 2}, tensor.Float64, 2, 1)}}
}

func TestGreedy(t *testing.T) {
	x := tensor.New(tensor.WithShape(4, 2), tensor.WithBacking([]float64{1, 0, 3, 0, 0, 2, 2.9, 1}))
	z, class, err := greedy(dotKernel(), x, 1, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	// (2.9,1) has the largest norm; of what is left orthogonal to it, (0,2) has most:
	// 4·2.9²/9.41 = 3.57, against 9/9.41 for (3,0).
	if !slices.Equal(z.Float64s(), []float64{2.9, 1, 0, 2}) || !slices.Equal(class, []int{0, 0}) {
		t.Errorf("chose %v of classes %v", z, class)
	}
	if z, _, err = greedy(dotKernel(), x, 1, 3, 0); err != nil || z.Shape()[0] != 2 {
		t.Errorf("a kernel of rank two gave points of shape %v, error %v", z.Shape(), err)
	}
	if _, _, err := greedy(dotKernel(), x, 1, 5, 0); err == nil {
		t.Error("five of four candidates were chosen")
	}
}

// TestColumns: columns and variances are those of the kernel among all candidates, in parts that take little memory, too.
func TestColumns(t *testing.T) {
	const n, outputs = 41, 3
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		net, x := classifier(t, dt, outputs), points(t, dt, n)
		k := jacobian.NTK{Net: net}
		b := graph.NewBuilder(dt)
		gram, err := graph.Evaluate(b, k.Gram(b, b.Param(&graph.Param{Name: "x", Value: x}), dense.Cycle(n, outputs)))
		if err != nil {
			t.Fatal(err)
		}
		sizes := map[int]bool{}
		for _, memory := range []int64{0, 1, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 30} {
			c, err := newColumns(k, x, outputs, memory)
			if err != nil {
				t.Fatal(err)
			}
			sizes[c.part.Shape()[0]] = true
			left, err := c.variances(memory)
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range []int{40, 7, 8, 40, 0} {
				col, err := c.column(of, left)
				if err != nil {
					t.Fatal(err)
				}
				fixture.Close(t, fmt.Sprint(dt, ", ", memory, " bytes, column ", of), col, gram[0][of*n:(of+1)*n], 100*dense.Epsilon(dt))
			}
			for i, v := range left {
				fixture.Close(t, "variance", []float64{v}, gram[0][i*n+i:i*n+i+1], 100*dense.Epsilon(dt))
			}
		}
		if !sizes[42] || !sizes[outputs] || len(sizes) < 3 {
			t.Errorf("parts of the sizes %v, expected 42, 3 and others", sizes)
		}
	}
}

// TestPivots: the pivots are those of all columns, with the most variance left at each step.
func TestPivots(t *testing.T) {
	const n, outputs, m = 41, 3, 20
	k, x := jacobian.NTK{Net: classifier(t, tensor.Float64, outputs)}, points(t, tensor.Float64, n)
	z, class, err := greedy(k, x, outputs, m, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(tensor.Float64)
	values, err := graph.Evaluate(b, k.Gram(b, b.Param(&graph.Param{Name: "x", Value: x}), dense.Cycle(n, outputs)))
	if err != nil {
		t.Fatal(err)
	}
	gram := values[0]
	for i := range m { // rank-one updates of the whole matrix
		best := 0
		for j := range n {
			if gram[j*n+j] > gram[best*n+best] {
				best = j
			}
		}
		row, at := z.Float64s()[i*2:(i+1)*2], x.Float64s()[best*2:(best+1)*2]
		if !slices.Equal(row, at) || class[i] != best%outputs {
			t.Fatalf("point %d is %v of output %d, expected candidate %d: %v of output %d", i, row, class[i], best, at, best%outputs)
		}
		col, pivot := slices.Clone(gram[best*n:(best+1)*n]), gram[best*n+best]
		for r := range n {
			for c := range n {
				gram[r*n+c] -= col[r] * col[c] / pivot
			}
		}
	}
}

// TestGreedyNothing: a kernel that is 0 everywhere is an error in one line.
func TestGreedyNothing(t *testing.T) {
	_, _, err := greedy(dotKernel(), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(4, 2)), 1, 2, 0)
	if err == nil || !strings.Contains(err.Error(), "do not depend on the uncertain weights") {
		t.Errorf("error %v", err)
	}
}

// classifier is a small network of two inputs.
func classifier(t *testing.T, dt tensor.Dtype, outputs int) layers.Network {
	t.Helper()
	net, err := layers.MLP{Inputs: 2, Hidden: []int{7, 5}, Outputs: outputs, Activation: "tanh"}.New(dt, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// points are n random inputs of two numbers.
func points(t *testing.T, dt tensor.Dtype, n int) *tensor.Dense {
	t.Helper()
	rng, v := rand.New(rand.NewPCG(2, 2)), make([]float64, 2*n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return graph.Convert(dense.Of(v, n, 2), dt)
}
